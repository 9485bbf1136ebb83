/* fake_adapter.c — see fake_adapter.h. */
#include "fake_adapter.h"

#include "sma/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KEY_TABLE_SIZE 4096
#define SAW_FILE_BYTES_MAX (256u * 1024 * 1024)

struct key
{
    struct key *next;
    unsigned attempt_count;
    bool is_seen;
    size_t len;
    char text[];
};
/* An answer that waits for its time. */
struct waiting
{
    uint64_t at_ns, ask_id, outbox_id;
    uint32_t part, retry_after_ms;
    uint8_t asker, attempt_class;
    bool is_adapter_wide, is_chat_only, is_likely_unsent, is_used;
};
struct fake_adapter
{
    struct fake_options options;
    struct key *keys[KEY_TABLE_SIZE];
    struct fake_saw *saw_first, *saw_last;
    size_t saw_count, hidden_count, attempt_count, progress_count;
    struct waiting waiting[SMA_ASK_ATTEMPT_COUNT_MAX];
    int saw_fd;
};

static void *must(void *pointer)
{
    SMA_ASSERT(pointer != NULL);
    return pointer;
}

static struct key *obtain_key(struct fake_adapter *fake, struct sma_str text)
{
    static const uint8_t secret[16];
    struct key **place = &fake->keys[sma_siphash(secret, text.ptr, text.len) % KEY_TABLE_SIZE];
    while (*place != NULL &&
           !sma_str_is_equal(text, (struct sma_str){(*place)->text, (*place)->len}))
        place = &(*place)->next;
    if (*place == NULL) {
        *place = must(calloc(1, sizeof **place + text.len + 1));
        (*place)->len = text.len;
        if (text.len > 0)
            memcpy((*place)->text, text.ptr, text.len);
    }
    return *place;
}

/* Keys of an earlier life of the program: `SAW <chat> <key> <text>` */
static void load_seen(struct fake_adapter *fake)
{
    char *bytes;
    size_t len;
    if (sma_sys_read_file(sma_sys_real(), fake->options.saw_path, SAW_FILE_BYTES_MAX, &bytes, &len,
                          NULL) != SMA_ERR_OK)
        return;
    for (char *line = bytes; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n'), *chat_end, *key_end;
        if (strncmp(line, "SAW ", 4) == 0 && (chat_end = strchr(line + 4, ' ')) != NULL &&
            (key_end = strchr(chat_end + 1, ' ')) != NULL)
            obtain_key(fake, (struct sma_str){chat_end + 1, (size_t)(key_end - chat_end - 1)})
                ->is_seen = true;
        line = end == NULL ? NULL : end + 1;
    }
    free(bytes);
}

struct fake_adapter *fake_adapter_create(const struct fake_options *options)
{
    struct fake_adapter *fake = must(calloc(1, sizeof *fake));
    fake->options = *options;
    fake->saw_fd = -1;
    if (options->saw_path != NULL) {
        load_seen(fake);
        fake->saw_fd = open(options->saw_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        SMA_ASSERT(fake->saw_fd >= 0);
    }
    return fake;
}

void fake_adapter_destroy(struct fake_adapter *fake)
{
    if (fake == NULL)
        return;
    for (size_t i = 0; i < KEY_TABLE_SIZE; i++)
        while (fake->keys[i] != NULL) {
            struct key *key = fake->keys[i];
            fake->keys[i] = key->next;
            free(key);
        }
    while (fake->saw_first != NULL) {
        struct fake_saw *saw = fake->saw_first;
        fake->saw_first = saw->next;
        free(saw->chat);
        free(saw->key);
        free(saw->text);
        free(saw);
    }
    if (fake->saw_fd >= 0)
        close(fake->saw_fd);
    free(fake);
}

const struct fake_saw *fake_adapter_first_saw(const struct fake_adapter *fake)
{
    return fake->saw_first;
}
size_t fake_adapter_saw_count(const struct fake_adapter *fake)
{
    return fake->saw_count;
}
size_t fake_adapter_hidden_count(const struct fake_adapter *fake)
{
    return fake->hidden_count;
}
size_t fake_adapter_attempt_count(const struct fake_adapter *fake)
{
    return fake->attempt_count;
}
size_t fake_adapter_progress_count(const struct fake_adapter *fake)
{
    return fake->progress_count;
}

/* -- attempts ---------------------------------------------------------------------------------- */
static char *dup_text(struct sma_str text)
{
    return must(strndup(text.len == 0 ? "" : text.ptr, text.len));
}

static void write_saw(struct fake_adapter *fake, const struct sma_attempt *attempt)
{
    struct sma_buf line;
    sma_buf_init(&line, 8 * SMA_TEXT_BYTES_MAX);
    sma_buf_put_text(&line, "SAW ");
    sma_buf_put_str(&line, attempt->route.chat_id);
    sma_buf_put_char(&line, ' ');
    sma_buf_put_str(&line, attempt->idempotency_key);
    sma_buf_put_char(&line, ' ');
    sma_buf_put_json_string(&line, attempt->part_bytes);
    sma_buf_put_char(&line, '\n');
    SMA_ASSERT(line.err == SMA_ERR_OK);
    SMA_ASSERT(write(fake->saw_fd, line.ptr, line.len) == (ssize_t)line.len);
    sma_buf_fini(&line);
}

static void see(struct fake_adapter *fake, const struct sma_attempt *attempt, struct key *key,
                uint64_t now)
{
    if (key->is_seen && fake->options.is_idempotent) {
        fake->hidden_count++;
        return;
    }
    key->is_seen = true;
    struct fake_saw *saw = must(calloc(1, sizeof *saw));
    saw->at_ns = now;
    saw->is_repeat = attempt->is_repeat;
    saw->chat = dup_text(attempt->route.chat_id);
    saw->key = dup_text(attempt->idempotency_key);
    saw->text = dup_text(attempt->part_bytes);
    *(fake->saw_last == NULL ? &fake->saw_first : &fake->saw_last->next) = saw;
    fake->saw_last = saw;
    fake->saw_count++;
    if (fake->saw_fd >= 0)
        write_saw(fake, attempt);
}

static bool take_word(struct sma_str word, const char *name, uint64_t *ret_ms)
{
    size_t len = strlen(name);
    if (word.len < len || memcmp(word.ptr, name, len) != 0)
        return false;
    *ret_ms = 0;
    if (word.len > len + 1 && word.ptr[len] == ':')
        *ret_ms = strtoull(word.ptr + len + 1, NULL, 10);
    return true;
}

static void read_word(struct sma_str word, struct fake_plan *plan)
{
    uint64_t ms = 0;
    if (take_word(word, "retry", &ms))
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_RETRY};
    else if (take_word(word, "filehang", &ms)) /* an upload hangs */
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_UNKNOWN, .delay_ns = ms * 1000000u};
    else if (take_word(word, "filedown", &ms)) /* answered 502 */
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_UNKNOWN, .is_likely_unsent = true};
    else if (take_word(word, "file", &ms)) /* an upload failed */
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_RETRY};
    else if (take_word(word, "giveup", &ms))
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_GIVE_UP};
    else if (take_word(word, "after", &ms))
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_RETRY_AFTER,
                                   .retry_after_ms = (uint32_t)ms};
    else if (take_word(word, "wide", &ms))
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_RETRY_AFTER,
                                   .retry_after_ms = (uint32_t)ms,
                                   .is_adapter_wide = true};
    else if (take_word(word, "chat", &ms))
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_RETRY_AFTER,
                                   .retry_after_ms = (uint32_t)ms,
                                   .is_chat_only = true};
    else if (take_word(word, "unknown", &ms))
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_UNKNOWN, .is_seen = true};
    else if (take_word(word, "lost", &ms))
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_UNKNOWN};
    else if (take_word(word, "down", &ms))
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_UNKNOWN, .is_likely_unsent = true};
    else if (take_word(word, "slow", &ms))
        plan->delay_ns = ms * 1000000u;
    else if (take_word(word, "never", &ms))
        plan->delay_ns = FAKE_NEVER;
}

static void plan_by_text(struct sma_str text, unsigned number, struct fake_plan *plan)
{
    const char *end = text.len > 0 && text.ptr[0] == '{' ? memchr(text.ptr, '}', text.len) : NULL;
    if (end == NULL)
        return;
    unsigned word_number = 0;
    for (const char *word = text.ptr + 1; word < end;) {
        const char *space = memchr(word, ' ', (size_t)(end - word));
        const char *word_end = space == NULL ? end : space;
        if (++word_number == number)
            read_word((struct sma_str){word, (size_t)(word_end - word)}, plan);
        word = word_end + 1;
    }
}

static void answer(const struct waiting *waiting, struct sma_ctx *ctx)
{
    char text[32];
    snprintf(text, sizeof text, "m%llu.%u", (unsigned long long)waiting->outbox_id, waiting->part);
    bool is_sent = waiting->attempt_class == SMA_ATTEMPT_SENT;
    struct sma_msg *msg = must(SMA_MSG_NEW(SMA_MSG_ATTEMPT_RESULT, struct sma_attempt_result, 64));
    struct sma_attempt_result *result = SMA_MSG_BODY(msg, struct sma_attempt_result);
    *result = (struct sma_attempt_result){.outbox_id = waiting->outbox_id,
                                          .part = waiting->part,
                                          .attempt_class = waiting->attempt_class,
                                          .is_adapter_wide = waiting->is_adapter_wide,
                                          .is_chat_only = waiting->is_chat_only,
                                          .is_likely_unsent = waiting->is_likely_unsent,
                                          .retry_after_ms = waiting->retry_after_ms};
    result->platform_message_id = sma_msg_dup(msg, is_sent ? sma_str(text) : SMA_STR(""));
    result->error = sma_msg_dup(msg, is_sent ? SMA_STR("") : SMA_STR("as the script says"));
    sma_ctx_answer_to(ctx, (enum sma_actor_id)waiting->asker, waiting->ask_id, &msg);
}

static void arm(struct fake_adapter *fake, struct sma_ctx *ctx)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < SMA_COUNT_OF(fake->waiting); i++)
        if (fake->waiting[i].is_used && fake->waiting[i].at_ns < next)
            next = fake->waiting[i].at_ns;
    sma_ctx_wake_at(ctx, next);
}

static void keep_waiting(struct fake_adapter *fake, const struct waiting *waiting,
                         struct sma_ctx *ctx)
{
    size_t i = 0;
    while (i < SMA_COUNT_OF(fake->waiting) && fake->waiting[i].is_used)
        i++;
    SMA_ASSERT(i < SMA_COUNT_OF(fake->waiting)); /* no more questions than the edge allows */
    fake->waiting[i] = *waiting;
    fake->waiting[i].is_used = true;
    arm(fake, ctx);
}

static void take_attempt(struct fake_adapter *fake, const struct sma_msg *msg,
                         const struct sma_attempt *attempt, struct sma_ctx *ctx)
{
    struct key *key = obtain_key(fake, attempt->idempotency_key);
    struct fake_plan plan = {.attempt_class = SMA_ATTEMPT_SENT, .is_seen = true};
    uint64_t now = sma_ctx_now(ctx);
    fake->attempt_count++;
    key->attempt_count++;
    if (fake->options.plan != NULL)
        fake->options.plan(fake->options.user, attempt, key->attempt_count, &plan);
    else
        plan_by_text(attempt->part_bytes, key->attempt_count, &plan);
    if (plan.is_seen)
        see(fake, attempt, key, now);
    struct waiting waiting = {.at_ns =
                                  plan.delay_ns == FAKE_NEVER ? UINT64_MAX : now + plan.delay_ns,
                              .ask_id = msg->ask_id,
                              .outbox_id = attempt->outbox_id,
                              .part = attempt->part,
                              .retry_after_ms = plan.retry_after_ms,
                              .asker = msg->from,
                              .attempt_class = plan.attempt_class,
                              .is_adapter_wide = plan.is_adapter_wide,
                              .is_chat_only = plan.is_chat_only,
                              .is_likely_unsent = plan.is_likely_unsent};
    if (plan.delay_ns == 0)
        answer(&waiting, ctx);
    else
        keep_waiting(fake, &waiting, ctx);
}

void fake_adapter_wake(void *state, struct sma_ctx *ctx)
{
    struct fake_adapter *fake = state;
    for (size_t i = 0; i < SMA_COUNT_OF(fake->waiting); i++) {
        if (!fake->waiting[i].is_used || fake->waiting[i].at_ns > sma_ctx_now(ctx))
            continue;
        fake->waiting[i].is_used = false;
        answer(&fake->waiting[i], ctx);
    }
    arm(fake, ctx);
}

/* -- events ------------------------------------------------------------------------------------ */
enum sma_err fake_adapter_inject(struct sma_ctx *ctx, const struct fake_event *event,
                                 uint64_t *ret_ask_id)
{
    char chat_key[SMA_CHAT_KEY_BYTES_MAX];
    snprintf(chat_key, sizeof chat_key, "%s:chat:%s", event->channel, event->chat);
    struct sma_ingress ingress = {.kind = SMA_EVENT_MESSAGE, .addressed = event->addressed};
    ingress.route = (struct sma_route){.adapter = (uint8_t)sma_ctx_self(ctx),
                                       .channel = sma_str(event->channel),
                                       .chat_key = sma_str(chat_key),
                                       .chat_id = sma_str(event->chat),
                                       .message_id = sma_str(event->id),
                                       .user_id = sma_str(event->user),
                                       .user_name = sma_str(event->user)};
    struct sma_str text = sma_str(event->text), id = sma_str(event->id);
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg =
        must(SMA_MSG_NEW(SMA_MSG_INGRESS, struct sma_ingress,
                         sma_route_space(&ingress.route) + text.len + id.len + 2));
    struct sma_ingress *body = SMA_MSG_BODY(msg, struct sma_ingress);
    *body = ingress;
    body->route = sma_route_dup(msg, &ingress.route);
    body->text = sma_msg_dup(msg, text);
    body->event_key = sma_msg_dup(msg, id);
    body->control = (uint8_t)sma_control_parse(text);
    if (body->control != SMA_CONTROL_NONE)
        body->kind = SMA_EVENT_CONTROL;
    body->wall_ms = sma_ctx_wall(ctx);
    body->stamps.read_ns = body->stamps.parsed_ns = sma_ctx_now(ctx);
    return sma_ctx_ask(ctx, SMA_ACTOR_STORE, &msg, 0, ret_ask_id);
}

static void take_accepted(struct fake_adapter *fake, const struct sma_msg *msg,
                          const struct sma_accepted *accepted)
{
    struct fake_accepted report = {.ask_id = msg->ask_id,
                                   .seq = accepted->seq,
                                   .verdict = accepted->verdict,
                                   .adapter = msg->to};
    if (fake->options.on_accepted != NULL)
        fake->options.on_accepted(fake->options.user, &report);
}

void fake_adapter_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct fake_adapter *fake = state;
    switch ((*msg)->kind) {
    case SMA_MSG_ATTEMPT:
        take_attempt(fake, *msg, SMA_MSG_BODY(*msg, struct sma_attempt), ctx);
        return;
    case SMA_MSG_ACCEPTED:
        take_accepted(fake, *msg, SMA_MSG_BODY(*msg, struct sma_accepted));
        return;
    case SMA_MSG_PROGRESS:
        fake->progress_count++;
        return;
    case SMA_MSG_LIFE:
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
        return;
    default:
        return;
    }
}

enum sma_err fake_adapter_render(const struct sma_deliver *row, sma_part_fn *each, void *user)
{
    struct sma_str rest = row->text;
    while (rest.len > 0) {
        const char *bar = memchr(rest.ptr, '|', rest.len);
        size_t len = bar == NULL ? rest.len : (size_t)(bar - rest.ptr);
        each(user, (struct sma_str){rest.ptr, len});
        len += bar == NULL ? 0 : 1;
        rest = (struct sma_str){rest.ptr + len, rest.len - len};
    }
    return SMA_ERR_OK;
}

static enum sma_err create(const struct sma_config *config, const struct sma_config_adapter *block,
                           void **ret_state, struct sma_error *error)
{
    (void)config;
    (void)block;
    (void)error;
    *ret_state = fake_adapter_create(&(struct fake_options){0});
    return SMA_ERR_OK;
}

static void destroy(void *state)
{
    fake_adapter_destroy(state);
}

const struct sma_actor_ops fake_adapter_actor_ops = {
    .name = "fake",
    .handle = fake_adapter_handle,
    .wake = fake_adapter_wake,
};
static bool is_file(struct sma_str part_bytes)
{
    return sma_str_starts_with(part_bytes, SMA_STR("{file"));
}

const struct sma_adapter_ops fake_adapter_ops = {
    .name = "fake",
    .channel = "fake",
    .actor = &fake_adapter_actor_ops,
    .renderer_version = 1,
    .create = create,
    .destroy = destroy,
    .render = fake_adapter_render,
    .is_file = is_file,
};
