/*
 * Aim: killed at any write or sync, the database holds every transaction that was acknowledged, and
 * of the one under way all or nothing. Method: a child runs a fixed list of transactions and dies
 * at its n-th call below SQLite, before the call or in the middle of its bytes, for every n; the
 * parent opens what is left and compares everything readable with what the same transactions give
 * without a crash. An argument k looks at every k-th call only.
 */
#include "runtime/chat/state_vfs.h"
#include "sma/text.h"
#include "state_support.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum
{
    BASE_CLAIMS = 4090, /* so that the script completes a generation of 4096 */
    TRANSACTION_COUNT = 12,
};

/* -- the script -------------------------------------------------------------------------------- */

static void accept_events(struct sma_state *state, const char *prefix, int count, int row_state)
{
    for (int i = 0; i < count; i++) {
        char event[32], chat[32];
        snprintf(event, sizeof event, "%s-%d", prefix, i);
        snprintf(chat, sizeof chat, "chat-%d", i % 5);
        (void)accept_event(state, chat, event, row_state);
    }
}

static void add_delivery(struct sma_state *state, uint64_t seq, int delivery_state, bool is_new)
{
    struct sma_state_delivery delivery = {.outbox_id = sma_state_outbox_id(seq, 1, 0),
                                          .chat = chat_named(state, "chat-0"),
                                          .state = (uint8_t)delivery_state,
                                          .channel = SMA_STR("test"),
                                          .text = SMA_STR("answer")};
    if (is_new)
        CHECK_OK(sma_state_outbox_add(state, &delivery));
    else
        CHECK_OK(sma_state_outbox_update(state, &delivery));
}

static void finish_run(struct sma_state *state, uint64_t seq)
{
    struct sma_state_finish finish = {.seq = seq,
                                      .state = SMA_ROW_DONE,
                                      .output = SMA_STR("answer"),
                                      .turn = SMA_STR("turn"),
                                      .wire = SMA_STR("chat")};
    CHECK_OK(sma_state_finish(state, &finish));
}

static void expire_rows(struct sma_state *state, uint32_t rows)
{
    uint32_t removed = 0;
    sma_state_set_claim_bounds(state, 0, SMA_CLAIM_COUNT_MAX, 0);
    CHECK_OK(sma_state_expire(state, rows, &removed));
}

static void change(struct sma_state *state, int number)
{
    static char big[20000]; /* overflow pages */
    memset(big, 'b', sizeof big);
    const uint64_t run = BASE_CLAIMS + 1;
    switch (number) {
    case 1:
        accept_events(state, "one", 30, SMA_ROW_WAITING);
        break; /* writes a generation */
    case 2:
        CHECK_OK(sma_state_step_add(state, run, 1, 1, (struct sma_str){big, sizeof big}));
        break;
    case 3:
        add_delivery(state, run, 1, true);
        CHECK_OK(sma_state_set_row_state(state, run, SMA_ROW_RUNNING));
        break;
    case 4:
        add_delivery(state, run, 2, false);
        break;
    case 5:
        finish_run(state, run);
        break;
    case 6:
        accept_events(state, "six", 40, SMA_ROW_DONE);
        break;
    case 7:
        CHECK_OK(sma_state_chat_set_rotation(state, chat_named(state, "chat-1"), SMA_STR("plan")));
        break;
    case 8:
        CHECK_OK(sma_state_chat_set_generation(state, chat_named(state, "chat-1"), 1));
        break;
    case 9:
        CHECK_OK(sma_state_chat_set_clear_mark(state, chat_named(state, "chat-0"), run + 1));
        break;
    case 10:
        expire_rows(state, 60);
        break;
    case 11:
        expire_rows(state, 5000);
        break; /* the generation shrinks to what is open */
    default:
        accept_events(state, "last", 3, SMA_ROW_WAITING);
        break;
    }
}

/* Run transactions from..to, each with its number in it; *acknowledged follows. */
static void run_script(struct sma_state *state, int from, int to, volatile int *acknowledged)
{
    for (int number = from; number <= to; number++) {
        char text[16];
        snprintf(text, sizeof text, "%d", number);
        CHECK_OK(sma_state_begin(state));
        change(state, number);
        CHECK_OK(sma_state_meta_set(state, SMA_STR("test.number"), sma_str(text)));
        CHECK_OK(sma_state_commit(state));
        *acknowledged = number;
    }
}

/* -- everything that can be read, as one number ------------------------------------------------ */

static const uint8_t digest_key[16] = {1};

static void mix(uint64_t *digest, const void *bytes, size_t len)
{
    uint64_t both[2] = {*digest, sma_siphash(digest_key, len == 0 ? "" : bytes, len)};
    *digest = sma_siphash(digest_key, both, sizeof both);
}

static void mix_number(uint64_t *digest, uint64_t number)
{
    mix(digest, &number, sizeof number);
}

static enum sma_err mix_message(void *user, const struct sma_state_message *message)
{
    mix_number(user, message->seq * 16 + message->state);
    mix(user, message->event_key.ptr, message->event_key.len);
    mix(user, message->line.ptr, message->line.len);
    return SMA_ERR_OK;
}

static enum sma_err mix_chat(void *user, struct sma_state_chat *chat)
{
    mix(user, chat->key.ptr, chat->key.len);
    mix(user, chat->rotation.ptr, chat->rotation.len);
    mix_number(user, chat->generation + chat->clear_mark * 7);
    return SMA_ERR_OK;
}

static enum sma_err mix_step(void *user, uint32_t number, uint8_t kind, struct sma_str data)
{
    mix_number(user, number + kind);
    mix(user, data.ptr, data.len);
    return SMA_ERR_OK;
}

static enum sma_err mix_delivery(void *user, const struct sma_state_delivery *delivery)
{
    mix_number(user, delivery->outbox_id + delivery->state);
    mix(user, delivery->text.ptr, delivery->text.len);
    return SMA_ERR_OK;
}

static enum sma_err mix_result(void *user, const struct sma_state_result *result)
{
    mix_number(user, result->seq);
    mix(user, result->output.ptr, result->output.len);
    return SMA_ERR_OK;
}

static void mix_claims(struct sma_state *state, uint64_t *digest, const char *prefix, int count,
                       int step)
{
    for (int i = 0; i < count; i += step) {
        char event[32], chat[32];
        snprintf(event, sizeof event, "%s-%d", prefix, i);
        snprintf(chat, sizeof chat, "chat-%d", i % 5);
        mix_number(digest, is_claimed(state, chat, event));
    }
}

static uint64_t digest_of(struct sma_state *state)
{
    uint64_t digest = 0;
    CHECK_OK(each_chat(state, mix_chat, &digest));
    CHECK_OK(each_open(state, mix_message, &digest));
    CHECK_OK(each_unflushed(state, mix_message, &digest));
    CHECK_OK(sma_state_each_outbox_open(state, mix_delivery, &digest));
    for (uint64_t seq = BASE_CLAIMS; seq < BASE_CLAIMS + 5; seq++) {
        CHECK_OK(each_step(state, seq, mix_step, &digest));
        CHECK_OK(sma_state_each_delivery(state, seq, mix_delivery, &digest));
        enum sma_err err = sma_state_result_get(state, seq, mix_result, &digest);
        CHECK(err == SMA_ERR_OK ||
              err == SMA_ERR_NOTFOUND); /* mixed in or not: part of the picture */
    }
    mix_claims(state, &digest, "base", BASE_CLAIMS, 13);
    mix_claims(state, &digest, "one", 30, 1);
    mix_claims(state, &digest, "six", 40, 1);
    mix_claims(state, &digest, "last", 3, 1);
    mix_number(&digest, sma_state_next_seq(state));
    return digest;
}

static int number_of(struct sma_state *state)
{
    char text[16] = "0";
    enum sma_err err = sma_state_meta_get(state, SMA_STR("test.number"), text, sizeof text);
    CHECK(err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND);
    return (int)strtol(text, NULL, 10);
}

/* -- dying ------------------------------------------------------------------------------------- */

static int calls_until_death;
static enum sma_state_vfs_action way_to_die;

static enum sma_state_vfs_action die_at(enum sma_state_vfs_role role, enum sma_state_vfs_call call,
                                        bool is_wal)
{
    (void)role;
    (void)call;
    (void)is_wal;
    return calls_until_death > 0 && --calls_until_death == 0 ? way_to_die : SMA_STATE_VFS_PASS;
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    int in = open(from, O_RDONLY | O_CLOEXEC),
        out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(in >= 0 && out >= 0);
    for (ssize_t len; (len = read(in, bytes, sizeof bytes)) > 0;)
        CHECK_INT(len, write(out, bytes, (size_t)len));
    close(in);
    close(out);
}

/* Start from the base database in a child that dies at call n. @return its exit status */
static int run_child(struct fixture *f, int n, volatile int *acknowledged)
{
    *acknowledged = 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        sma_state_vfs_set_hook(die_at);
        fixture_open(f);
        sma_state_set_history_flushed(f->state, BASE_CLAIMS + 40);
        calls_until_death = n;
        run_script(f->state, 1, TRANSACTION_COUNT, acknowledged);
        _exit(0);
    }
    int status = 0;
    CHECK_INT(child, waitpid(child, &status, 0));
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void check_survivor(struct fixture *f, const uint64_t *digests, int acknowledged, int n)
{
    fixture_open(f);
    sma_state_set_history_flushed(f->state, BASE_CLAIMS + 40);
    int number = number_of(f->state);
    if (number != acknowledged && number != acknowledged + 1)
        fprintf(stderr, "died at call %d: %d acknowledged, %d found\n", n, acknowledged, number);
    CHECK(number == acknowledged || number == acknowledged + 1);
    uint64_t digest = digest_of(f->state);
    if (digests[number] != digest)
        fprintf(stderr, "died at call %d: transaction %d is not whole\n", n, number);
    CHECK(digests[number] == digest);
    int ignored = 0;
    run_script(f->state, number + 1, TRANSACTION_COUNT, &ignored); /* and it goes on from there */
    CHECK_INT(TRANSACTION_COUNT, number_of(f->state));
    CHECK(is_claimed(f->state, "chat-0", "last-0"));
    sma_state_close(f->state, true);
    f->state = NULL;
}

static void make_base(struct fixture *f, char *base_path, size_t base_max)
{
    fixture_open(f);
    CHECK_OK(sma_state_begin(f->state));
    accept_events(f->state, "base", BASE_CLAIMS, SMA_ROW_DONE);
    CHECK_OK(sma_state_commit(f->state));
    sma_state_close(f->state, true);
    f->state = NULL;
    snprintf(base_path, base_max, "%s/base.db", f->dir);
    copy_file(f->path, base_path);
}

static void restore_base(struct fixture *f, const char *base_path)
{
    char side[200];
    snprintf(side, sizeof side, "%s-wal", f->path);
    (void)unlink(side); /* absent the first time */
    snprintf(side, sizeof side, "%s-shm", f->path);
    (void)unlink(side); /* absent the first time */
    copy_file(base_path, f->path);
}

static int stride = 1;

CASE(a_kill_at_any_write_leaves_whole_transactions)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    f.is_durable = true;
    char base_path[200];
    make_base(&f, base_path, sizeof base_path);

    uint64_t digests[TRANSACTION_COUNT + 1];
    int ignored = 0;
    fixture_open(&f);
    sma_state_set_history_flushed(f.state, BASE_CLAIMS + 40);
    for (int number = 0; number <= TRANSACTION_COUNT; number++) {
        run_script(f.state, number == 0 ? 1 : number, number, &ignored);
        digests[number] = digest_of(f.state);
    }
    sma_state_close(f.state, false);
    f.state = NULL;

    volatile int *acknowledged =
        mmap(NULL, sizeof *acknowledged, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(acknowledged != MAP_FAILED);
    int deaths = 0;
    for (int n = 1;; n += stride) {
        way_to_die = deaths % 2 == 0 ? SMA_STATE_VFS_TEAR_DIE : SMA_STATE_VFS_DIE;
        restore_base(&f, base_path);
        int status = run_child(&f, n, acknowledged);
        CHECK(status == 0 || status == SMA_STATE_VFS_EXIT_STATUS);
        if (status == 0)
            break;
        deaths++;
        check_survivor(&f, digests, *acknowledged, n);
    }
    CHECK_INT(TRANSACTION_COUNT, *acknowledged);
    fprintf(stderr, "   %d kills\n", deaths);
    CHECK(deaths > 100 / stride);
    munmap((void *)acknowledged, sizeof *acknowledged);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        stride = (int)strtol(argv[1], NULL, 10);
    CHECK(stride > 0);
    check_run_cases(NULL);
    return check_summary();
}
