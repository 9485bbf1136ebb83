# bash completion for shipmyagent and sma
_shipmyagent() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]:-} options=""
    if [ "$COMP_CWORD" -eq 1 ] && [[ $word != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "start chat init status approvals grants pair trace usage compact simulate alias policy help" -- "$word"; compgen -d -- "$word")
        return
    fi
    if [[ $command == chat && ${COMP_WORDS[COMP_CWORD - 1]} =~ ^(-a|--attach)$ ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    if [[ ${COMP_WORDS[COMP_CWORD - 1]} == --role ]]; then
        mapfile -t COMPREPLY < <(compgen -W "member admin owner" -- "$word")
        return
    fi
    case $command in
    chat) options="--name --provider --attach" ;;
    init) options="--yes --force --name --provider --model --base-url --adapter --qq-sandbox" ;;
    status) options="--json" ;;
    trace) options="--message --json" ;;
    usage) options="--days --by --json" ;;
    approvals) options="approve reject --items --always --for --response --json" ;;
    grants) options="list revoke --json" ;;
    pair) options="list approve reject --role --json" ;;
    simulate) options="telegram feishu qq model --port --talk --help" ;;
    alias) options="--shell --dry-run --print" ;;
    policy) options="check --" ;;
    help) options="start chat init status approvals grants pair trace usage compact simulate alias policy" ;;
    *) options="--port --host --provider --sandbox --version --help" ;;
    esac
    if [[ $word == -* || $command == help || ($command =~ ^(policy|approvals|grants|pair|simulate)$ && $COMP_CWORD -eq 2) ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
    fi
}
complete -o filenames -F _shipmyagent shipmyagent sma
