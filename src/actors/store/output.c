/*
 * output.c — /more and /full: what the messages of the last answer had no room for.
 *
 * Nothing is kept for it: the deliveries of the chat's last run say how many parts were shown, and
 * rendering is pure, so what they left out can be made out again. A page is a row of the command's
 * own message, which may be cut in turn; the chat's newest page stands in meta "more/<chat id>".
 * Both are made by the transaction that takes the command: a repeated or interrupted one sends
 * nothing twice. Only rows that went to the command's own chat count.
 *
 * Files of /full lie in .ship/output, which no tool may read or send, under names that nobody can
 * guess; the row of the command, an SMA_INTENT_OUTPUT, is what adapters open them for.
 */
#include "facts.h"
#include "intake.h"
#include "outbox.h"
#include "record.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"
#include "upkeep_priv.h"

#include "runtime/chat/state_read.h"
#include "runtime/delivery/split.h"
#include "runtime/text/attach.h"
#include "sma/commands.h"
#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "output"  /* in the state folder */
#define PIECE_UNITS 2048 /* of a text that the dispatcher cut: so exactly the rest begins */
#define OLD_MS (2 * INT64_C(86400000)) /* twice as long as a delivery may wait */
#define OUTPUT_BYTES_MAX ((size_t)32 * 1024 * 1024)

/* What the last answer was. */
struct answer
{
    struct sma_store *store;
    const struct store_chat *chat;
    uint64_t run;              /* the chat's last one */
    uint64_t shown;            /* whose deliveries are its newest page: the run's, or a command's */
    struct sma_buf text, rest; /* of all its messages */
    size_t longest;            /* bytes of a message of the run */
    bool is_open;              /* not everything has been sent yet */
};

/* -- what a row left out ----------------------------------------------------------------------- */
static void count_part(void *user, struct sma_str part_bytes)
{
    (void)part_bytes;
    (*(uint32_t *)user)++;
}

/* How many parts the text has up to here; more than all when that cannot be told. */
static uint32_t parts_of(const struct sma_adapter_ops *ops, const struct sma_deliver *row,
                         size_t len)
{
    struct sma_deliver begin = *row;
    uint32_t count = 0;
    begin.text.len = len;
    return ops->render(&begin, count_part, &count) == SMA_ERR_OK ? count : UINT32_MAX;
}

struct pieces
{
    uint32_t wanted; /* SEEK: the end of so many; PUT: what is behind them */
    size_t len;
    struct sma_buf *rest; /* NULL: only len is wanted */
};

static void on_piece(void *user, const struct sma_split_part *part)
{
    struct pieces *pieces = user;
    if (part->index < pieces->wanted)
        pieces->len += part->body.len;
    if (pieces->rest == NULL || part->index < pieces->wanted)
        return;
    if (part->index == pieces->wanted)
        sma_buf_put_str(pieces->rest, part->prefix);
    sma_buf_put_str(pieces->rest, part->body);
}

static SMA_CHECKED enum sma_err find_end(struct sma_str text, uint32_t piece_count, size_t *ret_len)
{
    struct pieces pieces = {.wanted = piece_count};
    SMA_TRY(sma_text_split(text, PIECE_UNITS, on_piece, &pieces));
    *ret_len = pieces.len;
    return SMA_ERR_OK;
}

/*
 * The dispatcher put a note in the place of the last part. What fits into a part less was shown
 * whole, wherever the parts were cut: the next page begins with a few lines that the last one
 * ended with, and nothing is missing between them.
 */
static SMA_CHECKED enum sma_err put_excess(const struct sma_adapter_ops *ops,
                                           const struct sma_deliver *row, struct sma_buf *rest)
{
    uint32_t shown = 0, all = (uint32_t)(row->text.len / (PIECE_UNITS / 2) + 2);
    if (parts_of(ops, row, row->text.len) <= SMA_PART_COUNT_MAX)
        return SMA_ERR_OK;
    while (shown + 1 < all) {
        uint32_t middle = shown + (all - shown) / 2;
        size_t len;
        SMA_TRY(find_end(row->text, middle, &len));
        if (parts_of(ops, row, len) <= SMA_PART_COUNT_MAX - 2)
            shown = middle;
        else
            all = middle;
    }
    struct pieces pieces = {.wanted = shown, .rest = rest};
    SMA_TRY(sma_text_split(row->text, PIECE_UNITS, on_piece, &pieces));
    return rest->err;
}

static SMA_CHECKED enum sma_err put_left_out(const struct sma_store *store,
                                             const struct sma_state_delivery *sent,
                                             struct sma_buf *rest)
{
    struct store_facts facts;
    SMA_TRY(sma_store_facts_get(sent->route, &facts));
    int adapter = sma_store_adapter_of(store, &facts.route);
    if (adapter < 0)
        return SMA_ERR_OK;
    const struct sma_adapter_ops *ops = store->adapters[adapter].adapter->ops;
    const struct sma_deliver row = {
        .outbox_id = sent->outbox_id,
        .route = facts.route,
        .text = sent->text,
        .language =
            sma_str(sma_store_language(store, &facts.route) == SMA_LANGUAGE_ZH ? "zh" : "en"),
        .intent = sent->intent};
    enum sma_err err =
        ops->rest == NULL ? SMA_ERR_NOTFOUND : ops->rest(&row, sent->part_count, rest);
    if (err == SMA_ERR_NOTFOUND)
        err = SMA_ERR_OK;
    if (err == SMA_ERR_OK && rest->len == 0 && sent->part_count == SMA_PART_COUNT_MAX &&
        ops->render != NULL)
        err = put_excess(ops, &row, rest);
    return err;
}

/* -- the last answer --------------------------------------------------------------------------- */
static void put_apart(struct sma_buf *buf, struct sma_str text)
{
    if (buf->len > 0 && text.len > 0)
        sma_buf_put_text(buf, "\n\n");
    sma_buf_put_str(buf, text);
}

/* The texts of this run, or this page, in this chat. What went elsewhere is none of its. */
static SMA_CHECKED enum sma_err read_texts(struct answer *answer, uint64_t seq, bool is_shown)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_deliveries list = {0};
    struct sma_buf rest;
    enum sma_err err = sma_state_deliveries_read(answer->store->state, seq, &rows, &list);
    sma_buf_init(&rest, OUTPUT_BYTES_MAX);
    for (size_t i = 0; err == SMA_ERR_OK && i < list.count; i++) {
        const struct sma_state_delivery *sent = &list.items[i];
        if (sent->chat != answer->chat->state || sent->intent != SMA_INTENT_ASSISTANT_TEXT)
            continue;
        if (!is_shown) {
            put_apart(&answer->text, sent->text);
            answer->longest = sent->text.len > answer->longest ? sent->text.len : answer->longest;
            continue;
        }
        answer->is_open = answer->is_open || sent->state == SMA_DELIVERY_WAITING ||
                          sent->state == SMA_DELIVERY_BEGUN;
        sma_buf_clear(&rest);
        if (sent->state == SMA_DELIVERY_SENT)
            err = put_left_out(answer->store, sent, &rest);
        put_apart(&answer->rest, sma_buf_str(&rest));
    }
    sma_buf_fini(&rest);
    return err;
}

static enum sma_err copy_output(void *user, const struct sma_state_result *result)
{
    struct sma_buf *output = user;
    sma_buf_put_str(output, result->output);
    return output->err;
}

static size_t same_len(struct sma_str a, struct sma_str b)
{
    size_t len = 0;
    while (len < a.len && len < b.len && a.ptr[len] == b.ptr[len])
        len++;
    return len;
}

/* Longer than any message: the run's own end cut it, and its result has all of it (step.c). */
static SMA_CHECKED enum sma_err read_output(struct answer *answer)
{
    struct sma_buf output;
    if (answer->longest < SMA_TEXT_BYTES_MAX)
        return SMA_ERR_OK;
    sma_buf_init(&output, OUTPUT_BYTES_MAX);
    enum sma_err err =
        sma_state_result_get(answer->store->state, answer->run, copy_output, &output);
    struct sma_str whole = sma_buf_str(&output);
    size_t shown =
        err == SMA_ERR_OK ? sma_utf8_cut(whole, same_len(whole, sma_buf_str(&answer->text))) : 0;
    if (err == SMA_ERR_OK && shown < whole.len) {
        if (answer->shown == answer->run)
            put_apart(&answer->rest, (struct sma_str){whole.ptr + shown, whole.len - shown});
        sma_buf_clear(&answer->text);
        sma_buf_put_str(&answer->text, whole);
    }
    sma_buf_fini(&output);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static void put_page_name(char name[48], const struct store_chat *chat)
{
    snprintf(name, 48, "more/%u", chat->state->id);
}

static SMA_CHECKED enum sma_err find_page(struct answer *answer)
{
    char name[48], value[32];
    int64_t page;
    put_page_name(name, answer->chat);
    enum sma_err err = sma_state_meta_get(answer->store->state, sma_str(name), value, sizeof value);
    answer->shown = answer->run;
    if (err == SMA_ERR_OK && sma_parse_i64(sma_str(value), 0, INT64_MAX, &page) == SMA_ERR_OK &&
        (uint64_t)page > answer->run)
        answer->shown = (uint64_t)page;
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static void init_answer(struct answer *answer, struct sma_store *store,
                        const struct store_chat *chat)
{
    *answer = (struct answer){.store = store, .chat = chat};
    sma_buf_init(&answer->text, OUTPUT_BYTES_MAX);
    sma_buf_init(&answer->rest, OUTPUT_BYTES_MAX);
}

static void fini_answer(struct answer *answer)
{
    sma_buf_fini(&answer->text);
    sma_buf_fini(&answer->rest);
}

/* Empty when there is none that is still known. */
static SMA_CHECKED enum sma_err read_answer(struct answer *answer, uint64_t before_seq)
{
    enum sma_err err =
        sma_state_last_run(answer->store->state, answer->chat->state, before_seq, &answer->run);
    if (err == SMA_ERR_NOTFOUND)
        return SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        err = find_page(answer);
    if (err == SMA_ERR_OK)
        err = read_texts(answer, answer->run, false);
    if (err == SMA_ERR_OK)
        err = read_texts(answer, answer->shown, true);
    if (err == SMA_ERR_OK)
        err = read_output(answer);
    if (err == SMA_ERR_OK)
        err = answer->text.err != SMA_ERR_OK ? answer->text.err : answer->rest.err;
    return err;
}

/* -- /more ------------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err say(const struct store_command *command, enum sma_notice notice)
{
    sma_notice_format(command->text, command->language, notice);
    return command->text->err;
}

static SMA_CHECKED enum sma_err put_page(struct sma_store *store,
                                         const struct store_command *command, struct sma_str rest)
{
    char name[48], value[32];
    put_page_name(name, command->chat);
    snprintf(value, sizeof value, "%llu", (unsigned long long)command->seq);
    SMA_TRY(sma_state_meta_set(store->state, sma_str(name), sma_str(value)));
    sma_buf_put(command->text, rest.ptr, sma_utf8_cut(rest, SMA_TEXT_BYTES_MAX));
    *command->intent = SMA_INTENT_ASSISTANT_TEXT;
    return command->text->err;
}

enum sma_err sma_store_send_more(struct sma_store *store, const struct store_command *command)
{
    struct answer answer;
    init_answer(&answer, store, command->chat);
    enum sma_err err = read_answer(&answer, command->seq);
    struct sma_str rest = sma_buf_str(&answer.rest);
    if (err == SMA_ERR_OK && answer.is_open)
        err = say(command, SMA_NOTICE_MORE_LATER);
    else if (err == SMA_ERR_OK)
        err = sma_str_trim(rest).len == 0 ? say(command, SMA_NOTICE_MORE_NOTHING)
                                          : put_page(store, command, rest);
    fini_answer(&answer);
    return err;
}

/* -- /full ------------------------------------------------------------------------------------- */
static bool write_all(int fd, struct sma_str text)
{
    while (text.len > 0) {
        ssize_t count = write(fd, text.ptr, text.len);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        text = (struct sma_str){text.ptr + count, text.len - (size_t)count};
    }
    return true;
}

/* One file a run, as long as the program runs: asking again costs no disk. */
static void put_file_name(const struct sma_store *store, uint64_t run, char name[64])
{
    uint64_t words[2] = {run, 0};
    uint64_t first = sma_siphash(store->hash_key, words, sizeof words);
    words[1] = 1;
    snprintf(name, 64, "answer-%016llx%016llx.md", (unsigned long long)first,
             (unsigned long long)sma_siphash(store->hash_key, words, sizeof words));
}

static SMA_CHECKED bool write_output(struct sma_store *store, const char *name, struct sma_str text)
{
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/" FOLDER, store->config->state_dir);
    if (len < 0 || (size_t)len >= sizeof path || (mkdir(path, 0700) != 0 && errno != EEXIST))
        return false;
    int folder = open(path, O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC);
    if (folder < 0)
        return false;
    int fd = openat(folder, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
    bool is_written = fd < 0 && errno == EEXIST;
    if (fd >= 0) {
        is_written = write_all(fd, text);
        int error = errno;
        if (close(fd) != 0 || !is_written) {
            is_written = false;
            (void)unlinkat(folder, name, 0); /* what is left of it leaves with its age */
            errno = error;
        }
    }
    close(folder);
    return is_written;
}

static SMA_CHECKED enum sma_err
put_file(struct sma_store *store, const struct store_command *command, const struct answer *answer)
{
    char name[64], path[128];
    struct sma_buf caption;
    put_file_name(store, answer->run, name);
    if (!write_output(store, name, sma_buf_str(&answer->text))) {
        sma_ctx_log(store->ctx, SMA_LOG_WARN, "/full: .ship/" FOLDER "/%s cannot be written: %s",
                    name, strerror(errno));
        return say(command, SMA_NOTICE_FULL_FAILED);
    }
    snprintf(path, sizeof path, ".ship/" FOLDER "/%s", name);
    sma_buf_init(&caption, SMA_ATTACH_LABEL_BYTES_MAX);
    sma_notice_format(&caption, command->language, SMA_NOTICE_FULL_CAPTION);
    sma_attach_put_line(command->text, "document", sma_str(path), sma_buf_str(&caption));
    enum sma_err err = caption.err != SMA_ERR_OK ? caption.err : command->text->err;
    sma_buf_fini(&caption);
    *command->intent = SMA_INTENT_OUTPUT; /* the one row that may send that file */
    return err;
}

/* Where no files go a message has to do: of HTTP and the terminal any length will. */
static SMA_CHECKED enum sma_err
put_whole(struct sma_store *store, const struct store_command *command, const struct answer *answer)
{
    int adapter = sma_store_adapter_of(store, &command->ingress->route);
    if (adapter >= 0 && store->adapters[adapter].adapter->ops->capabilities.has_files)
        return put_file(store, command, answer);
    return put_page(store, command, sma_buf_str(&answer->text));
}

enum sma_err sma_store_send_full(struct sma_store *store, const struct store_command *command)
{
    struct answer answer;
    init_answer(&answer, store, command->chat);
    enum sma_err err = read_answer(&answer, command->seq);
    if (err == SMA_ERR_OK)
        err = answer.text.len == 0 ? say(command, SMA_NOTICE_FULL_NOTHING)
                                   : put_whole(store, command, &answer);
    fini_answer(&answer);
    return err;
}

/* -- the words --------------------------------------------------------------------------------- */
/* Its author's own words and nothing with them, while nothing is under way here. */
static bool may_be_word(const struct store_chat *chat, const struct sma_ingress *in)
{
    return in->kind == SMA_EVENT_MESSAGE && !in->is_forward && !in->is_edited &&
           in->part_count == 0 && in->group_key.len == 0 && chat->run == NULL;
}

enum sma_err sma_store_output_word(struct sma_store *store, const struct store_chat *chat,
                                   const struct sma_ingress *in, enum sma_control *ret_control)
{
    enum sma_control control = sma_control_word(in->text);
    *ret_control = SMA_CONTROL_NONE;
    if (control == SMA_CONTROL_NONE || !may_be_word(chat, in))
        return SMA_ERR_OK;
    struct answer answer;
    init_answer(&answer, store, chat);
    enum sma_err err = read_answer(&answer, INT64_MAX);
    bool has_rest = answer.is_open || sma_str_trim(sma_buf_str(&answer.rest)).len > 0;
    if (err == SMA_ERR_OK && (control == SMA_CONTROL_FULL ? answer.text.len > 0 : has_rest))
        *ret_control = control;
    fini_answer(&answer);
    return err;
}

/* -- what was sent ----------------------------------------------------------------------------- */
void sma_store_remove_outputs(const struct sma_store *store, int64_t now_ms)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/" FOLDER, store->config->state_dir);
    DIR *folder = opendir(path); /* without a time nothing is older than it */
    if (folder == NULL)
        return;
    for (struct dirent *item; (item = readdir(folder)) != NULL;) {
        struct stat stat;
        if (fstatat(dirfd(folder), item->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(stat.st_mode) && (int64_t)stat.st_mtim.tv_sec * 1000 < now_ms - OLD_MS)
            (void)unlinkat(dirfd(folder), item->d_name, 0); /* it is tried again in an hour */
    }
    (void)closedir(folder);
}
