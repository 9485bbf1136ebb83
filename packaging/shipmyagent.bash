# bash completion for shipmyagent and sma. Made by `shipmyagent completion bash`.
_shipmyagent() {
    local all=() places=() i word before="" command=start at=1
    local kind=text list="" options="" valued="" verbs="" first=none second=none
    # bash cuts words at : and =, which ids and --option=value have
    for ((i = 0; i <= COMP_CWORD; i++)); do
        if ((i > 1)) && [[ ${COMP_WORDS[i]} == [:=]* || ${all[-1]} == *[:=] ]]; then
            all[-1]+=${COMP_WORDS[i]}
        else
            all+=("${COMP_WORDS[i]}")
        fi
    done
    word=${all[-1]}
    local commands="start chat init status page doctor approvals grants pair why runs logs trace usage compact mcp-serve backup restore export policy skills mcp memory simulate bench chaos alias completion help version"
    if ((${#all[@]} > 2)) && [[ " $commands " == *" ${all[1]} "* ]]; then
        command=${all[1]} at=2
    fi
    ((at == 2)) && commands=""
    case $command in
    start)
        options="--port --host --provider --sandbox --interactive-web --interactive-port --help" valued="--port -p --host -h --provider --sandbox --interactive-port"
        verbs="" first=folder second=none ;;
    chat)
        options="--name --provider --attach --help" valued="--name -n --provider --attach -a"
        verbs="" first=folder second=none ;;
    init)
        options="--yes --force --name --provider --model --base-url --key-env --key-file --adapter --telegram-token-file --telegram-api-root --secret-env --secret-file --qq-sandbox --proxy --owner --rules --port --untested --chat --start --service --help" valued="--name --provider --model --base-url --key-env --key-file --adapter --telegram-token-file --telegram-api-root --secret-env --secret-file --proxy --owner --rules --port"
        verbs="" first=folder second=none ;;
    status)
        options="--json --help" valued=""
        verbs="" first=folder second=none ;;
    page)
        options="--help" valued=""
        verbs="" first=folder second=none ;;
    doctor)
        options="--json --offline --help" valued=""
        verbs="" first=folder second=none ;;
    approvals)
        options="--items --always --for --response --json --help" valued="--items --for --response"
        verbs="approve reject" first=folder second=approval ;;
    grants)
        options="--json --help" valued=""
        verbs="revoke list" first=folder second=grant ;;
    pair)
        options="--role --json --help" valued="--role"
        verbs="approve reject list" first=folder second=pairing ;;
    why)
        options="--run --chat --limit --json --help" valued="--chat --limit -n"
        verbs="" first=chat second=none ;;
    runs)
        options="--open --failed --chat --limit --json --help" valued="--chat --limit -n"
        verbs="" first=folder second=none ;;
    logs)
        options="--follow --chat --since --level --run --message --limit --json --help" valued="--chat --since --level --run --message --limit -n"
        verbs="" first=folder second=none ;;
    trace)
        options="--message --json --help" valued=""
        verbs="" first=run second=none ;;
    usage)
        options="--days --by --json --help" valued="--days --by"
        verbs="" first=folder second=none ;;
    compact)
        options="--help" valued=""
        verbs="" first=folder second=none ;;
    mcp-serve)
        options="--help" valued=""
        verbs="" first=folder second=none ;;
    backup)
        options="--all --logs --force --help" valued=""
        verbs="" first=file second=folder ;;
    restore)
        options="--help" valued=""
        verbs="" first=file second=folder ;;
    export)
        options="--jsonl --help" valued=""
        verbs="" first=chat second=folder ;;
    policy)
        options="--help" valued=""
        verbs="check" first=none second=folder ;;
    skills)
        options="--json --yes --help" valued=""
        verbs="list check accept add" first=folder second=text ;;
    mcp)
        options="--json --device --yes --scope --port --help" valued="--scope --port"
        verbs="list login logout accept" first=folder second=text ;;
    memory)
        options="--user --folder --yes --help" valued="--user --folder"
        verbs="list search forget path" first=folder second=text ;;
    simulate)
        options="--port --talk --play --project --case --patience --help" valued="--port --play --project --case --patience"
        verbs="telegram feishu qq model" first=none second=none ;;
    bench)
        options="--platform --rate --closed --chats --duration --model-ms --json --compare --help" valued="--platform --rate --closed --chats --duration --model-ms --json --compare"
        verbs="" first=folder second=none ;;
    chaos)
        options="--kills --rate --seed --json --help" valued="--kills --rate --seed --json"
        verbs="" first=folder second=none ;;
    alias)
        options="--shell --dry-run --print --help" valued="--shell"
        verbs="" first=none second=none ;;
    completion)
        options="--help" valued=""
        verbs="bash zsh fish" first=none second=none ;;
    help)
        options="--help" valued=""
        verbs="start chat init status page doctor approvals grants pair why runs logs trace usage compact mcp-serve backup restore export policy skills mcp memory simulate bench chaos alias completion help version" first=words second=none ;;
    version)
        options="--help" valued=""
        verbs="" first=none second=none ;;
    esac
    for ((i = at; i < ${#all[@]} - 1; i++)); do
        if [[ ${all[i]} == -- ]]; then
            mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
            return
        elif [[ " $valued " == *" ${all[i]} "* ]]; then
            before=""
            ((++i == ${#all[@]} - 1)) && before=${all[i - 1]}
        elif [[ ${all[i]} != -* ]]; then
            places+=("${all[i]}")
        fi
    done
    if [[ $word == --*=* ]]; then
        before=${word%%=*}
        word=${word#*=}
    fi
    if [[ -n $before ]]; then
        case "$command $before" in
        "start --port" | "start -p") kind=text list="" ;;
        "start --host" | "start -h") kind=text list="" ;;
        "start --provider") kind=words list="anthropic openai custom deepseek moonshot qwen zhipu gemini openrouter ollama offline" ;;
        "start --sandbox") kind=words list="auto require" ;;
        "start --interactive-web") kind=words list="true false" ;;
        "start --interactive-port") kind=text list="" ;;
        "chat --name" | "chat -n") kind=text list="" ;;
        "chat --provider") kind=words list="anthropic openai custom deepseek moonshot qwen zhipu gemini openrouter ollama offline" ;;
        "chat --attach" | "chat -a") kind=file list="" ;;
        "init --name") kind=text list="" ;;
        "init --provider") kind=words list="anthropic openai custom deepseek moonshot qwen zhipu gemini openrouter ollama offline" ;;
        "init --model") kind=words list="claude-sonnet-5-5 claude-opus-5-5 claude-haiku-5-5 claude-fable-5-2 gpt-6.1-sol gpt-6.1-terra gpt-6-luna gpt-6-astra gpt-5.6-terra deepseek-flash deepseek-v4-pro kimi-k3.1-pro kimi-k3 kimi-k2.6 qwen3.8-max qwen3.8-flash qwen3.7-plus glm-5.3 glm-5.3-flash glm-4.7 gemini-3.8-flash gemini-4-argon gemini-3.5-flash-lite anthropic/claude-sonnet-5.5 openai/gpt-6.1-sol deepseek/deepseek-flash offline" ;;
        "init --base-url") kind=text list="" ;;
        "init --key-env") kind=text list="" ;;
        "init --key-file") kind=file list="" ;;
        "init --adapter") kind=words list="none telegram feishu qq" ;;
        "init --telegram-token-file") kind=file list="" ;;
        "init --telegram-api-root") kind=text list="" ;;
        "init --secret-env") kind=text list="" ;;
        "init --secret-file") kind=text list="" ;;
        "init --proxy") kind=text list="" ;;
        "init --owner") kind=text list="" ;;
        "init --rules") kind=words list="read-only none" ;;
        "init --port") kind=text list="" ;;
        "approvals --items") kind=text list="" ;;
        "approvals --for") kind=text list="" ;;
        "approvals --response") kind=text list="" ;;
        "pair --role") kind=words list="member admin owner" ;;
        "why --chat") kind=chat list="" ;;
        "why --limit" | "why -n") kind=text list="" ;;
        "runs --chat") kind=chat list="" ;;
        "runs --limit" | "runs -n") kind=text list="" ;;
        "logs --chat") kind=chat list="" ;;
        "logs --since") kind=text list="" ;;
        "logs --level") kind=words list="debug info action warn error" ;;
        "logs --run") kind=run list="" ;;
        "logs --message") kind=text list="" ;;
        "logs --limit" | "logs -n") kind=text list="" ;;
        "usage --days") kind=text list="" ;;
        "usage --by") kind=words list="day chat person platform model" ;;
        "mcp --scope") kind=text list="" ;;
        "mcp --port") kind=text list="" ;;
        "memory --user") kind=text list="" ;;
        "memory --folder") kind=folder list="" ;;
        "simulate --port") kind=text list="" ;;
        "simulate --play") kind=file list="" ;;
        "simulate --project") kind=folder list="" ;;
        "simulate --case") kind=text list="" ;;
        "simulate --patience") kind=text list="" ;;
        "bench --platform") kind=words list="telegram feishu qq http" ;;
        "bench --rate") kind=text list="" ;;
        "bench --closed") kind=text list="" ;;
        "bench --chats") kind=text list="" ;;
        "bench --duration") kind=text list="" ;;
        "bench --model-ms") kind=text list="" ;;
        "bench --json") kind=file list="" ;;
        "bench --compare") kind=file list="" ;;
        "chaos --kills") kind=text list="" ;;
        "chaos --rate") kind=text list="" ;;
        "chaos --seed") kind=text list="" ;;
        "chaos --json") kind=file list="" ;;
        "alias --shell") kind=words list="zsh bash both" ;;
        esac
    elif [[ $word == -* ]]; then
        kind=words list=$options
    elif ((${#places[@]} == 0)); then
        kind=$first list="$verbs $commands"
    elif ((${#places[@]} == 1)) && [[ " $verbs " == *" ${places[0]} "* ]]; then
        kind=$second list=""
    else
        kind=folder list=""
    fi
    case $kind in
    text) return ;;
    file) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    folder) mapfile -t COMPREPLY < <(compgen -W "$list" -- "$word"; compgen -d -- "$word") ;;
    words | none) mapfile -t COMPREPLY < <(compgen -W "$list" -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$list $(shipmyagent values "$kind" . 2>/dev/null)" -- "$word") ;;
    esac
    if [[ $word == *:* ]]; then # what stands before the : stays
        COMPREPLY=("${COMPREPLY[@]#"${word%:*}:"}")
    fi
    [[ $kind == file || $kind == folder ]] && compopt -o filenames 2>/dev/null
    return 0
}
complete -F _shipmyagent shipmyagent sma
