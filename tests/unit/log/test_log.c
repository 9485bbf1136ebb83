/*
 * Aim: no secret and no control character leaves through the log, whatever form it has, also after
 * a reload; every line of the file is JSON.
 * Method: the real log actor under the seeded scheduler; a fake agent logs a line a second; the
 * file is read back, and stderr through a file put in its place.
 */
#include "actors/kernel/reason_log.h"
#include "actors/kernel/traffic.h"
#include "sma/actors.h"
#include "sma/log_ring.h"
#include "sma/metrics.h"
#include "sma/sim.h"
#include "support/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/sma-log-XXXXXX";
static const char *const *lines;
static size_t line_count, line_next;
static const char *details = "";

static void log_next(void *state, struct sma_ctx *ctx)
{
    (void)state;
    if (line_next == line_count)
        return;
    sma_ctx_log_details(ctx, SMA_LOG_WARN, sma_str(lines[line_next]), sma_str(details));
    line_next++;
    sma_ctx_wake_at(ctx, sma_ctx_now(ctx) + 1000000000u);
}

static enum sma_err agent_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)error;
    log_next(state, ctx);
    return SMA_ERR_OK;
}

static void agent_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    (void)msg;
    (void)ctx;
}

static const struct sma_actor_ops agent_ops = {
    .name = "agent", .start = agent_start, .handle = agent_handle, .wake = log_next};

static const struct sma_actor_ops *ops = &agent_ops;

static struct sma_config *config_of(const char *key, const char *token, const char *adapter)
{
    static struct sma_config configs[4];
    static size_t used;
    struct sma_config *config = &configs[used++ % SMA_COUNT_OF(configs)];
    *config = (struct sma_config){.state_dir = dir, .project_dir = dir, .api_token = token};
    config->llm.api_key = key;
    if (adapter != NULL) {
        config->adapters[0] =
            (struct sma_config_adapter){.name = "telegram", .is_enabled = true, .json = adapter};
        config->adapter_count = 1;
    }
    return config;
}

static void read_all(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    size_t len = fread(text, 1, size - 1, file);
    text[len] = '\0';
    fclose(file);
}

/* What stands in the request log after a run, and its length. */
static char in_blocks[1 << 16];
static off_t blocks_len;

static void take_blocks(const char *folder)
{
    DIR *files = opendir(folder);
    CHECK(files != NULL);
    for (struct dirent *entry; (entry = readdir(files)) != NULL;) {
        char path[1024];
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        CHECK_INT(0, stat(path, &status));
        CHECK_INT(0600, (long long)(status.st_mode & 0777));
        blocks_len = status.st_size;
        read_all(path, in_blocks, sizeof in_blocks);
        unlink(path);
    }
    closedir(files);
    rmdir(folder);
}

/* What the file and the screen have after these lines; reload (may be NULL) comes after the
 * first. */
static void run(struct sma_config *config, const struct sma_config *reload,
                const char *const *texts, size_t count, char *file_text, char *screen_text,
                size_t size)
{
    char path[512], screen[256];
    struct sma_error error = {0};
    struct sma_log *log = NULL;
    snprintf(screen, sizeof screen, "%s/screen", dir);
    lines = texts;
    line_count = count;
    line_next = 0;
    CHECK_OK(sma_log_create(&(struct sma_log_options){.config = config}, &log, &error));
    struct sma_system *system =
        sma_system_create(&(struct sma_system_options){.is_simulated = true, .seed = 7});
    CHECK(system != NULL);
    CHECK_OK(sma_system_add(system, SMA_ACTOR_LOG, &sma_log_actor_ops, log));
    CHECK_OK(sma_system_add(system, SMA_ACTOR_AGENT, ops, NULL));
    int kept = dup(STDERR_FILENO),
        fd = open(screen, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(kept >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    CHECK_OK(sma_system_start(system, &error));
    if (reload != NULL)
        sma_system_reload(system, reload);
    while (sma_sim_step(system))
        ;
    sma_system_destroy(system);
    fflush(stderr);
    CHECK(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    close(fd);
    sma_log_destroy(log);
    CHECK_INT((long long)count, (long long)line_next);
    read_all(screen, screen_text, size);
    unlink(screen);
    char logs[256];
    snprintf(logs, sizeof logs, "%s/logs", dir);
    DIR *folder = opendir(logs);
    CHECK(folder != NULL);
    file_text[0] = '\0';
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", logs, entry->d_name);
        if (strcmp(entry->d_name, "llm") == 0) {
            take_blocks(path);
            continue;
        }
        struct stat status;
        CHECK_INT(0, stat(path, &status));
        CHECK_INT(0600, (long long)(status.st_mode & 0777));
        read_all(path, file_text, size);
        unlink(path);
    }
    closedir(folder);
    rmdir(logs);
}

static char in_file[65536], on_screen[65536];

static void every_line_is_json(char *text)
{
    for (char *next; *text != '\0'; text = next + 1) {
        next = strchr(text, '\n');
        CHECK(next != NULL);
        json_t *root = json_loadb(text, (size_t)(next - text), 0, NULL);
        CHECK(json_is_object(root));
        json_decref(root);
    }
}

static void must_not_show(const char *secret)
{
    if (strstr(in_file, secret) != NULL || strstr(on_screen, secret) != NULL)
        fprintf(stderr, "shown: %s\n%s%s", secret, in_file, on_screen);
    CHECK(strstr(in_file, secret) == NULL);
    CHECK(strstr(on_screen, secret) == NULL);
}

static void secrets_are_replaced_by_value(void)
{
    static const char *const texts[] = {
        "key sk-secret-1 and token-2222, https://x/bot333:abcdef/y"};
    run(config_of("sk-secret-1", "token-2222", "{\"enabled\":true,\"botToken\":\"333:abcdef\"}"),
        NULL, texts, 1, in_file, on_screen, sizeof in_file);
    must_not_show("sk-secret-1");
    must_not_show("token-2222");
    must_not_show("333:abcdef");
    CHECK(strstr(in_file, "key [redacted] and [redacted], https://x/bot[redacted]/y") != NULL);
    CHECK(strstr(on_screen, "key [redacted] and") != NULL);
    every_line_is_json(in_file);
}

static void a_secret_that_begins_another_hides_both(void)
{
    static const char *const texts[] = {"long: abcdef-ghijkl short: abcdef."};
    run(config_of("abcdef", "abcdef-ghijkl", NULL), NULL, texts, 1, in_file, on_screen,
        sizeof in_file);
    must_not_show("ghijkl");
    CHECK(strstr(in_file, "long: [redacted] short: [redacted].") != NULL);
}

static void a_secret_in_a_block_of_a_block_is_known(void)
{
    static const char *const texts[] = {"s: deep-secret-9 l: listed-secret"};
    run(config_of("", "",
                  "{\"auth\":{\"appSecret\":\"deep-secret-9\",\"tokens\":[\"listed-secret\"]}}"),
        NULL, texts, 1, in_file, on_screen, sizeof in_file);
    must_not_show("deep-secret-9");
    must_not_show("listed-secret");
}

static void a_secret_is_known_in_its_escaped_form(void)
{
    static const char *const texts[] = {"m"};
    details = "{\"sent\":\"pa\\\"ss\\\\word\"}";
    run(config_of("pa\"ss\\word", "", NULL), NULL, texts, 1, in_file, on_screen, sizeof in_file);
    details = "";
    must_not_show("ss\\\\word");
    CHECK(strstr(in_file, "{\"sent\":\"[redacted]\"}") != NULL);
    every_line_is_json(in_file);
}

/* A line is cut to 2,000 bytes before the log actor sees it. */
static void a_secret_cut_by_the_end_of_the_line_is_hidden(void)
{
    static char text[2100];
    memset(text, 'x', sizeof text - 1);
    memcpy(text + 1990, "sk-secret-value-1", 17);
    const char *const texts[] = {text};
    run(config_of("sk-secret-value-1", "", NULL), NULL, texts, 1, in_file, on_screen,
        sizeof in_file);
    must_not_show("sk-secret");
}

static void a_reload_brings_new_secrets(void)
{
    static const char *const texts[] = {"start", "new sk-second-1 tok-second", "old sk-first-1"};
    run(config_of("sk-first-1", "", NULL), config_of("sk-second-1", "tok-second", NULL), texts, 3,
        in_file, on_screen, sizeof in_file);
    must_not_show("sk-second-1");
    must_not_show("tok-second");
    must_not_show("sk-first-1");
}

/* ESC, C0, DEL, C1 as UTF-8 and C1 as a bare byte: terminals obey all of them. */
static void control_characters_stay_off_the_screen(void)
{
    static const char *const texts[] = {"a\x1b[31mb\nc\x7f"
                                        "d\xc2\x9b"
                                        "31me\x9b"
                                        "f \xc3\x9b \xe4\xb8\x9b \xf0\x9f\x98\x9b ok"};
    run(config_of("", "", NULL), NULL, texts, 1, in_file, on_screen, sizeof in_file);
    CHECK(strstr(on_screen, "a [31mb c d") != NULL);
    CHECK(strchr(on_screen, '\x1b') == NULL && strstr(on_screen, "\xc2\x9b") == NULL);
    CHECK(strstr(on_screen, "e\x9b") == NULL);
    CHECK(strstr(on_screen, "\xc3\x9b \xe4\xb8\x9b \xf0\x9f\x98\x9b ok\n") != NULL);
    every_line_is_json(in_file);
}

static void details_are_shown_in_short(void)
{
    static const char *const texts[] = {"approval: asked"};
    static char long_details[2048];
    details = "{\"title\":\"ls\x1b[2J\",\"key\":\"sk-secret-1\"}";
    run(config_of("sk-secret-1", "", NULL), NULL, texts, 1, in_file, on_screen, sizeof in_file);
    must_not_show("sk-secret-1");
    CHECK(strstr(on_screen, "approval: asked {\"title\":\"ls [2J\",\"key\":\"[redacted]\"}\n") !=
          NULL);
    snprintf(long_details, sizeof long_details, "{\"text\":\"%0*d\"}", 1000, 7);
    details = long_details;
    run(config_of("", "", NULL), NULL, texts, 1, in_file, on_screen, sizeof in_file);
    CHECK(strstr(on_screen, "000...\n") != NULL && strlen(on_screen) < 400);
    CHECK(strstr(in_file, long_details) != NULL);
    details = "";
}

/* -- journald ---------------------------------------------------------------------------------- */
/* It dates lines itself, and finds what is asked for by its level. */
static void journald_is_told_levels_and_no_time(void)
{
    static const char *const texts[] = {"what must be known"};
    struct stat facts;
    char stream[64];
    CHECK_INT(0, fstat(STDERR_FILENO, &facts));
    snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)facts.st_dev,
             (unsigned long long)facts.st_ino);
    CHECK_INT(0, setenv("JOURNAL_STREAM", stream, 1));
    run(config_of("", "", NULL), NULL, texts, 1, in_file, on_screen, sizeof in_file);
    CHECK_TEXT("<4>what must be known\n", on_screen);
    CHECK_INT(0, setenv("JOURNAL_STREAM", "1:1", 1)); /* another stream: inherited, not ours */
    run(config_of("", "", NULL), NULL, texts, 1, in_file, on_screen, sizeof in_file);
    CHECK(strstr(on_screen, "] [WARN   ] what must be known\n") != NULL);
    CHECK_INT(0, unsetenv("JOURNAL_STREAM"));
}

/* -- the newest lines -------------------------------------------------------------------------- */
static size_t ring_lines(struct sma_buf *text, size_t count)
{
    sma_buf_clear(text);
    sma_buf_put_char(text, '[');
    sma_log_ring_format(text, count);
    sma_buf_put_char(text, ']');
    CHECK_OK(text->err);
    json_t *root = json_loadb(text->ptr, text->len, 0, NULL);
    CHECK(json_is_array(root));
    size_t size = json_array_size(root);
    json_decref(root);
    return size;
}

static void the_newest_lines_stay_in_memory_redacted(void)
{
    static const char *const texts[] = {"the key is sk-secret-1 here"};
    SMA_AUTO(sma_buf_fini) struct sma_buf text;
    sma_buf_init(&text, 2 * SMA_LOG_RING_BYTES);
    sma_log_ring_reset();
    run(config_of("sk-secret-1", "", NULL), NULL, texts, 1, in_file, on_screen, sizeof in_file);
    CHECK_INT(1, (long long)ring_lines(&text, 10));
    CHECK(strstr(text.ptr, "the key is ") != NULL && strstr(text.ptr, "sk-secret-1") == NULL);
}

static void the_ring_of_lines_is_bounded(void)
{
    static char line[3000];
    SMA_AUTO(sma_buf_fini) struct sma_buf text;
    sma_buf_init(&text, 2 * SMA_LOG_RING_BYTES);
    sma_log_ring_reset();
    for (unsigned i = 0; i < 2 * SMA_LOG_RING_LINE_COUNT; i++) { /* many short ones */
        snprintf(line, sizeof line, "{\"n\":%u}\n", i);
        sma_log_ring_put(sma_str(line));
    }
    CHECK_INT(SMA_LOG_RING_LINE_COUNT, (long long)ring_lines(&text, SIZE_MAX));
    CHECK(strncmp(text.ptr, "[{\"n\":2000},", 12) == 0);
    CHECK(strstr(text.ptr, "{\"n\":3999}]") != NULL);
    CHECK_INT(3, (long long)ring_lines(&text, 3));
    for (unsigned i = 0; i < 1000; i++) { /* long ones, over the end of the ring */
        snprintf(line, sizeof line, "{\"n\":%u,\"x\":\"%*s\"}", i, (int)(500 + i % 977), "");
        sma_log_ring_put(sma_str(line));
        if (i % 97 != 0)
            continue;
        size_t count = ring_lines(&text, SIZE_MAX);
        CHECK(text.len <= SMA_LOG_RING_BYTES + count);
    }
    CHECK(ring_lines(&text, 1) == 1 && strstr(text.ptr, "{\"n\":999,") != NULL);
    static char longest[SMA_LOG_RING_BYTES / 4 + 1];
    memset(longest, 'x', sizeof longest);
    sma_log_ring_put((struct sma_str){longest, sizeof longest});
    CHECK(ring_lines(&text, SIZE_MAX) > 0);
    CHECK(strstr(text.ptr, "{\"n\":999,") != NULL);
    sma_log_ring_reset();
    CHECK_INT(0, (long long)ring_lines(&text, SIZE_MAX));
}

/* -- ordinary traffic -------------------------------------------------------------------------- */
static void log_traffic(void *state, struct sma_ctx *ctx)
{
    (void)state;
    if (line_next == line_count)
        return;
    struct sma_traffic line;
    for (; line_next < line_count; line_next++) {
        if (!sma_traffic_begin(&line, ctx, SMA_LOG_INFO, "run_ended", 17, sma_str(lines[0])))
            continue;
        sma_traffic_str(&line, "outcome", SMA_STR("ok"));
        sma_traffic_str(&line, "left_out", SMA_STR(""));
        sma_traffic_u64(&line, "steps", 3);
        sma_traffic_ms(&line, "ms", 1000000, 13999999);
        sma_traffic_ms(&line, "unknownMs", 0, 13999999);
        sma_traffic_bool(&line, "resumed", true);
        sma_traffic_end(&line);
    }
    sma_ctx_log(ctx, SMA_LOG_WARN, "what must be known");
}

static enum sma_err traffic_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)error;
    log_traffic(state, ctx);
    return SMA_ERR_OK;
}

static const struct sma_actor_ops traffic_ops = {
    .name = "agent", .start = traffic_start, .handle = agent_handle};

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* A group of ten thousand, in three minutes of which the first has nearly all. */
static struct sma_reason_gate gate;
static unsigned minute;

static void flood(void *state, struct sma_ctx *ctx)
{
    (void)state;
    for (unsigned i = 0; i < (minute == 0 ? 9998u : 1u); i++)
        sma_reason_say(&gate, ctx,
                       &(struct sma_unanswered){.reason = SMA_REASON_NOT_ADDRESSED,
                                                .platform = SMA_STR("telegram"),
                                                .chat_key = SMA_STR("telegram:chat:-5"),
                                                .user_id = SMA_STR("1001"),
                                                .message_id = SMA_STR("55")});
    uint64_t due = sma_reason_tick(&gate, ctx);
    CHECK((due == UINT64_MAX) == (minute > 0)); /* nobody is woken for nothing */
    if (++minute < 3)
        sma_ctx_wake_at(ctx, sma_ctx_now(ctx) + 61000000000u);
    line_next = line_count;
}

static enum sma_err flood_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)error;
    flood(state, ctx);
    return SMA_ERR_OK;
}

static const struct sma_actor_ops flood_ops = {
    .name = "agent", .start = flood_start, .handle = agent_handle, .wake = flood};

static void a_flood_of_ignored_messages_writes_bounded_lines(void)
{
    static const char *const texts[] = {""};
    sma_log_set_level(SMA_LOG_INFO);
    ops = &flood_ops;
    run(config_of("", "", NULL), NULL, texts, 1, in_file, on_screen, sizeof in_file);
    ops = &agent_ops;
    sma_log_set_level(SMA_LOG_DEBUG);
    every_line_is_json(in_file);
    CHECK_INT(3, (long long)minute);
    CHECK_INT(SMA_REASON_LINE_COUNT + 2, (long long)count_of(in_file, "\"message_ignored\""));
    CHECK_INT(1, (long long)count_of(in_file, "\"messages_left_out\""));
    CHECK(strstr(in_file, "\"reason\":\"not_addressed\",\"count\":9988") != NULL);
    CHECK(strstr(in_file,
                 "\"details\":{\"event\":\"message_ignored\",\"chatKey\":\"telegram:chat:-5"
                 "\",\"reason\":\"not_addressed\",\"platform\":\"telegram\",\"userId\":"
                 "\"1001\",\"messageId\":\"55\"}") != NULL);
    SMA_AUTO(sma_buf_fini) struct sma_buf counts;
    sma_buf_init(&counts, 1 << 16);
    sma_reasons_format(&counts);
    CHECK(strstr(counts.ptr, "platform=\"telegram\",reason=\"not_addressed\"} 10000\n") != NULL);
}

static void one_event_of_traffic_is_one_line(void)
{
    static const char *const texts[] = {"telegram:1 \"quo\\te\"\nx"};
    ops = &traffic_ops;
    run(config_of("", "", NULL), NULL, texts, 1, in_file, on_screen, sizeof in_file);
    ops = &agent_ops;
    every_line_is_json(in_file);
    CHECK(strstr(in_file, "\"details\":{\"event\":\"run_ended\",\"chatKey\":\"telegram:1 "
                          "\\\"quo\\\\te\\\" x\",\"runId\":\"17\",\"outcome\":\"ok\",\"steps\":3,"
                          "\"ms\":12,\"resumed\":true}") != NULL);
    CHECK(strstr(on_screen, "run ended #17 telegram:1") != NULL);
    CHECK(strstr(on_screen, ", outcome ok, steps 3, ms 12, resumed yes\n") != NULL);
    CHECK(strstr(on_screen, "\"event\"") == NULL);
}

/* What an actor says of its traffic in one go stays within half of the lane; the warning behind it
 * arrives. */
static void traffic_leaves_room_for_warnings_and_counts_the_rest(void)
{
    static const char *many[1000] = {"telegram:1"};
    sma_metrics_reset();
    ops = &traffic_ops;
    run(config_of("", "", NULL), NULL, many, 1000, in_file, on_screen, sizeof in_file);
    ops = &agent_ops;
    CHECK_INT(SMA_SIGNAL_COUNT_MAX / 2, (long long)count_of(in_file, "run_ended"));
    CHECK_INT(1, (long long)count_of(in_file, "what must be known"));
    CHECK_INT(1000 - SMA_SIGNAL_COUNT_MAX / 2,
              (long long)sma_counter_get(SMA_COUNTER_log_dropped_total));
    CHECK(strstr(in_file, "872 log lines were dropped: too many at once") != NULL);
    every_line_is_json(in_file);
}

static void a_level_that_is_not_wanted_costs_no_line(void)
{
    static const char *const texts[] = {"telegram:1"};
    sma_metrics_reset();
    sma_log_set_level(SMA_LOG_WARN);
    ops = &traffic_ops;
    run(config_of("", "", NULL), NULL, texts, 1, in_file, on_screen, sizeof in_file);
    ops = &agent_ops;
    sma_log_set_level(SMA_LOG_DEBUG);
    CHECK(strstr(in_file, "run_ended") == NULL);
    CHECK(strstr(in_file, "what must be known") != NULL);
    CHECK_INT(0, (long long)sma_counter_get(SMA_COUNTER_log_dropped_total));
}

static void log_block(void *state, struct sma_ctx *ctx)
{
    (void)state;
    if (line_next == line_count)
        return;
    CHECK(sma_ctx_log_block(ctx, sma_str(lines[line_next]), SMA_STR("{\"kind\":\"llm_request\"}")));
    line_next++;
    sma_ctx_wake_at(ctx, sma_ctx_now(ctx) + 1000000000u);
}

static enum sma_err block_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)error;
    log_block(state, ctx);
    return SMA_ERR_OK;
}

static const struct sma_actor_ops block_ops = {
    .name = "agent", .start = block_start, .handle = agent_handle, .wake = log_block};

static void requests_to_models_go_to_files_of_their_own(void)
{
    static const char *const texts[] = {"BEGIN one\ntwo END", "BEGIN sk-secret-1 END"};
    ops = &block_ops;
    run(config_of("sk-secret-1", "", NULL), NULL, texts, 2, in_file, on_screen, sizeof in_file);
    ops = &agent_ops;
    every_line_is_json(in_blocks);
    CHECK_INT(2, (long long)count_of(in_blocks, "\"details\":{\"kind\":\"llm_request\"}"));
    CHECK(strstr(in_blocks, "BEGIN one\\ntwo END") != NULL);
    CHECK(strstr(in_blocks, "sk-secret") == NULL);
    CHECK(strstr(in_file, "BEGIN") == NULL && strstr(on_screen, "BEGIN") == NULL);
}

static void a_full_request_log_is_said_once(void)
{
    static const char *const texts[] = {"BEGIN one", "BEGIN two", "BEGIN three"};
    char path[256];
    sma_metrics_reset();
    ops = &block_ops; /* to learn the day of the simulation */
    run(config_of("", "", NULL), NULL, texts, 1, in_file, on_screen, sizeof in_file);
    char day[11] = "";
    memcpy(day, strstr(in_blocks, "\"timestamp\":\"") + 13, 10);
    snprintf(path, sizeof path, "%s/logs", dir);
    CHECK_INT(0, mkdir(path, 0700));
    snprintf(path, sizeof path, "%s/logs/llm", dir);
    CHECK_INT(0, mkdir(path, 0700));
    snprintf(path, sizeof path, "%s/logs/llm/%s.jsonl", dir, day);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && ftruncate(fd, 64 * 1024 * 1024 - 1) == 0);
    close(fd);
    run(config_of("", "", NULL), NULL, texts, 3, in_file, on_screen, sizeof in_file);
    ops = &agent_ops;
    CHECK(blocks_len > 64 * 1024 * 1024 &&
          blocks_len < 64 * 1024 * 1024 + 1000); /* one more fits */
    CHECK_INT(2, (long long)sma_counter_get(SMA_COUNTER_log_blocks_dropped_total));
    CHECK_INT(1, (long long)count_of(in_file, "are not written there any more today"));
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    RUN(requests_to_models_go_to_files_of_their_own);
    RUN(a_full_request_log_is_said_once);
    RUN(secrets_are_replaced_by_value);
    RUN(a_secret_that_begins_another_hides_both);
    RUN(a_secret_in_a_block_of_a_block_is_known);
    RUN(a_secret_is_known_in_its_escaped_form);
    RUN(a_secret_cut_by_the_end_of_the_line_is_hidden);
    RUN(a_reload_brings_new_secrets);
    RUN(control_characters_stay_off_the_screen);
    RUN(journald_is_told_levels_and_no_time);
    RUN(the_newest_lines_stay_in_memory_redacted);
    RUN(the_ring_of_lines_is_bounded);
    RUN(a_flood_of_ignored_messages_writes_bounded_lines);
    RUN(one_event_of_traffic_is_one_line);
    RUN(traffic_leaves_room_for_warnings_and_counts_the_rest);
    RUN(a_level_that_is_not_wanted_costs_no_line);
    CHECK_INT(0, rmdir(dir));
    RUN(details_are_shown_in_short);
    return check_summary();
}
