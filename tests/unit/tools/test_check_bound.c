/*
 * Aim: what people agree to is bound to every file that a command names, or the card says that it
 * cannot be; a rule for its program is proposed where it is safe. Method: each form of a command is
 * checked twice, and the file it reads is changed in between.
 */
#include "check_call.h"

/* What is run was changed between the card and the yes: then it is something else that was agreed
 * to. Or the card has said that it cannot hold it. */
CASE(what_a_command_reads_is_bound_or_said)
{
    static const struct
    {
        const char *command;
        bool is_bound;    /* to f, d/f.py, d/f.js */
        const char *said; /* of what is read besides; "": nothing is */
    } rows[] = {
        {"sh < f", true, "beside"},
        {"sh 0<f", true, "beside"},
        {"bash <f -s x", true, "beside"},
        {"cat f | sh", true, "beside"},
        {"cat -- f | bash -s", true, "beside"},
        {"head -n5 f | sh", true, "beside"},
        {"sed -n p f | sh", true, "beside"},
        {"tac f|sh", true, "beside"},
        {"cat < f | sh", true, "beside"},
        {"sh -c \\\"$(cat f)\\\"", true, "open"},
        {"eval \\\"$(cat f)\\\"", true, "open"},
        {"eval `cat f`", true, "open"},
        {"$(cat f)", true, "open"},
        {"sh -c '. ./f'", true, "beside"},
        {". ./f", true, "beside"},
        {"xargs -a f -n1 touch", true, "beside"},
        {"xargs sh < f", true, "open"},
        {"while read -r line; do $line; done < f", true, "open"},
        {"awk -f f a.txt", true, "beside"},
        {"awk -ff a.txt", true, "beside"},
        {"sed -f f a.txt", true, "beside"},
        {"sed --file=f a.txt", true, "beside"},
        {"make -f f", true, "beside"},
        {"make -ff", true, "beside"},
        {"gdb -x f", true, "beside"},
        {"vim -S f", true, "beside"},
        {"psql -f f", true, "beside"},
        {"sqlite3 x.db < f", true, "beside"},
        {"git apply f", true, "beside"},
        {"git commit -F f", true, "beside"},
        {"curl -K f", true, "beside"},
        {"curl -d @f http://x", true, ""},
        {"tar -T f -cf a.tar", true, "beside"},
        {"env BASH_ENV=f bash -c true", true, ""},
        {"BASH_ENV=f bash -c true", true, ""},
        {"python3 f", true, "beside"},
        {"python3 - < f", true, "beside"},
        {"node -r ./f -e 1", true, "beside"},
        {"node --require=./d/f.js -e 1", true, "beside"},
        {"ssh host < f", true, "beside"},
        {"cd d && sh < f", true, "beside"},
        {"cd d; cat f | sh", true, "beside"},
        {"parallel < f", true, "beside"},
        {"cp f g && sh g", true, "beside"},
        {"cat f.* | sh", false, "beside"},
        {"cat $x | sh", false, "open"},
        {"python3 -c 'import g'", false, "beside"},
        {"PYTHONPATH=d python3 -c 'import g'", false, "open"},
        {"python3 -m g", false, "beside"},
        {"node -e 'require(\\\"./f\\\")'", true, "beside"},
        {"perl -Id -MF -e 1", false, "open"},
        {"ruby -I d -rg -e 1", false, "open"},
        {"npx g", false, "beside"},
        {"npm test", false, "beside"},
        {"make", false, "beside"},
        {"pytest", false, "beside"},
        {"cargo test", false, "beside"},
        {"./d/run", false, "beside"},
        {"sh d/run", false, "beside"},
        {"grep -r x d", false, "open"},
        {"tar -cf a.tar d", true, "open"},
        {"tac <> f", true, ""},
        /* where it runs: one place that is plainly said is followed */
        {"cd d && tac f.js", true, ""},
        {"env -C d tac f.js", true, "beside"},
        {"env --chdir=d tac f.js", true, "beside"},
        {"env --chdir d tac < f.js", true, "beside"},
        {"env -C d sh f.js", true, "beside"},
        {"git -C d apply f.js", true, "beside"},
        {"make -C d -f f.js", true, "beside"},
        {"tar -C d -cf a.tar f.js", true, ""},
        {"cd d && cd . && tac f.js", false, "open"},
        {"cd d/e; cd ..; tac f.js", false, "open"},
        {"(cd d; cd .; tac f.js)", false, "open"},
        {"sh -c 'cd d; cd .; tac f.js'", false, "open"},
        {"cd -P d; tac f.js", false, "open"},
        {"cd; tac f.js", false, "open"},
        {"cd $x; tac f.js", false, "open"},
        {"CDPATH=d; cd .; tac f.js", false, "open"},
        {"pushd d; tac f.js", false, "open"},
        {"chroot d tac f.js", false, "open"},
        {"env -C d -C d tac f.js", true, "open"},
        {"env -C $x tac f.js", false, "open"},
        {"env -iC d tac f.js", false, "open"},
        {"env --chd=d tac f.js", false, "open"},
        {"git --work-tree=d --git-dir=.git apply f.js", false, "open"},
        {"tar xCf d f.js", false, "open"},
        {"find . -execdir tac f ';'", true, "open"},
        {"find d -okdir tac f.js ';'", false, "open"},
        {"cat f && cd d", true, ""},
        {"cd d && ls && cd .. && ls", false, ""},
        /* what a process calls its own is another's to us */
        {"tac /proc/self/cwd/f", false, "open"},
        {"tac < //proc//self/cwd/f", false, "open"},
        {"tac '/usr/../proc/thread-self/root'/f", false, "open"},
        {"tac /dev/fd/../cwd/f", false, "open"},
        {"tac /proc/self/fd/9 9<f", true, "open"},
        {"cat /proc/self/cwd/*", false, "open"},
        {"sh /proc/self/cwd/f", false, "open"},
        {"cat /proc/meminfo /dev/null /usr/bin/env", false, ""},
        /* what a pattern matches as things lie now */
        {"cat $PWD/f", false, "open"},
        {"cat f*", true, ""},
        {"cat ?", true, ""},
        {"cat d/f*", true, ""},
        {"sh f*", true, "beside"},
        {"cd d && cat f*", false, "open"},
        {"env -C d sh -c 'cat f*'", false, "open"},
        {"cat $x/f", false, "open"},
        {"cat $(ls)", false, "open"},
        {"cat */f", false, "open"},
        {"cat ~/f", false, "open"},
        {"grep x *", true, "open"},
        /* and what only names data can be held, or reads nothing */
        {"wc -l f", true, ""},
        {"jq . f", true, ""},
        {"git status", false, ""},
        {"rm a.txt", false, ""},
        {"ls -la d", false, ""},
        {"git commit -m 'a word, and f.'", false, "beside"},
        {"python3 --version", false, ""},
        {"touch new", false, ""},
    };
    SMA_AUTO(project_close) struct project project;
    int bad = 0;
    project_open(&project, "{\"exec_shell\":{\"deny\":[]}}");
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char arguments[256];
        struct outcome before, after, again;
        snprintf(arguments, sizeof arguments, "{\"command\":\"%s\"}", rows[i].command);
        struct call call = {
            .name = "exec_shell", .arguments = arguments, .standing = SMA_STANDING_OWNER};
        project_put(&project, "f", "echo one\n");
        project_put(&project, "d/f", "echo one\n");
        project_put(&project, "d/f.js", "one\n");
        project_put(&project, "d/run", "one\n");
        project_put(&project, "a.txt", "one\n");
        check_call(&project, &call, &before);
        check_call(&project, &call, &again);
        project_put(&project, "f", "echo two\n");
        project_put(&project, "d/f", "echo two\n");
        project_put(&project, "d/f.js", "two\n");
        check_call(&project, &call, &after);
        bool is_bound = memcmp(before.check.digest, after.check.digest, 32) != 0;
        const char *details = before.request.items[0].details_json.ptr;
        const char *said = strstr(details, "\"binding\":\"open\"") != NULL     ? "open"
                           : strstr(details, "\"binding\":\"beside\"") != NULL ? "beside"
                                                                               : "";
        CHECK_INT(1, before.request.item_count);
        bool is_right = is_bound == rows[i].is_bound && strcmp(said, rows[i].said) == 0;
        if (!is_right)
            fprintf(stderr, "%s: bound %d, said \"%s\"\n", rows[i].command, is_bound, said);
        bad += !is_right;
        CHECK(memcmp(before.check.digest, again.check.digest, 32) == 0);
        CHECK(before.check.verdict == SMA_TOOL_ASKS);
        sma_request_fini(&before.request);
        sma_request_fini(&again.request);
        sma_request_fini(&after.request);
    }
    CHECK_INT(0, bad);
}

/* A name that only begins like one of the system is the project's. */
CASE(ways_through_the_system_are_bound)
{
    static const char *const ways[] = {"tac /usr/..",        "tac /bin/../..",      "tac /dev/..",
                                       "tac /lib/../..",     "tac < /sys/..",       "sh /usr/..",
                                       "tac /dev/shm/../..", "tac /usr/../proc/..", "/usr/.."};
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "{\"exec_shell\":{\"deny\":[]}}");
    for (size_t i = 0; i < SMA_COUNT_OF(ways); i++) {
        char arguments[256];
        struct outcome before, after;
        project_put(&project, "f", "echo one\n");
        snprintf(arguments, sizeof arguments, "{\"command\":\"%s%s/f%s\"}", ways[i], project.dir,
                 i == 0 ? "*" : "");
        struct call call = {
            .name = "exec_shell", .arguments = arguments, .standing = SMA_STANDING_OWNER};
        check_call(&project, &call, &before);
        project_put(&project, "f", "echo two\n");
        check_call(&project, &call, &after);
        if (memcmp(before.check.digest, after.check.digest, 32) == 0)
            fprintf(stderr, "%s\n", arguments);
        CHECK(memcmp(before.check.digest, after.check.digest, 32) != 0);
        sma_request_fini(&before.request);
        sma_request_fini(&after.request);
    }
}

/* A file that is too large to be read is bound by what changes with it; one that comes to be shows,
 * too. */
CASE(large_and_missing_files_are_bound)
{
    SMA_AUTO(project_close) struct project project;
    struct outcome outcomes[5];
    project_open(&project, "");
    size_t len = SMA_POLICY_NAMED_BYTES_MAX + 10;
    char *large = malloc(len + 1);
    CHECK(large != NULL);
    memset(large, 'a', len);
    large[len] = '\0';
    struct call call = {.name = "exec_shell",
                        .arguments = "{\"command\":\"sh < f\"}",
                        .standing = SMA_STANDING_OWNER};
    check_call(&project, &call, &outcomes[0]);
    project_put(&project, "f", "one");
    check_call(&project, &call, &outcomes[1]);
    project_put(&project, "f", large);
    check_call(&project, &call, &outcomes[2]);
    check_call(&project, &call, &outcomes[3]);
    large[len / 2] = 'b';
    char path[300]; /* the same file, of the same size and time: the time of change tells */
    struct stat before, after;
    snprintf(path, sizeof path, "%s/f", project.dir);
    CHECK(stat(path, &before) == 0);
    do { /* until the clock of the file system has moved */
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        const struct timespec times[2] = {before.st_atim, before.st_mtim};
        CHECK(fd >= 0 && write(fd, large, len) == (ssize_t)len);
        CHECK(futimens(fd, times) == 0 && close(fd) == 0 && stat(path, &after) == 0);
    } while (memcmp(&before.st_ctim, &after.st_ctim, sizeof before.st_ctim) == 0);
    CHECK(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    check_call(&project, &call, &outcomes[4]);
    free(large);
    CHECK(memcmp(outcomes[2].check.digest, outcomes[3].check.digest, 32) == 0);
    for (size_t i = 0; i < 5; i++) {
        sma_request_fini(&outcomes[i].request);
        for (size_t k = 0; k < i; k++)
            CHECK((i == 3 && k == 2) ||
                  memcmp(outcomes[i].check.digest, outcomes[k].check.digest, 32) != 0);
    }
}

/* Where the program is known to only read then, and one rule is enough. */
CASE(a_rule_is_proposed_for_programs_that_only_read)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    static const char *const proposals[][2] = {{"wc -l a.txt", "wc"},
                                               {"find . -name x", "find"},
                                               {"find . -delete", ""},
                                               {"git show HEAD", "git show"},
                                               {"git show --output=x", ""},
                                               {"sort -o a.txt a.txt", ""},
                                               {"git push", ""},
                                               {"wc -l a.txt | sort", ""},
                                               {"wc -l .env", ""},
                                               {"python3 x.py", ""},
                                               {"git branch -a", ""},
                                               {"cat a.txt > b.txt", ""},
                                               {"wc -l a.txt && wc b", "wc"}};
    for (size_t i = 0; i < SMA_COUNT_OF(proposals); i++) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "{\"command\":\"%s\"}", proposals[i][0]);
        struct call proposed = {
            .name = "exec_shell", .arguments = arguments, .standing = SMA_STANDING_OWNER};
        struct outcome of;
        check_call(&project, &proposed, &of);
        CHECK_STR(proposals[i][1], of.request.items[0].program_rule);
        sma_request_fini(&of.request);
    }
}

int main(void)
{
    shell = sma_shell_create();
    CHECK(shell != NULL);
    check_run_cases(NULL);
    sma_shell_destroy(shell);
    return check_summary();
}
