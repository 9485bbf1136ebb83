/*
 * Aim: `shipmyagent memory` shows, finds and deletes what stands in the files, however many people
 * there are, of one person nothing else's; `doctor` names memory files of the program before until
 * they were taken over, and changes nothing.
 * Method: the real binary, without a service, then beside one.
 *   scenario_memory_cli BINARY
 */
#include "process.h"

#include "support/check.h"
#include "support/patience.h"

#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEOPLE 12 /* more files than a command in a chat would follow */
#define OLD ".ship/memory/telegram%3Achat%3A1001.json"

static const char *binary;
static struct folder folder;

/* `shipmyagent WORDS` in the project. wanted -1: any status */
static char *sma(int wanted, const char *words)
{
    char line[1024], *output = NULL;
    snprintf(line, sizeof line, "cd '%s' && '%s' %s 2>&1", folder.path, binary, words);
    const char *argv[] = {"/bin/sh", "-c", line, NULL};
    int status = run_to_end((char *const *)argv, "", &output, 60000);
    if (wanted >= 0 && status != wanted)
        fprintf(stderr, "%s: %d\n%s\n", words, status, output);
    CHECK(wanted < 0 || status == wanted);
    return output;
}

static size_t count_in(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

static void expect(int status, const char *words, const char *part, size_t wanted)
{
    char *output = sma(status, words);
    size_t count = count_in(output, part);
    if (count != wanted)
        fprintf(stderr, "%s: %zu of \"%s\" in\n%s\n", words, count, part, output);
    CHECK_INT(wanted, count);
    free(output);
}

static void make_folder(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder.path, name);
    CHECK(mkdir(path, 0700) == 0);
}

static void begin(void)
{
    folder_create(&folder, "{\"name\":\"tested\",\"llm\":{\"provider\":\"offline\"}}");
    make_folder(".ship");
    make_folder(".ship/memory");
}

static void fill(void)
{
    char name[128], text[256];
    make_folder(".ship/memory/users");
    folder_write(&folder, ".ship/memory/project.md", "# Project\n\n- The house is blue\n");
    for (int i = 0; i < PEOPLE; i++) {
        snprintf(name, sizeof name, ".ship/memory/users/telegram%%3A%d.md", 1000 + i);
        snprintf(
            text, sizeof text,
            "- tea of person%d\x1b[31m\n- meets on Monday%d <!-- memory: in telegram%%3Achat%%3A-1 "
            "-->\n",
            i, i);
        folder_write(&folder, name, text);
    }
}

CASE(the_owner_sees_and_deletes)
{
    begin();
    expect(0, "memory", "Nothing is remembered.", 1);
    fill();
    expect(0, "memory", ": tea of person", PEOPLE);
    expect(0, "memory list", " in telegram:chat:-1 (fact, 5): meets on Monday", PEOPLE);
    expect(0, "memory", "\x1b", 0); /* what people wrote moves no cursor */
    expect(0, "memory list --user telegram:1009", "\n", 2);
    expect(0, "memory list --user telegram:1009", "telegram:1009", 2);
    expect(0, "memory --user project", ": The house is blue", 1);
    expect(0, "memory search person7", ": tea of person7", 1);
    expect(0, "memory search person7", "\n", 1);
    expect(0, "memory search person7 --user telegram:1004", "Nothing fits.", 1);
    expect(0, "memory path --user telegram:1009", "/users/telegram%3A1009.md\n", 1);
    expect(1, "memory forget all </dev/null", "say --yes", 1);
    expect(1, "memory forget m0123456789abcdef", "0 deleted.", 1);
    expect(1, "memory forget", "forget what?", 1);

    char *found = sma(0, "memory search person7"), words[64];
    snprintf(words, sizeof words, "memory forget %.17s", found);
    free(found);
    expect(0, words, "1 deleted.", 1);
    expect(1, words, "0 deleted.", 1);
    expect(0, "memory", ": tea of person", PEOPLE - 1);
    expect(0, "memory forget all --user telegram:1009 --yes", "2 deleted.", 1);
    expect(0, "memory", "telegram:1009", 0);
    expect(0, "memory forget all --yes", " deleted.", 1);
    expect(0, "memory", "Nothing is remembered.", 1);
    folder_remove(&folder);
}

CASE(doctor_names_what_was_not_taken_over)
{
    struct service service;
    bool is_root = geteuid() == 0; /* which is one warning of its own */
    int well = is_root ? 2 : 0;
    const char *one_more = is_root ? "0 errors, 2 warnings." : "0 errors, 1 warning.";
    begin();
    expect(well, "doctor --offline", "memory files", 0);
    folder_write(&folder, OLD,
                 "{\"chatKey\":\"telegram:chat:1001\",\"entries\":[{\"type\":\"fact\",\"content\":"
                 "\"likes tea\",\"importance\":6}],\"version\":1}");
    expect(2, "doctor --offline", "1 memory files of the program before", 1);
    expect(2, "doctor --offline", "it proposes what is in them", 1);
    expect(2, "doctor --offline", one_more, 1);
    char *work = folder_read(&folder, ".ship/memory/work.db");
    CHECK(work == NULL); /* it has changed nothing */
    service_start(&service, binary, &folder);
    bool is_there = true;
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS;
         is_there && process_now_ms() < until;) {
        char *output = sma(-1, "doctor --offline");
        is_there = strstr(output, "of the program before") != NULL;
        free(output);
        process_pause_ms(100);
    }
    CHECK(!is_there);
    CHECK_INT(0, service_stop(&service));
    expect(well, "doctor --offline", "of the program before", 0);
    expect(well, "doctor --offline", is_root ? "0 errors, 1 warning." : "All is well.", 1);
    folder_write(&folder, OLD, "{\"chatKey\":\"telegram:chat:1001\",\"entries\":[]}");
    expect(2, "doctor --offline", "1 memory files of the program before", 1); /* another one */
    folder_remove(&folder);
}

CASES_MAIN_GIVEN(&binary)
