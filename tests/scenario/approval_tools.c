/*
 * Aim: the tools work through the whole program, and stay inside the project: files are written as
 * the card showed them, commands run beside each other, behind walls, in time, and leave nothing
 * behind.
 * Method: the real binary between a Bot API server and a model server that calls what the user's
 *   text says. scenario_approval_tools BINARY FAKE_MODEL
 */
#include "approval_world.h"

#include "support/check.h"
#include "support/patience.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writing is free here: what is asked about is tested elsewhere. */
#define ALLOW ",\"write_repo\":true,\"exec_shell\":true"
#define EXEC(command) "x [[call exec_shell {\"command\":\"" command "\"}]]"

static const char *binary, *fake_model;

static void start(struct platform_world *world, const char *permissions)
{
    approval_start(world, binary, fake_model,
                   &(struct approval_options){.permissions = permissions});
}

static void expect_file(const struct platform_world *world, const char *name, const char *text)
{
    char *actual = folder_read(&world->world.folder, name);
    CHECK_TEXT(text, actual == NULL ? "(none)" : actual);
    free(actual);
}

/* -- files ------------------------------------------------------------------------------------- */
static void a_write_is_shown_as_it_will_be(void)
{
    struct platform_world world;
    start(&world, NULL);
    int64_t card = approval_ask(
        &world, ANN, ANN,
        "w [[call write_file {\"path\":\"notes/a.txt\",\"content\":\"first\\nsecond\\n\"}]]",
        "+second");
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    approval_await_results(&world, ANN, 1);
    expect_file(&world, "notes/a.txt", "first\nsecond\n");
    platform_settle(&world);
    (void)chat_say(&world, ANN, ANN,
                   "e [[call edit_file {\"path\":\"notes/a.txt\",\"old_text\":\"second\","
                   "\"new_text\":\"third\"}]]");
    json_t *message = approval_await_card(&world, ANN, "+third");
    CHECK(strstr(talk_text(message, "text"), "-second") != NULL);
    card = platform_number(message, "id", 0);
    json_decref(message);
    expect_file(&world, "notes/a.txt", "first\nsecond\n");
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    approval_await_results(&world, ANN, 2);
    expect_file(&world, "notes/a.txt", "first\nthird\n");
    /* changed between card and press: an edit is made in what stands there by then, ... */
    card = approval_ask(&world, ANN, ANN,
                        "e [[call edit_file {\"path\":\"notes/a.txt\",\"old_text\":\"third\","
                        "\"new_text\":\"fourth\"}]]",
                        "+fourth");
    folder_write(&world.world.folder, "notes/a.txt", "somebody else's\nthird\n");
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    approval_await_results(&world, ANN, 3);
    expect_file(&world, "notes/a.txt", "somebody else's\nfourth\n");
    platform_settle(&world);
    /* ... a whole file is not written over what its card did not show */
    card = approval_ask(&world, ANN, ANN,
                        "w [[call write_file {\"path\":\"notes/a.txt\",\"content\":\"mine\\n\"}]]",
                        "+mine");
    folder_write(&world.world.folder, "notes/a.txt", "somebody else's again\n");
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    approval_await_results(&world, ANN, 4);
    expect_file(&world, "notes/a.txt", "somebody else's again\n");
    platform_settle(&world);
    platform_world_stop(&world);
}

#define EDIT(from, to) \
    "[[call edit_file {\"path\":\"f.txt\",\"old_text\":\"" from "\",\"new_text\":\"" to "\"}]]"
#define LETTERS "a\nb\nc\nd\ne\nf\n"

/* Models send several edits of one file in one answer: each reads, changes and replaces it. */
static void edits_of_one_answer_are_all_in_the_file(void)
{
    struct platform_world world;
    start(&world, ALLOW);
    for (int i = 0; i < 20; i++) {
        folder_write(&world.world.folder, "f.txt", LETTERS);
        free(approval_do(&world, ANN, ANN, "e " EDIT("a", "A") EDIT("b", "B") EDIT("c", "C")));
        expect_file(&world, "f.txt", "A\nB\nC\nd\ne\nf\n");
    }
    platform_world_stop(&world);
}

static void edits_of_two_chats_are_all_in_the_file(void)
{
    struct platform_world world;
    start(&world, ALLOW);
    for (size_t i = 0; i < 20; i++) {
        folder_write(&world.world.folder, "f.txt", LETTERS);
        (void)chat_say(&world, ANN, ANN, "e " EDIT("a", "A") EDIT("b", "B") EDIT("c", "C"));
        (void)chat_say(&world, BOB, BOB, "e " EDIT("d", "D") EDIT("e", "E") EDIT("f", "F"));
        approval_await_results(&world, ANN, i + 1);
        approval_await_results(&world, BOB, i + 1);
        expect_file(&world, "f.txt", "A\nB\nC\nD\nE\nF\n");
    }
    platform_world_stop(&world);
}

static void edits_that_were_agreed_to_are_all_in_the_file(void)
{
    struct platform_world world;
    start(&world, NULL);
    folder_write(&world.world.folder, "f.txt", LETTERS);
    int64_t card =
        approval_ask(&world, ANN, ANN, "e " EDIT("a", "A") EDIT("b", "B") EDIT("c", "C"), "+A");
    approval_press_for(&world, ANN, ANN, card, "Approve all", "Approved");
    approval_await_results(&world, ANN, 1);
    expect_file(&world, "f.txt", "A\nB\nC\nd\ne\nf\n");
    platform_world_stop(&world);
}

static void files_are_read_inside_the_project_only(void)
{
    struct platform_world world;
    char path[256];
    start(&world, ",\"write_repo\":true");
    folder_write(&world.world.folder, "plain.txt", "alpha\nbravo\n");
    snprintf(path, sizeof path, "%s/link", world.world.folder.path);
    CHECK(symlink("/etc/passwd", path) == 0);
    approval_do_for(&world, "x [[call read_file {\"path\":\"plain.txt\"}]]", "bravo");
    approval_do_for(&world, "x [[call list_files {}]]", "plain.txt");
    approval_do_for(&world, "x [[call search_files {\"pattern\":\"brav.\"}]]", "plain.txt");
    static const char *const refused[] = {
        "/etc/passwd",     "../../etc/passwd", "link", ".env", ".ship/state.db",
        ".ship/api-token", "ship.json/../.env"};
    for (size_t i = 0; i < SMA_COUNT_OF(refused); i++) {
        char text[256];
        snprintf(text, sizeof text, "x [[call read_file {\"path\":\"%s\"}]]", refused[i]);
        char *result = approval_do(&world, ANN, ANN, text);
        if (strstr(result, "\"success\":false") == NULL)
            fprintf(stderr, "%s: %s\n", refused[i], result);
        CHECK(strstr(result, "\"success\":false") != NULL && strstr(result, "root:") == NULL);
        free(result);
    }
    static const char *const written[] = {
        "/tmp/sma-outside", "../outside", "link",
        ".ship/state.db",   ".env",       ".git/hooks/post-commit"};
    for (size_t i = 0; i < SMA_COUNT_OF(written); i++) {
        char text[256];
        snprintf(text, sizeof text, "x [[call write_file {\"path\":\"%s\",\"content\":\"x\"}]]",
                 written[i]);
        char *result = approval_do(&world, ANN, ANN, text);
        if (strstr(result, "\"success\":false") == NULL)
            fprintf(stderr, "%s: %s\n", written[i], result);
        CHECK(strstr(result, "\"success\":false") != NULL);
        free(result);
    }
    CHECK(access("/tmp/sma-outside", F_OK) != 0);
    /* what this agent is may be changed, but never without being asked about */
    int64_t card =
        approval_ask(&world, ANN, ANN,
                     "x [[call write_file {\"path\":\"Agent.md\",\"content\":\"x\"}]]", "Agent.md");
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    platform_settle(&world);
    expect_file(&world, "Agent.md", "You are being tested.\n");
    platform_world_stop(&world);
}

/* -- commands ---------------------------------------------------------------------------------- */
static void calls_of_one_step_run_beside_each_other(void)
{
    struct platform_world world;
    start(&world, ALLOW);
    /* each waits for the other */
    approval_do_for(&world,
                    EXEC("touch a; while ! test -e b; do sleep 0.01; done; echo A") " and " EXEC(
                        "touch b; while ! test -e a; do sleep 0.01; done; echo B"),
                    "\"stdout\":\"B\"");
    approval_await_asked(&world, "\\\"stdout\\\":\\\"A\\\"", 2); /* the results, and the end */
    platform_settle(&world);
    platform_world_stop(&world);
}

/* With one place for runs: the second chat's command is what ends the first one's. */
static void a_command_in_one_chat_holds_up_no_other(void)
{
    struct platform_world world;
    approval_start(&world, binary, fake_model,
                   &(struct approval_options){.permissions = ALLOW, .concurrency = "1"});
    (void)chat_say(&world, ANN, ANN,
                   EXEC("touch begun; while ! test -e go; do sleep 0.05; done; echo over"));
    for (int i = 0; i < PATIENCE_AWAIT_MS / 20; i++) {
        char *begun = folder_read(&world.world.folder, "begun");
        free(begun);
        if (begun != NULL)
            break;
        usleep(20000);
    }
    (void)chat_say(&world, BOB, BOB, EXEC("touch go"));
    approval_await_results(&world, BOB, 1);
    approval_await_results(&world, ANN, 1);
    platform_settle(&world);
    platform_world_stop(&world);
}

static void results_say_what_happened(void)
{
    struct platform_world world;
    start(&world, ALLOW);
    approval_do_for(&world, EXEC("echo out; echo err >&2; exit 3"), "\"exitCode\":3");
    approval_do_for(&world, EXEC("echo out; echo err >&2; exit 3"), "\"stderr\":\"err\"");
    approval_do_for(&world, EXEC("cat; echo closed"), "closed"); /* stdin is at its end */
    char *result = approval_do(&world, ANN, ANN, EXEC("seq 1 100000; echo the-end"));
    CHECK(strstr(result, "\"success\":true") != NULL);
    free(result);
    CHECK(platform_asked(&world, "the-end") > 0); /* head and tail are kept */
    CHECK(platform_asked(&world, "\\\"truncated\\\":true") > 0);
    CHECK_INT(0, platform_asked(&world, "\\n50000\\n"));
    approval_do_for(&world, "x [[call exec_shell {\"command\":\"\"}]]", "");
    approval_do_for(&world, "x [[call exec_shell {\"comand\":\"true\"}]]", "\"success\":false");
    approval_do_for(&world, "x [[call exec_shell {\"command\":7}]]", "\"success\":false");
    platform_settle(&world);
    platform_world_stop(&world);
}

/* Is a process with this word in its command line there? */
static bool is_running(const char *word)
{
    bool found = false;
    DIR *dir = opendir("/proc");
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL && !found;) {
        char path[300], line[4096] = "";
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            continue;
        size_t len = fread(line, 1, sizeof line - 1, file);
        fclose(file);
        for (size_t i = 0; i < len; i++)
            if (line[i] == '\0')
                line[i] = ' ';
        found = strstr(line, word) != NULL;
    }
    closedir(dir);
    return found;
}

static void timeout_leaves_nobody(const char *permissions)
{
    struct platform_world world;
    char text[512], word[64];
    start(&world, permissions);
    snprintf(word, sizeof word, "%d.%d", 100000 + (int)(process_now_ms() % 100000), (int)getpid());
    snprintf(
        text, sizeof text,
        "x [[call exec_shell {\"command\":\"(setsid sleep %s &) ; nohup sleep %s >/dev/null 2>&1 & "
        "trap '' TERM; touch begun; while :; do sleep 1; done\",\"timeout\":6000}]]",
        word, word);
    int64_t card = approval_ask(&world, ANN, ANN, text, word); /* traps are not understood */
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    approval_await_results(&world, ANN, 1);
    CHECK(chat_count(&world, ANN, "\"timedOut\":true") == 1);
    char *begun = folder_read(&world.world.folder, "begun");
    CHECK(begun != NULL);
    free(begun);
    long long until = process_now_ms() + AWAIT_MS;
    while (is_running(word) && process_now_ms() < until)
        process_pause_ms(10);
    CHECK(!is_running(word));
    platform_world_stop(&world);
}

/* Is this "socket:[INODE]" a connection to the network? */
static bool is_network(const char *target)
{
    unsigned long inode = 0;
    if (sscanf(target, "socket:[%lu]", &inode) != 1)
        return false;
    FILE *file = fopen("/proc/net/tcp", "re");
    CHECK(file != NULL);
    char line[512];
    unsigned long listed = 0;
    bool is_found = false;
    while (!is_found && fgets(line, sizeof line, file) != NULL)
        is_found = sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %lu", &listed) == 1 &&
                   listed == inode;
    fclose(file);
    return is_found;
}

static bool is_inherited(pid_t pid, const char *fd)
{
    char path[300], line[128];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", (int)pid, fd);
    FILE *file = fopen(path, "re");
    long flags = O_CLOEXEC; /* closed meanwhile: no */
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "flags:", 6) == 0)
            flags = strtol(line + 6, NULL, 8);
    if (file != NULL)
        fclose(file);
    return (flags & O_CLOEXEC) == 0;
}

/* Connections of the service, and how many of them a program that a library started would
 * inherit. */
static void count_connections(pid_t pid, size_t *ret_connections, size_t *ret_inherited)
{
    char path[64], target[128];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    *ret_connections = *ret_inherited = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        target[len < 0 ? 0 : len] = '\0';
        if (!is_network(target))
            continue;
        ++*ret_connections;
        *ret_inherited += is_inherited(pid, entry->d_name);
    }
    closedir(dir);
}

/* While the model's, the platform's and the API's connections are open. */
static void no_connection_is_inherited(const char *permissions)
{
    struct platform_world world;
    start(&world, permissions);
    approval_do_for(&world, EXEC("true"),
                    "\"success\":true"); /* the model's connection is kept now */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)world.world.service.port)};
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    json_decref(approval_api(&world, "/health", NULL, 200));
    char *result = approval_do(
        &world, ANN, ANN, EXEC("for fd in 0 1 2 3 4 5 6 7 8 9; do readlink /proc/$$/fd/$fd; done"));
    CHECK(strstr(result, "/dev/null\\npipe:") != NULL && strstr(result, "socket:") == NULL);
    free(result);
    size_t connections, inherited;
    count_connections(world.world.service.pid, &connections, &inherited);
    CHECK(connections >= 4); /* the API's two, the model's, the platform's */
    CHECK_INT(0, inherited);
    close(fd);
    platform_settle(&world);
    platform_world_stop(&world);
}

static void connections_stay_out_of_the_sandbox(void)
{
    no_connection_is_inherited(ALLOW);
}

static void connections_stay_ours_without_one(void)
{
    no_connection_is_inherited(",\"exec_shell\":{\"sandbox\":\"off\",\"requiresApproval\":false}");
}

/* What holds a command is told to who agrees to it, and to who asks how the service is. */
static void expect_walls(const char *permissions, const char *said, const char *health)
{
    struct platform_world world;
    start(&world, permissions);
    int64_t card = approval_ask(&world, ANN, ANN, EXEC("echo x > walls.txt"), said);
    json_t *root = approval_api(&world, "/health", NULL, 200);
    CHECK_TEXT(health, talk_text(root, "sandbox"));
    json_decref(root);
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    platform_settle(&world);
    platform_world_stop(&world);
}

static void cards_and_health_tell_the_walls(void)
{
    expect_walls(",\"exec_shell\":{\"sandbox\":\"require\"}", "In the sandbox, without network",
                 "on");
    expect_walls(",\"exec_shell\":{\"sandbox\":\"off\"}", "WITHOUT a sandbox", "off");
}

static void a_timeout_leaves_nobody_in_the_sandbox(void)
{
    timeout_leaves_nobody(ALLOW);
}

static void a_timeout_leaves_nobody_without_one(void)
{
    timeout_leaves_nobody(",\"exec_shell\":{\"requiresApproval\":false,\"sandbox\":\"off\"}");
}

static void the_sandbox_holds(void)
{
    struct platform_world world;
    char text[512];
    start(&world, ALLOW);
    folder_write(&world.world.folder, ".env", "A_SECRET=very-secret-value-1\n");
    snprintf(text, sizeof text,
             EXEC("echo x > /etc/sma-outside; echo x > %s/../sma-outside; "
                  "echo x > $HOME/sma-outside; echo tried"),
             world.world.folder.path);
    approval_do_for(&world, text, "tried");
    CHECK(access("/etc/sma-outside", F_OK) != 0 && access("/tmp/sma-outside", F_OK) != 0);
    approval_do_for(&world, EXEC("ls -a .ship; cat .ship/state.db .ship/api-token .env | wc -c"),
                    "\\n0\"");
    snprintf(text, sizeof text,
             EXEC("(echo > /dev/tcp/127.0.0.1/%d) 2>&1; grep -c : /proc/net/dev; "
                  "cat < /dev/null > /dev/tcp/127.0.0.1/%d && echo reached; echo over"),
             world.world.service.port, world.world.service.port);
    char *result = approval_agree(&world, text);
    CHECK(strstr(result, "reached") == NULL && strstr(result, "over") != NULL);
    free(result);
    approval_do_for(&world, EXEC("echo hello > inside; cat inside"), "hello");
    expect_file(&world, "inside", "hello\n");
    platform_settle(&world);
    expect_file(&world, ".env", "A_SECRET=very-secret-value-1\n");
    platform_world_stop(&world);
}

/* The same mistake again and again: after three the model is told so, and nothing runs. */
static void a_failing_call_is_not_repeated_for_ever(void)
{
#define FAIL                                                                       \
    "{\"calls\":[{\"name\":\"exec_shell\",\"arguments\":{\"command\":\"echo x >> " \
    "tried; false\"}}]},"
    struct platform_world world;
    approval_start(&world, binary, fake_model,
                   &(struct approval_options){.permissions = ALLOW,
                                              .script = "[" FAIL FAIL FAIL FAIL FAIL "null]"});
    (void)chat_say(&world, ANN, ANN, "go on trying");
    approval_await_asked(&world, "this very call has failed 3 times", 2);
    platform_settle(&world);
    CHECK_INT(3, platform_lines(&world, "tried"));
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(a_write_is_shown_as_it_will_be);
    RUN(edits_of_one_answer_are_all_in_the_file);
    RUN(edits_of_two_chats_are_all_in_the_file);
    RUN(edits_that_were_agreed_to_are_all_in_the_file);
    RUN(files_are_read_inside_the_project_only);
    RUN(calls_of_one_step_run_beside_each_other);
    RUN(a_command_in_one_chat_holds_up_no_other);
    RUN(results_say_what_happened);
    RUN(cards_and_health_tell_the_walls);
    RUN(connections_stay_out_of_the_sandbox);
    RUN(connections_stay_ours_without_one);
    RUN(a_timeout_leaves_nobody_in_the_sandbox);
    RUN(a_timeout_leaves_nobody_without_one);
    RUN(the_sandbox_holds);
    RUN(a_failing_call_is_not_repeated_for_ever);
    return check_summary();
}
