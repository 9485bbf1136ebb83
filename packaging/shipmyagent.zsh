#compdef shipmyagent sma
# zsh completion for shipmyagent and sma. Made by `shipmyagent completion zsh`.
_shipmyagent_ask() { # KIND: ids that the running service knows
    local -a found
    found=(${(f)"$(shipmyagent values $1 . 2>/dev/null)"})
    (( $#found )) && compadd -a found
}
_shipmyagent_first() { # KIND WORD...: words, or what is of this kind
    local kind=$1
    shift
    (( $# )) && compadd -- $@
    case $kind in
    folder) _files -/ ;;
    file) _files ;;
    none | words | text) ;;
    *) _shipmyagent_ask $kind ;;
    esac
}
_shipmyagent() {
    local command=start
    local -a commands
    commands=(
        'start:serve the project in FOLDER (default\: this folder)'
        'chat:talk to it in the terminal, or in a pipe'
        'init:make a project\: questions, tests, and the first chat'
        'status:what the running service is doing'
        'page:print a link that opens the page of the service in FOLDER'
        'doctor:look for what is wrong, and say what to do about it'
        'approvals:what waits for somebody'\''s consent; give or refuse it'
        'grants:what is allowed without a question; take it back'
        'pair:let strangers in, by the code they were shown'
        'why:why a message was not answered, and what to do about it'
        'runs:messages, newest first\: answered, waiting (for what), failed, ignored'
        'logs:what happened, also while nothing runs'
        'trace:what happened to one message, and how long it took'
        'usage:what the models used\: tokens and cost'
        'compact:remove what is over, and make state.db smaller'
        'mcp-serve:offer the running agent to other agents and editors (MCP)'
        'backup:the project in one file, also while it is served'
        'restore:make a project of a backup'
        'export:what was said in a chat, as Markdown'
        'policy:may this shell command run? (nothing is run)'
        'skills:which skills the agent has; accept or add one'
        'mcp:the MCP servers of the project, and logins to them'
        'memory:what the agent remembers of people'
        'simulate:a stand-in for telegram, feishu, qq or a model, to try a bot on'
        'bench:how fast a copy of this project is, under load from a simulated platform'
        'chaos:kill a copy of this project again and again, and count the answers'
        'alias:add the short name `sma` to your shell'
        'completion:what bash, zsh or fish needs to complete commands and their values'
        'help:more on one command'
        'version:which version this is (also --version, -V)'
    )
    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
        _describe -t commands command commands
        _files -/
        return
    fi
    if (( ${commands[(I)$words[2]:*]} )); then
        command=$words[2]
        shift words
        (( CURRENT-- ))
    fi
    case $command in
    start)
        _arguments '(- *)--help[say what it does]' \
            '(-p --port)'{-p+,--port=}'[HTTP port (default\: start.port of ship.json, else 3000; 0 = any free one)]:text: ' \
            '(-h --host)'{-h+,--host=}'[address to listen on (default\: start.host, else 127.0.0.1);]:text: ' \
            '--provider=[use this provider instead of llm.provider (e.g. offline)]:words:(anthropic openai custom deepseek moonshot qwen zhipu gemini openrouter ollama offline)' \
            '--sandbox=[how commands run where ship.json does not say (permissions.exec_shell.sandbox);]:words:(auto require)' \
            '--interactive-web=-[accepted for old scripts; the page is always there\: `shipmyagent page`]::words:(true false)' \
            '--interactive-port=[likewise]:text: ' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    chat)
        _arguments '(- *)--help[say what it does]' \
            '(-n --name)'{-n+,--name=}'[name of the conversation (default\: main)]:text: ' \
            '--provider=[when a service has to be started\: use this provider]:words:(anthropic openai custom deepseek moonshot qwen zhipu gemini openrouter ollama offline)' \
            '(-a --attach)'{-a+,--attach=}'[with the first message; again for more files]:file:_files' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    init)
        _arguments '(- *)--help[say what it does]' \
            '(-y --yes)'{-y,--yes}'[ask nothing\: take the options given and the defaults]' \
            '--force[overwrite an existing Agent.md and ship.json]' \
            '--name=[name of the agent (default\: name of the folder)]:text: ' \
            '--provider=[anthropic, openai, gemini, deepseek, moonshot, qwen, zhipu,]:words:(anthropic openai custom deepseek moonshot qwen zhipu gemini openrouter ollama offline)' \
            '--model=[e.g. claude-sonnet-5-5, gpt-6.1-sol, deepseek-flash]:words:(claude-sonnet-5-5 claude-opus-5-5 claude-haiku-5-5 claude-fable-5-2 gpt-6.1-sol gpt-6.1-terra gpt-6-luna gpt-6-astra gpt-5.6-terra deepseek-flash deepseek-v4-pro kimi-k3.1-pro kimi-k3 kimi-k2.6 qwen3.8-max qwen3.8-flash qwen3.7-plus glm-5.3 glm-5.3-flash glm-4.7 gemini-3.8-flash gemini-4-argon gemini-3.5-flash-lite anthropic/claude-sonnet-5.5 openai/gpt-6.1-sol deepseek/deepseek-flash offline)' \
            '--base-url=[where the provider answers]:text: ' \
            '--key-env=[the variable of this shell that holds the provider'\''s key]:text: ' \
            '--key-file=[the file that holds it in its first line; - is stdin]:file:_files' \
            '--adapter=[none (default), or a platform to connect; may be repeated]:words:(none telegram feishu qq)' \
            '--telegram-token-file=[the file that holds the bot'\''s token; means --adapter telegram]:file:_files' \
            '--telegram-api-root=[where the Bot API is, unless at api.telegram.org]:text: ' \
            '--secret-env=[a variable of this shell that .env gets, e.g.]:text: ' \
            '--secret-file=[the same from the first line of a file; - is stdin]:text: ' \
            '--qq-sandbox[use QQ'\''s sandbox]' \
            '--proxy=[the way out\: http\://HOST\:PORT, socks5h\://...]:text: ' \
            '--owner=[who decides, e.g. telegram\:1001; may be repeated]:text: ' \
            '--rules=[let programs that only read (ls, cat, grep, find, git log ...)]:words:(read-only none)' \
            '--port=[of the HTTP API (default\: the first that is free from 3000)]:text: ' \
            '--untested[test neither key nor token]' \
            '--chat[then talk to it here]' \
            '--start[then serve it in this terminal]' \
            '--service[then install and start it as a service of systemd]' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    status)
        _arguments '(- *)--help[say what it does]' \
            '--json[the service'\''s own answer, as JSON]' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    page)
        _arguments '(- *)--help[say what it does]' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    doctor)
        _arguments '(- *)--help[say what it does]' \
            '--json[one object\: version, errors, warnings, lines of state, name, seen, remedy]' \
            '--offline[ask nobody\: no request to a provider or a platform]' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    approvals)
        _arguments '(- *)--help[say what it does]' \
            '--items=[only these items (default\: all that are open)]:text: ' \
            '--always[and the same again without a question, in that chat]' \
            '--for=[likewise, for a time\: 30s 10m 2h 7d (30 days at most)]:text: ' \
            '--response=[said to the agent, e.g. why not]:text: ' \
            '--json[the service'\''s own answer, as JSON]' \
            '1:what: _shipmyagent_first folder approve reject' \
            '2:approval: _shipmyagent_ask approval' \
            '*:folder:_files -/' ;;
    grants)
        _arguments '(- *)--help[say what it does]' \
            '--json[the service'\''s own answer, as JSON]' \
            '1:what: _shipmyagent_first folder revoke list' \
            '2:grant: _shipmyagent_ask grant' \
            '*:folder:_files -/' ;;
    pair)
        _arguments '(- *)--help[say what it does]' \
            '--role=[what `approve` makes of a person (default\: member)]:words:(member admin owner)' \
            '--json[the service'\''s own answer, as JSON]' \
            '1:what: _shipmyagent_first folder approve reject list' \
            '2:pairing: _shipmyagent_ask pairing' \
            '*:folder:_files -/' ;;
    why)
        _arguments '(- *)--help[say what it does]' \
            '--run[the number is a run'\''s, as in the log]' \
            '--chat=[the message of this chat\: Telegram counts each chat'\''s from 1 on]:chat: _shipmyagent_ask chat' \
            '(-n --limit)'{-n+,--limit=}'[the last N messages of a chat, 200 at most (default\: 10)]:text: ' \
            '--json[the service'\''s own answer, as JSON]' \
            '1:chat: _shipmyagent_first chat ' \
            '*:folder:_files -/' ;;
    runs)
        _arguments '(- *)--help[say what it does]' \
            '--open[only those that are not over]' \
            '--failed[only those that failed or were refused]' \
            '--chat=[only this chat, e.g. telegram\:chat\:1001]:chat: _shipmyagent_ask chat' \
            '(-n --limit)'{-n+,--limit=}'[the newest N, 200 at most (default\: 20)]:text: ' \
            '--json[the service'\''s own answer, as JSON]' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    logs)
        _arguments '(- *)--help[say what it does]' \
            '(-f --follow)'{-f,--follow}'[go on with what is written from now on]' \
            '--chat=[only this chat, e.g. telegram\:chat\:1001; with * at the end all that begin so]:chat: _shipmyagent_ask chat' \
            '--since=[not before\: 30s 10m 2h 7d ago, or 2026-11-23T09\:00\:00 (local time, or with Z)]:text: ' \
            '--level=[at least this level (default\: info)]:words:(debug info action warn error)' \
            '--run=[only what concerns this run]:run: _shipmyagent_ask run' \
            '--message=[only this message, by its platform'\''s id]:text: ' \
            '(-n --limit)'{-n+,--limit=}'[the last N lines (default\: 200; all with --since, --run or --message)]:text: ' \
            '--json[lines as they stand in the files]' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    trace)
        _arguments '(- *)--help[say what it does]' \
            '--message[the number is a message'\''s id of its platform]' \
            '--json[the service'\''s own answer, as JSON]' \
            '1:run: _shipmyagent_first run ' \
            '*:folder:_files -/' ;;
    usage)
        _arguments '(- *)--help[say what it does]' \
            '--days=[the last N days (default\: 30)]:text: ' \
            '--by=[what is added up (default\: day)]:words:(day chat person platform model)' \
            '--json[the service'\''s own answer, as JSON]' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    compact)
        _arguments '(- *)--help[say what it does]' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    mcp-serve)
        _arguments '(- *)--help[say what it does]' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    backup)
        _arguments '(- *)--help[say what it does]' \
            '--all[the whole folder, not only what belongs to the program]' \
            '--logs[with .ship/logs]' \
            '--force[replace FILE when it is there]' \
            '1:file: _shipmyagent_first file ' \
            '2:folder:_files -/' \
            '*:folder:_files -/' ;;
    restore)
        _arguments '(- *)--help[say what it does]' \
            '1:file: _shipmyagent_first file ' \
            '2:folder:_files -/' \
            '*:folder:_files -/' ;;
    export)
        _arguments '(- *)--help[say what it does]' \
            '--jsonl[the lines as they are kept\: one JSON object each]' \
            '1:chat: _shipmyagent_first chat ' \
            '2:folder:_files -/' \
            '*:folder:_files -/' ;;
    policy)
        _arguments '(- *)--help[say what it does]' \
            '1:what: _shipmyagent_first none check' \
            '2:folder:_files -/' ;;
    skills)
        _arguments '(- *)--help[say what it does]' \
            '--json[list and check\: as JSON]' \
            '--yes[accept and add\: without a question]' \
            '1:what: _shipmyagent_first folder list check accept add' \
            '2:text: ' \
            '*:folder:_files -/' ;;
    mcp)
        _arguments '(- *)--help[say what it does]' \
            '--json[list\: as JSON]' \
            '--device[login\: with a code that is entered in a browser anywhere]' \
            '--yes[accept\: what is shown, without a question]' \
            '--scope=[login\: ask for these rights instead of those that the server names]:text: ' \
            '--port=[login\: where the browser comes back to on this machine; any free one otherwise]:text: ' \
            '1:what: _shipmyagent_first folder list login logout accept' \
            '2:text: ' \
            '*:folder:_files -/' ;;
    memory)
        _arguments '(- *)--help[say what it does]' \
            '--user=[of one person, as /whoami shows (telegram\:1001), or project]:text: ' \
            '--folder=[the project; default\: this folder]:folder:_files -/' \
            '--yes[forget all\: without a question]' \
            '1:what: _shipmyagent_first folder list search forget path' \
            '2:text: ' \
            '*:folder:_files -/' ;;
    simulate)
        _arguments '(- *)--help[say what it does]' \
            '--port=[listen there (default\: any free port)]:text: ' \
            '--talk[you are the person the bot talks to\: type, and read it here]' \
            '--play=[play a script of what people say and must see (docs/notes/talks.md), and end]:file:_files' \
            '--project=[with --play\: a copy of this project'\''s configuration]:folder:_files -/' \
            '--case=[with --play\: only the cases whose names hold this]:text: ' \
            '--patience=[with --play\: how many seconds each wait may take (default\: 20)]:text: ' \
            '1:what: _shipmyagent_first none telegram feishu qq model' ;;
    bench)
        _arguments '(- *)--help[say what it does]' \
            '--platform=[whom the messages come from]:words:(telegram feishu qq http)' \
            '--rate=[open loop\: N messages a second, whatever becomes of them]:text: ' \
            '--closed=[closed loop\: N chats, each says the next when it is answered]:text: ' \
            '--chats=[chats of --rate (default\: 50)]:text: ' \
            '--duration=[seconds (default\: 10)]:text: ' \
            '--model-ms=[the simulated model answers after MS (default\: 0)]:text: ' \
            '--json=[write what was measured there]:file:_files' \
            '--compare=[exit status 1 when it is worse than this file of --json]:file:_files' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    chaos)
        _arguments '(- *)--help[say what it does]' \
            '--kills=[how often it is killed]:text: ' \
            '--rate=[messages a second (default\: 20)]:text: ' \
            '--seed=[of the moments; the one that was used is printed]:text: ' \
            '--json=[write the report there]:file:_files' \
            '1:folder: _shipmyagent_first folder ' \
            '*:folder:_files -/' ;;
    alias)
        _arguments '(- *)--help[say what it does]' \
            '--shell=[whose start file (default\: both)]:words:(zsh bash both)' \
            '--dry-run[only say what would be changed]' \
            '--print[print the alias, change nothing]' ;;
    completion)
        _arguments '(- *)--help[say what it does]' \
            '1:what: _shipmyagent_first none bash zsh fish' ;;
    help)
        _arguments '(- *)--help[say what it does]' \
            '1:words: _shipmyagent_first words start chat init status page doctor approvals grants pair why runs logs trace usage compact mcp-serve backup restore export policy skills mcp memory simulate bench chaos alias completion help version' ;;
    version)
        _arguments '(- *)--help[say what it does]' ;;
    esac
}
if [[ $funcstack[1] == _shipmyagent ]]; then
    _shipmyagent "$@"
else
    compdef _shipmyagent shipmyagent sma
fi
