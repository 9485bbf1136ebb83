/* bench_child.c — see bench_child.h. */
#include "bench_child.h"

#include "support/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void bench_start(struct bench *bench, const char *binary, const char *const *words)
{
    int pipes[2];
    const char *argv[24] = {binary};
    for (size_t i = 0; words[i] != NULL; i++)
        argv[i + 1] = words[i];
    *bench = (struct bench){0};
    CHECK(pipe2(pipes, O_CLOEXEC) == 0);
    bench->pid = fork();
    CHECK(bench->pid >= 0);
    if (bench->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(pipes[1], STDOUT_FILENO);
        execv(binary, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(pipes[1]);
    bench->out = fdopen(pipes[0], "r");
    CHECK(bench->out != NULL);
}

/* "a copy of FOLDER in COPY, process N, ..." or "a copy of FOLDER in COPY is killed ..." */
static void take_line(struct bench *bench, const char *line)
{
    const char *in = strncmp(line, "a copy of ", 10) == 0 ? strstr(line, " in /") : NULL;
    if (in == NULL)
        return;
    const char *process = strstr(line, ", process ");
    snprintf(bench->copy, sizeof bench->copy, "%.*s", (int)strcspn(in + 4, ", \n"), in + 4);
    bench->service = process == NULL ? 0 : (pid_t)strtol(process + 10, NULL, 10);
}

void bench_await(struct bench *bench, const char *begin)
{
    char line[1024];
    while (fgets(line, sizeof line, bench->out) != NULL) {
        take_line(bench, line);
        if (strncmp(line, begin, strlen(begin)) == 0)
            return;
    }
    fprintf(stderr, "it never said \"%s\"\n", begin);
    CHECK(false);
}

int bench_finish(struct bench *bench)
{
    char line[1024];
    int status;
    while (fgets(line, sizeof line, bench->out) != NULL)
        fputs(line, stdout);
    fclose(bench->out);
    CHECK(waitpid(bench->pid, &status, 0) == bench->pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

json_t *bench_read_json(const char *path)
{
    json_error_t error;
    json_t *report = json_load_file(path, 0, &error);
    if (report == NULL)
        fprintf(stderr, "%s: %s\n", path, error.text);
    CHECK(report != NULL);
    return report;
}

double bench_number(const json_t *report, const char *block, const char *name)
{
    const json_t *value =
        json_object_get(block == NULL ? report : json_object_get(report, block), name);
    if (!json_is_number(value))
        fprintf(stderr, "no number %s.%s\n", block == NULL ? "" : block, name);
    CHECK(json_is_number(value));
    return json_number_value(value);
}
