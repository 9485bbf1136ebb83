/*
 * Aim: fetch-page asks for a name once and talks to what it was told then; one forbidden address
 * among others forbids all; its time is bounded.
 * Method: the program itself, with a resolver of the test before it (support/fake_resolver.c) that
 * notes each look-up and connection; for the time, a server of the test that sends for ever.
 */
#include "support/check.h"
#include "support/web_server.h"

#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_BYTES 65536

struct outcome
{
    char answer[OUTPUT_BYTES], notes[OUTPUT_BYTES];
};

static void read_both(int out, int err, struct outcome *outcome)
{
    size_t lens[2] = {0, 0};
    char *rooms[2] = {outcome->answer, outcome->notes};
    struct pollfd watch[2] = {{.fd = out, .events = POLLIN}, {.fd = err, .events = POLLIN}};
    while (watch[0].fd >= 0 || watch[1].fd >= 0) {
        CHECK(poll(watch, 2, 30000) > 0);
        for (int i = 0; i < 2; i++) {
            if (watch[i].revents == 0)
                continue;
            ssize_t got = read(watch[i].fd, rooms[i] + lens[i], OUTPUT_BYTES - 1 - lens[i]);
            if (got <= 0)
                watch[i].fd = -1;
            else
                lens[i] += (size_t)got;
        }
    }
    outcome->answer[lens[0]] = outcome->notes[lens[1]] = '\0';
}

static void fetch(const char *request, bool has_resolver, struct outcome *outcome)
{
    int in[2], out[2], err[2];
    CHECK(pipe(in) == 0 && pipe(out) == 0 && pipe(err) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        (void)dup2(in[0], 0);
        (void)dup2(out[1], 1);
        (void)dup2(err[1], 2);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        if (has_resolver)
            setenv("LD_PRELOAD", FAKE_RESOLVER, 1);
        execl(FETCH_PAGE, "fetch-page", NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    CHECK(write(in[1], request, strlen(request)) == (ssize_t)strlen(request));
    close(in[1]);
    read_both(out[0], err[0], outcome);
    close(out[0]);
    close(err[0]);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        count++;
    return count;
}

static void expect(const char *url, const char *notes, const char *answer)
{
    static struct outcome outcome;
    char request[500];
    (void)snprintf(request, sizeof request, "{\"url\":\"%s\",\"timeMs\":5000}", url);
    fetch(request, true, &outcome);
    if (strcmp(notes, outcome.notes) != 0 || strstr(outcome.answer, answer) == NULL)
        fprintf(stderr, "%s: %s%s\n", url, outcome.notes, outcome.answer);
    CHECK_TEXT(notes, outcome.notes);
    CHECK(strstr(outcome.answer, answer) != NULL);
}

CASE(a_name_is_looked_up_once_and_its_address_kept)
{
    expect("http://rebind.example/", "looked up rebind.example\nconnects to 93.184.215.14\n",
           "could not be fetched");
    expect("https://public.example/", "looked up public.example\nconnects to 93.184.215.14\n",
           "could not be fetched");
}

CASE(one_forbidden_address_forbids_all)
{
    expect("http://mixed.example/", "looked up mixed.example\n", "a private network");
    expect("http://v6.example/", "looked up v6.example\n", "a private network");
    expect("http://nobody.example/", "looked up nobody.example\nlooked up nobody.example\n",
           "is not found");
}

CASE(its_time_is_bounded)
{
    static const char *const paths[] = {"/slow", "/silent"};
    static struct outcome outcome;
    struct web_server *server = web_server_start();
    for (size_t i = 0; i < SMA_COUNT_OF(paths); i++) {
        char request[300];
        struct timespec begin, end;
        (void)snprintf(request, sizeof request,
                       "{\"url\":\"http://127.0.0.1:%d%s\",\"timeMs\":700,\"isPrivate\":true}",
                       web_server_port(server), paths[i]);
        CHECK(clock_gettime(CLOCK_MONOTONIC, &begin) == 0);
        fetch(request, false, &outcome);
        CHECK(clock_gettime(CLOCK_MONOTONIC, &end) == 0);
        CHECK(end.tv_sec - begin.tv_sec < 10);
        CHECK_INT(1, count_of(outcome.answer, "did not answer in 1 s"));
    }
    web_server_stop(server);
}

CASES_MAIN
