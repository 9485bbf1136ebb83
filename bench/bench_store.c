/*
 * bench_store — what accepting costs: messages a second and commit latency for 1..1000 messages a
 * batch, each batch made durable by one fdatasync, against a bare loop that writes the same bytes
 * with the same batch size and syncs them.
 *
 * The accepted path is the store actor's: look the claim up, insert row and claim, commit, then
 * write the history lines into the page cache. Both sides write the bytes they are asked to keep
 * (line and facts) in turns, in one directory, so that both see the same disk at the same time. At
 * the end the same with 12,000 and 50,000 active chats, whose files do not
 * stay open: the time of a message in a chat that nobody has spoken in since the start, and of its
 * next one.
 */
#include "bench.h"
#include "runtime/chat/history.h"
#include "runtime/chat/state.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

enum
{
    CHAT_COUNT = 200, /* under SMA_HISTORY_FD_COUNT_MAX: their files stay open */
    CHAT_COUNT_MAX = 50000,
    PAST_LINES = 100, /* of each active chat */
    BATCH_MAX = 1000,
    SAMPLE_MAX = 200000,
    LINE_BYTES = 360,
    FACTS_BYTES = 200,
};

static char directory[256], database_path[300], bare_path[300], history_path[300];

struct samples
{
    uint64_t ns[SAMPLE_MAX];
    size_t count;
    double rates[64];
    size_t rate_count;
};
static struct samples store_samples, bare_samples;

static void die(const char *what, const struct sma_error *error)
{
    fprintf(stderr, "bench_store: %s: %s\n", what, error == NULL ? "" : error->text);
    exit(1);
}

/* -- the store --------------------------------------------------------------------------------- */

struct store
{
    struct sma_state *state;
    struct sma_history *history;
    int chat_count;
    uint64_t next_event;
    uint64_t offsets[BATCH_MAX];
};

static char line[LINE_BYTES + 1], facts[FACTS_BYTES + 1];

static void open_store(struct store *store, bool is_durability_none)
{
    struct sma_error error = {0};
    struct sma_state_options options = {.path = database_path,
                                        .is_durability_none = is_durability_none};
    if (sma_state_open(&options, &store->state, &error) != SMA_ERR_OK)
        die("open", &error);
    if (sma_state_begin(store->state) != SMA_ERR_OK)
        die("begin", sma_state_error(store->state));
    struct sma_state_chat *chat;
    store->chat_count = store->chat_count == 0 ? CHAT_COUNT : store->chat_count;
    for (int i = 0; i < store->chat_count; i++) {
        char key[64];
        snprintf(key, sizeof key, "telegram:chat:%d", 100000 + i);
        if (sma_state_chat_open(store->state, sma_str(key), SMA_STR("telegram"), &chat) !=
            SMA_ERR_OK)
            die("chat", sma_state_error(store->state));
    }
    if (sma_state_commit(store->state) != SMA_ERR_OK)
        die("commit", sma_state_error(store->state));
    struct sma_history_options history = {
        .sys = sma_sys_real(), .directory = history_path, .lines_max = UINT32_MAX};
    if (sma_history_open(&history, &store->history, &error) != SMA_ERR_OK)
        die("history", &error);
}

static void close_store(struct store *store)
{
    sma_history_close(store->history);
    sma_state_close(store->state, true);
}

static void make_line(uint64_t number, struct sma_str chat_key)
{
    memset(line, 'x', LINE_BYTES);
    int len = snprintf(
        line, LINE_BYTES,
        "{\"v\":1,\"ts\":%llu,\"channel\":\"telegram\",\"chatId\":\"1\",\"chatKey\":\"%s\","
        "\"role\":\"user\",\"text\":\"",
        (unsigned long long)number, chat_key.ptr);
    line[len] = 'x';
    memcpy(line + LINE_BYTES - 3, "\"}\n", 3);
}

/* A burst of messages comes from few chats at a time: ten lines of one chat stand together. */
static struct sma_state_chat *chat_of(struct store *store, uint64_t number)
{
    /* Chats that nobody needs are not kept in memory: by their ids, which are 1, 2 ... */
    return sma_state_chat_by_id(store->state,
                                (uint32_t)(number / 10 % (uint64_t)store->chat_count) + 1);
}

static void accept_one(struct store *store, int index)
{
    uint64_t number = store->next_event + (uint64_t)index;
    struct sma_state_chat *chat = chat_of(store, number);
    char event[32];
    int event_len = snprintf(event, sizeof event, "%llu", (unsigned long long)number);
    struct sma_state_head head;
    struct sma_str event_key = {event, (size_t)event_len};
    if (sma_state_claim_find(store->state, chat->claim_id, 0, event_key, &head) != SMA_ERR_NOTFOUND)
        die("a new event is claimed already", sma_state_error(store->state));
    make_line(number, chat->key);
    struct sma_error error = {0};
    if (sma_history_reserve(store->history, chat->key, LINE_BYTES, &store->offsets[index],
                            &error) != SMA_ERR_OK)
        die("reserve", &error);
    struct sma_state_message message = {
        .chat = chat,
        .state = SMA_ROW_WAITING,
        .event_key = event_key,
        .user_id = SMA_STR("123456789"),
        .history_offset = (int64_t)store->offsets[index],
        .line = {line, LINE_BYTES},
        .facts = {facts, FACTS_BYTES},
    };
    uint64_t seq = 0;
    if (sma_state_accept(store->state, &message, &seq) != SMA_ERR_OK)
        die("accept", sma_state_error(store->state));
}

static void write_lines(struct store *store, int batch)
{
    static char block[BATCH_MAX * LINE_BYTES];
    for (int first = 0, index = 0; first < batch; first = index) {
        struct sma_state_chat *chat = chat_of(store, store->next_event + (uint64_t)first);
        for (; index < batch && chat_of(store, store->next_event + (uint64_t)index) == chat;
             index++) {
            make_line(store->next_event + (uint64_t)index, chat->key);
            memcpy(block + (size_t)(index - first) * LINE_BYTES, line, LINE_BYTES);
        }
        struct sma_error error = {0};
        struct sma_str bytes = {block, (size_t)(index - first) * LINE_BYTES};
        enum sma_history_outcome outcome;
        if (sma_history_write(store->history, chat->key, store->offsets[first], bytes, &outcome,
                              &error) != SMA_ERR_OK)
            die("write", &error);
    }
}

static void add_sample(struct samples *samples, uint64_t ns)
{
    if (samples->count < SAMPLE_MAX)
        samples->ns[samples->count++] = ns;
}

static void run_store(struct store *store, int batch, uint64_t commits)
{
    uint64_t start = bench_now_ns();
    for (uint64_t i = 0; i < commits; i++) {
        uint64_t before = bench_now_ns();
        if (sma_state_begin(store->state) != SMA_ERR_OK)
            die("begin", sma_state_error(store->state));
        for (int index = 0; index < batch; index++)
            accept_one(store, index);
        if (sma_state_commit(store->state) != SMA_ERR_OK)
            die("commit", sma_state_error(store->state));
        add_sample(&store_samples, bench_now_ns() - before);
        write_lines(store, batch);
        store->next_event += (uint64_t)batch;
    }
    double seconds = (double)(bench_now_ns() - start) / 1e9;
    store_samples.rates[store_samples.rate_count++ % 64] = (double)commits * batch / seconds;
}

/* -- the bare loop ----------------------------------------------------------------------------- */

static void run_bare(int fd, int batch, uint64_t commits)
{
    static char block[BATCH_MAX * (LINE_BYTES + FACTS_BYTES)];
    uint64_t start = bench_now_ns();
    for (uint64_t i = 0; i < commits; i++) {
        uint64_t before = bench_now_ns();
        char *at = block;
        for (int index = 0; index < batch; index++) {
            make_line(i, SMA_STR("telegram:chat:100000"));
            memcpy(at, line, LINE_BYTES);
            memcpy(at + LINE_BYTES, facts, FACTS_BYTES);
            at += LINE_BYTES + FACTS_BYTES;
        }
        if (write(fd, block, (size_t)(at - block)) != at - block || fdatasync(fd) != 0)
            die("bare write", NULL);
        add_sample(&bare_samples, bench_now_ns() - before);
    }
    double seconds = (double)(bench_now_ns() - start) / 1e9;
    bare_samples.rates[bare_samples.rate_count++ % 64] = (double)commits * batch / seconds;
}

/* -- figures ----------------------------------------------------------------------------------- */

static void row_latency(const char *what, int batch, double quantile, const char *target,
                        const char *note)
{
    char name[96];
    snprintf(name, sizeof name, "commit of %d%s, %s", batch, note, what);
    double store = (double)bench_quantile(store_samples.ns, store_samples.count, quantile) / 1e3;
    double bare = (double)bench_quantile(bare_samples.ns, bare_samples.count, quantile) / 1e3;
    bench_row(name, store, "us", bare, store / bare, target);
}

/* @return messages a second of the store: the median of the rounds. */
static double measure(struct store *store, int fd, int batch, const char *note)
{
    store_samples.count = store_samples.rate_count = bare_samples.count = bare_samples.rate_count =
        0;
    int rounds = bench_is_quick ? 3 : 9;
    uint64_t commits = bench_is_quick ? (batch >= 1000 ? 15 : 150) : (batch >= 1000 ? 60 : 600);
    run_store(store, batch, commits / 10); /* warm */
    store_samples.count = store_samples.rate_count = 0;
    for (int round = 0; round < rounds; round++) {
        run_bare(fd, batch, commits);
        run_store(store, batch, commits);
    }
    bench_sort(store_samples.ns, store_samples.count);
    bench_sort(bare_samples.ns, bare_samples.count);
    double rate = bench_median(store_samples.rates, store_samples.rate_count);
    double bare = bench_median(bare_samples.rates, bare_samples.rate_count);
    char name[96];
    snprintf(name, sizeof name, "accepted at %d a batch%s", batch, note);
    bench_row(name, rate, "msg/s", bare, rate / bare, batch == 100 ? ">= 0.3" : NULL);
    if (batch == 100)
        bench_row(name, rate, "msg/s", NAN, NAN, ">= 40000 msg/s");
    row_latency("p50", batch, 0.5, batch == 1 ? "<= 1.6" : NULL, note);
    row_latency("p99", batch, 0.99, NULL, note);
    row_latency("p99.9", batch, 0.999, batch <= 100 ? "<= 20000 us" : NULL, note);
    row_latency("max", batch, 1.0, NULL, note);
    return rate;
}

/* Claims without text, as the import of an old project makes them. */
static void preload(uint64_t count)
{
    struct store store = {.next_event = 0};
    open_store(&store, true);
    uint64_t start = bench_now_ns();
    for (uint64_t done = 0; done < count;) {
        if (sma_state_begin(store.state) != SMA_ERR_OK)
            die("begin", sma_state_error(store.state));
        for (int i = 0; i < 20000 && done < count; i++, done++) {
            char event[32];
            snprintf(event, sizeof event, "old-%llu", (unsigned long long)done);
            struct sma_state_message message = {
                .chat = sma_state_chat_by_id(store.state, (uint32_t)(done % CHAT_COUNT) + 1),
                .state = SMA_ROW_DONE,
                .event_key = sma_str(event),
                .history_offset = SMA_STATE_NO_LINE};
            uint64_t seq = 0;
            if (sma_state_accept(store.state, &message, &seq) != SMA_ERR_OK)
                die("accept", sma_state_error(store.state));
        }
        if (sma_state_commit(store.state) != SMA_ERR_OK)
            die("commit", sma_state_error(store.state));
    }
    double seconds = (double)(bench_now_ns() - start) / 1e9;
    bench_row("claims imported", (double)count / seconds, "claim/s", NAN, NAN, NULL);
    close_store(&store);
}

static void measure_start(const char *name, const char *target)
{
    double seconds[5];
    int rounds = bench_is_quick ? 3 : 5;
    for (int i = 0; i < rounds; i++) {
        struct sma_error error = {0};
        struct sma_state *state = NULL;
        struct sma_state_options options = {.path = database_path};
        uint64_t before = bench_now_ns();
        if (sma_state_open(&options, &state, &error) != SMA_ERR_OK)
            die("open", &error);
        seconds[i] = (double)(bench_now_ns() - before) / 1e9;
        sma_state_close(state, true);
    }
    bench_row(name, bench_median(seconds, (size_t)rounds), "s", NAN, NAN, target);
}

static void remove_all(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        (void)unlinkat(dirfd(dir), entry->d_name, 0); /* folders stay for the rmdir below */
    closedir(dir);
    (void)rmdir(path);
}

static void fresh(void)
{
    remove_all(history_path);
    remove_all(directory);
    if (mkdir(directory, 0700) != 0)
        die("cannot make the directory", NULL);
}

/* What was loaded without syncing must not be written back while we measure. */
static void sync_database(void)
{
    int fd = open(database_path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        die("sync", NULL);
    close(fd);
}

/* The same batches in turns against a store with none and one with many claims: both see the same
 * disk. */
static void compare_claims(struct store *none, struct store *many, int batch, const char *note)
{
    double without[16], with[16];
    size_t rounds = bench_is_quick ? 5 : 11;
    uint64_t commits = bench_is_quick ? 150 : 400;
    run_store(none, batch, commits / 10);
    run_store(many, batch, commits / 10);
    for (size_t i = 0; i < rounds; i++) {
        store_samples.rate_count = 0;
        run_store(none, batch, commits);
        run_store(many, batch, commits);
        without[i] = store_samples.rates[0];
        with[i] = store_samples.rates[1];
    }
    char name[96];
    double reference = bench_median(without, rounds), rate = bench_median(with, rounds);
    snprintf(name, sizeof name, "accepted at %d%s against none", batch, note);
    bench_row(name, rate, "msg/s", reference, rate / reference, batch == 100 ? ">= 0.9" : NULL);
}

/* -- many active chats ------------------------------------------------------------------------- */
static void write_pasts(int chats)
{
    static char block[PAST_LINES * LINE_BYTES];
    for (int i = 0; i < chats; i++) {
        char key[64], path[400];
        snprintf(key, sizeof key, "telegram:chat:%d", 100000 + i);
        for (int k = 0; k < PAST_LINES; k++) {
            make_line((uint64_t)k, sma_str(key));
            memcpy(block + (size_t)k * LINE_BYTES, line, LINE_BYTES);
        }
        snprintf(path, sizeof path, "%s/telegram%%3Achat%%3A%d.jsonl", history_path, 100000 + i);
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, block, sizeof block) != (ssize_t)sizeof block)
            die("past", NULL);
        close(fd);
    }
}

/* One message in each chat, a hundred a batch: ten lines of one chat do not stand together here. */
static void touch_all(struct store *store, uint64_t *us)
{
    for (int first = 0; first < store->chat_count; first += 100) {
        if (sma_state_begin(store->state) != SMA_ERR_OK)
            die("begin", sma_state_error(store->state));
        for (int i = first; i < first + 100 && i < store->chat_count; i++) {
            uint64_t before = bench_now_ns();
            store->next_event = (uint64_t)i * 10 + (store->next_event % 10);
            accept_one(store, 0);
            write_lines(store, 1);
            us[i] = (bench_now_ns() - before) / 1000;
        }
        if (sma_state_commit(store->state) != SMA_ERR_OK)
            die("commit", sma_state_error(store->state));
    }
}

static void bench_active(int chats)
{
    static uint64_t us[CHAT_COUNT_MAX];
    static const char *const names[] = {"first message", "second message"};
    struct store store = {.chat_count = chats};
    fresh();
    if (mkdir(history_path, 0700) != 0)
        die("cannot make the directory", NULL);
    write_pasts(chats);
    open_store(&store, false);
    for (uint64_t round = 0; round < SMA_COUNT_OF(names); round++) {
        char name[96];
        store.next_event = round;
        touch_all(&store, us);
        bench_sort(us, (size_t)chats);
        snprintf(name, sizeof name, "%d active chats, %s p50", chats, names[round]);
        bench_row(name, (double)bench_quantile(us, (size_t)chats, 0.5), "us", NAN, NAN, NULL);
        snprintf(name, sizeof name, "%d active chats, %s p99", chats, names[round]);
        bench_row(name, (double)bench_quantile(us, (size_t)chats, 0.99), "us", NAN, NAN, NULL);
        snprintf(name, sizeof name, "%d active chats, %s max", chats, names[round]);
        bench_row(name, (double)us[chats - 1] / 1e3, "ms", NAN, NAN, "<= 20 ms");
    }
    close_store(&store);
}

static void name_files(const char *folder)
{
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/bench_store.%d%s", base == NULL ? "/tmp" : base,
             (int)getpid(), folder);
    snprintf(database_path, sizeof database_path, "%s/state.db", directory);
    snprintf(bare_path, sizeof bare_path, "%s/bare", directory);
    snprintf(history_path, sizeof history_path, "%s/chats", directory);
}

static void run_with_claims(uint64_t claims, const char *note)
{
    struct store none = {.next_event = 0}, many = {.next_event = 0};
    fresh();
    preload(claims);
    sync_database();
    int fd = open(bare_path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    open_store(&many, false);
    (void)measure(&many, fd, 100, note); /* its rate is in the table */
    close(fd);
    name_files(".none");
    fresh();
    open_store(&none, false);
    compare_claims(&none, &many, 1, note);
    compare_claims(&none, &many, 100, note);
    close_store(&none);
    remove_all(history_path);
    remove_all(directory);
    name_files("");
    close_store(&many);
}

int main(int argc, char **argv)
{
    static const int batches[] = {1, 8, 32, 64, 100, 1000};
    double rates[SMA_COUNT_OF(batches)];
    bench_open(argc, argv, "store");
    name_files("");
    memset(facts, 'f', FACTS_BYTES);
    fresh();

    struct store store = {.next_event = 0};
    int fd = open(bare_path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    open_store(&store, false);
    for (size_t i = 0; i < SMA_COUNT_OF(batches); i++)
        rates[i] = measure(&store, fd, batches[i], "");
    bench_row("64 writers against 1", rates[3], "msg/s", rates[0], rates[3] / rates[0], ">= 20");
    struct sma_state_counts counts;
    sma_state_counts(store.state, &counts);
    bench_row("fdatasync per commit", (double)counts.wal_syncs, "syncs", (double)counts.commits,
              (double)counts.wal_syncs / (double)counts.commits, NULL);
    bench_row("times the WAL began anew", (double)counts.wal_restarts, "times", NAN, NAN, NULL);
    bench_row("checkpoints the writer helped with", (double)counts.inline_checkpoints, "times",
              (double)counts.checkpoints, NAN, NULL);
    close_store(&store);
    close(fd);

    fresh();
    preload(1000000);
    measure_start("start with 1,000,000 claims", "<= 1 s");
    if (bench_is_quick)
        run_with_claims(1000000, ", 1 M claims");
    else
        run_with_claims(5000000, ", 5 M claims");
    bench_active(CHAT_COUNT);
    bench_active(12000);
    if (!bench_is_quick)
        bench_active(CHAT_COUNT_MAX);
    remove_all(history_path);
    remove_all(directory);
    return bench_close();
}
