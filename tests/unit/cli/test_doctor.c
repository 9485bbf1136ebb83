/*
 * Aim: doctor's limits of the disk hold to the byte, and its report shows no secret and nothing
 * that a terminal would obey.
 * Method: the judge and the report alone; stdout is a file of the test.
 */
#include "cli/adapters.h"
#include "cli/doctor_priv.h"
#include "runtime/secrets/secrets.h"
#include "support/check.h"

#include <stdlib.h>
#include <unistd.h>

const struct sma_adapter_entry sma_adapter_table[] = {{.ops = NULL}}; /* of no platform */

#define MIB (1024ull * 1024)

static enum sma_probe_state judge(uint64_t bytes, uint64_t files, bool counts_files)
{
    struct doctor_disk disk = {bytes, files, counts_files};
    const char *remedy = NULL, *word = NULL;
    enum sma_probe_state state = doctor_judge_disk(&disk, &remedy, &word);
    CHECK((state == SMA_PROBE_OK) == (remedy[0] == '\0'));
    CHECK(word != NULL);
    return state;
}

ENDING(sma_secrets_destroy, struct sma_secrets)

CASE(the_disk_is_judged_at_its_limits)
{
    CHECK_INT(SMA_PROBE_ERROR, judge(32 * MIB - 1, 5000, true));
    CHECK_INT(SMA_PROBE_WARNING, judge(32 * MIB, 5000, true));
    CHECK_INT(SMA_PROBE_WARNING, judge(256 * MIB - 1, 5000, true));
    CHECK_INT(SMA_PROBE_OK, judge(256 * MIB, 5000, true));
    CHECK_INT(SMA_PROBE_OK, judge(256 * MIB, 1000, true));
    CHECK_INT(SMA_PROBE_WARNING, judge(256 * MIB, 999, true));
    CHECK_INT(SMA_PROBE_WARNING, judge(256 * MIB, 1, true));
    CHECK_INT(SMA_PROBE_ERROR, judge(256 * MIB, 0, true));
    CHECK_INT(SMA_PROBE_OK, judge(256 * MIB, 0, false)); /* such file systems count none */
}

/* -- the report -------------------------------------------------------------------------------- */
static void print(const struct doctor_report *report, const struct sma_secrets *secrets,
                  bool is_json, char *text, size_t size)
{
    char path[] = "/tmp/sma-doctor-XXXXXX";
    int fd = mkstemp(path), old = dup(STDOUT_FILENO);
    CHECK(fd >= 0 && old >= 0 && unlink(path) == 0);
    (void)fflush(stdout);
    CHECK(dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
    doctor_print(report, secrets, is_json);
    (void)fflush(stdout);
    CHECK(dup2(old, STDOUT_FILENO) == STDOUT_FILENO);
    ssize_t len = pread(fd, text, size - 1, 0);
    CHECK(len >= 0);
    text[len] = '\0';
    close(old);
    close(fd);
}

CASE(secrets_and_control_characters_are_not_shown)
{
    char text[8192];
    SMA_AUTO(doctor_report_fini) struct doctor_report report = {0};
    SMA_AUTO(sma_secrets_destroyp) struct sma_secrets *secrets = NULL;
    struct sma_config config = {.project_dir = "/nowhere",
                                .state_dir = "/nowhere/.ship",
                                .permissions_json = "",
                                .api_token = "token-of-the-api-0001"};
    CHECK_OK(sma_secrets_create(&config, &secrets));
    doctor_say(&report, SMA_PROBE_ERROR, "name\x1b[2J", "use token-of-the-api-0001",
               "it said: \x1b]0;title\x07 token-of-the-api-0001 \"quoted\"");
    for (int is_json = 0; is_json < 2; is_json++) {
        print(&report, secrets, is_json != 0, text, sizeof text);
        CHECK(strstr(text, "token-of-the-api-0001") == NULL);
        CHECK(strstr(text, "[redacted]") != NULL);
        CHECK(strchr(text, '\x1b') == NULL && strchr(text, '\x07') == NULL);
        CHECK(strstr(text, is_json != 0 ? "\\\"quoted\\\"" : "\"quoted\"") != NULL);
    }
}

CASE(many_and_long_lines_stay_within_bounds)
{
    static char text[4 * 1024 * 1024];
    char word[2000];
    SMA_AUTO(doctor_report_fini) struct doctor_report report = {0};
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    for (int i = 0; i < 600; i++)
        doctor_say(&report, i % 2 == 0 ? SMA_PROBE_WARNING : SMA_PROBE_OK, word, word, "%s", word);
    CHECK_INT(512, report.count);
    CHECK_INT(256, doctor_count(&report, SMA_PROBE_WARNING));
    CHECK_INT(SMA_PROBE_TEXT_BYTES_MAX - 1, strlen(report.lines[0].seen));
    print(&report, NULL, true, text, sizeof text);
    CHECK(strncmp(text + strlen(text) - 3, "]}\n", 3) == 0);
}

CASES_MAIN
