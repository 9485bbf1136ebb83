/*
 * feishu_look.c — what is asked for before a message's run, beside its files: the message that it
 * answers, the messages that it forwards, the name of who says it.
 *
 * One GET each. Quoted words stand in the context in JSON quotes: they are not the speaker's. Names
 * are kept for a day; without the right to see them the bot goes on as if there were none, and asks
 * again after an hour: each question holds up a message.
 */
#include "feishu_priv.h"

#include "feishu_code.h"

#include "runtime/text/attach.h"
#include "runtime/text/said.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>

#define FEISHU_PROFILE_BYTES_MAX 4096
#define TEXT_BYTES_MAX 8192     /* of one quoted message */
#define FORWARD_BYTES_MAX 32768 /* of all that are forwarded together */
#define FORWARD_COUNT_MAX 100
#define NAME_S 86400
#define NAMELESS_S 3600
#define SILENT_S 60 /* nobody is asked again so soon after no answer came */
#define MEMBER_PAGE "?member_id_type=open_id&page_size=100"

static uint64_t hash_of(struct sma_str id)
{
    uint64_t hash = 1469598103934665603u; /* FNV-1a: it only has to spread */
    for (size_t i = 0; i < id.len; i++)
        hash = (hash ^ (unsigned char)id.ptr[i]) * 1099511628211u;
    return hash | 1;
}

/* -- names ------------------------------------------------------------------------------------- */
/* A way is searched at a time, not the table: every event asks. */
static struct feishu_known_name *way_of(struct feishu *feishu, uint64_t hash)
{
    size_t ways = FEISHU_NAME_COUNT_MAX / FEISHU_NAME_WAY_COUNT;
    return &feishu->names[hash % ways * FEISHU_NAME_WAY_COUNT];
}

struct sma_str feishu_name_of(void *user, struct sma_str open_id)
{
    struct feishu *feishu = user;
    uint64_t hash = hash_of(open_id), now_ns = sma_ctx_now(feishu->ctx);
    const struct feishu_known_name *way = way_of(feishu, hash);
    for (size_t i = 0; i < FEISHU_NAME_WAY_COUNT; i++)
        if (way[i].hash == hash && way[i].until_ns > now_ns &&
            sma_str_is_equal(sma_str(way[i].open_id), open_id))
            return sma_str(way[i].name);
    return (struct sma_str){0};
}

static bool may_ask_names(const struct feishu *feishu)
{
    return feishu->names_refused_ns == 0 || sma_ctx_now(feishu->ctx) >= feishu->names_refused_ns;
}

struct feishu_event_options feishu_event_options_now(struct feishu *feishu, uint64_t read_ns)
{
    return (struct feishu_event_options){
        .home = &feishu->base.home,
        .bot_open_id = sma_str(feishu->identity.bot.open_id),
        .app_id = sma_str(feishu->settings.app_id),
        .adapter = (uint8_t)sma_ctx_self(feishu->ctx),
        .now_wall_ms = sma_ctx_wall(feishu->ctx),
        .read_ns = read_ns,
        .find_name = feishu_name_of,
        .user = feishu,
        .may_ask_names = may_ask_names(feishu),
    };
}

/* In the place of what is over soonest. An empty name: nobody tells one. */
static void remember(struct feishu *feishu, struct sma_str open_id, struct sma_str name,
                     uint64_t seconds)
{
    uint64_t hash = hash_of(open_id);
    struct feishu_known_name *way = way_of(feishu, hash), *known = way;
    if (open_id.len == 0 || open_id.len >= sizeof known->open_id)
        return;
    for (size_t i = 0; i < FEISHU_NAME_WAY_COUNT; i++) {
        if (sma_str_is_equal(sma_str(way[i].open_id), open_id)) {
            known = &way[i];
            break;
        }
        if (way[i].until_ns < known->until_ns)
            known = &way[i];
    }
    struct sma_buf label; /* one line: names are what people call themselves */
    sma_buf_init(&label, sizeof known->name - 1);
    sma_attach_put_label(&label, name, sizeof known->name - 1);
    snprintf(known->name, sizeof known->name, "%s",
             label.len > 0 && label.err == SMA_ERR_OK ? label.ptr : "");
    sma_buf_fini(&label);
    snprintf(known->open_id, sizeof known->open_id, "%.*s", (int)open_id.len, open_id.ptr);
    known->hash = hash;
    if (known->name[0] == '\0' && seconds > NAMELESS_S)
        seconds = NAMELESS_S;
    known->until_ns = sma_ctx_now(feishu->ctx) + seconds * SMA_NS_PER_S;
}

static void read_names(struct feishu *feishu, struct sma_str open_id, const json_t *data)
{
    const json_t *members = sma_json_get(data, "items"), *user = sma_json_get(data, "user");
    if (user != NULL)
        remember(feishu, open_id, sma_json_str(user, "name"), NAME_S);
    for (size_t i = 0; i < json_array_size(members); i++) {
        const json_t *member = json_array_get(members, i);
        remember(feishu, sma_json_str(member, "member_id"), sma_json_str(member, "name"), NAME_S);
    }
}

static void note_no_right(struct feishu *feishu, long long code)
{
    feishu->names_refused_ns = sma_ctx_now(feishu->ctx) + NAMELESS_S * SMA_NS_PER_S;
    sma_platform_log(&feishu->base, SMA_LOG_INFO,
                     "people have no names here (code %lld): the app may see neither the "
                     "members of groups (im:chat.members:read) nor its contacts "
                     "(contact:user.base:readonly)",
                     code);
}

/* Members of a group, or one person. */
static void on_names(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu *feishu = state;
    struct sma_fetch *fetch = user;
    struct sma_str open_id = sma_json_str(fetch->item->json, "user_id");
    struct feishu_reply reply = feishu_reply_read(answer);
    struct sma_answered outcome;
    bool has_answer = answer->end == SMA_NET_ANSWERED && reply.code >= 0;
    fetch->call = NULL;
    sma_verdict(&feishu_verdicts, NULL, answer, 0, &outcome);
    read_names(feishu, open_id, sma_json_get(reply.root, "data"));
    if ((outcome.mend & SMA_MEND_TELL_OWNER) != 0)
        note_no_right(feishu, (long long)reply.code);
    json_decref(reply.root);
    struct sma_str name = feishu_name_of(feishu, open_id);
    if (name.ptr == NULL)
        remember(feishu, open_id, name, has_answer ? NAMELESS_S : SILENT_S);
    if (name.len > 0)
        sma_fetch_name(fetch, name);
    sma_fetch_looked(fetch); /* without it the message is answered as before */
}

static void put_names_path(struct sma_buf *path, const struct sma_route *route,
                           struct sma_str open_id)
{
    bool is_private = sma_str_is_equal(route->chat_type, SMA_STR("p2p"));
    sma_buf_put_text(path, is_private ? "/open-apis/contact/v3/users/" : "/open-apis/im/v1/chats/");
    sma_buf_put_file_name(path, is_private ? open_id : route->chat_id);
    sma_buf_put_text(path, is_private ? "?user_id_type=open_id" : "/members" MEMBER_PAGE);
}

/* -- messages ---------------------------------------------------------------------------------- */
struct looking
{
    struct feishu *feishu;
    struct sma_fetch *fetch;
    struct sma_buf *out;
    size_t end; /* of the context; what would go beyond is left out */
};

static void put_sender(struct looking *looking, const struct feishu_item *item)
{
    struct sma_str name = feishu_name_of(looking->feishu, item->sender_id);
    sma_buf_put_text(looking->out, item->is_program ? "the app " : "");
    sma_buf_put_json_string(looking->out, name.len > 0 ? name : item->sender_id);
}

static void put_words(struct looking *looking, const struct feishu_item *item)
{
    struct sma_str text = item->text;
    text.len = sma_utf8_cut(text, TEXT_BYTES_MAX);
    if (text.len > 0) {
        sma_buf_put_text(looking->out, ": ");
        sma_buf_put_json_string(looking->out, text);
    }
    sma_buf_put_text(looking->out, text.len < item->text.len ? "… (cut)" : "");
}

/* Its files are fetched like those that are sent; the same message gives the same paths. */
static void take_files(struct looking *looking, const struct feishu_item *item)
{
    json_t *files = NULL;
    if (item->preparation.len == 0 || sma_json_load(item->preparation, &files) != SMA_ERR_OK)
        return;
    for (size_t i = 0; i < json_array_size(files); i++)
        (void)sma_fetch_more(looking->fetch, json_array_get(files, i)); /* the line names it */
    json_decref(files);
    sma_buf_put_char(looking->out, '\n');
    sma_buf_put_str(looking->out, item->lines);
}

static void on_quoted(void *user, const struct feishu_item *item)
{
    struct looking *looking = user;
    sma_buf_put_text(looking->out, looking->out->len > 0 ? "\n" : "");
    sma_buf_put_text(looking->out, "This message is a reply to ");
    if (item->is_ours) {
        sma_buf_put_text(looking->out, "your own message");
    } else {
        sma_buf_put_text(looking->out, "a message of ");
        put_sender(looking, item);
    }
    put_words(looking, item);
    if (!item->is_ours) /* what the bot sent itself it knows */
        take_files(looking, item);
}

static void on_forwarded(void *user, const struct feishu_item *item)
{
    struct looking *looking = user;
    if (looking->out->len > looking->end)
        return;
    sma_buf_put_text(looking->out, "\n- ");
    put_sender(looking, item);
    if (item->date_ms > 0) {
        sma_buf_put_text(looking->out, " at ");
        sma_buf_put_iso_time(looking->out, item->date_ms);
    }
    put_words(looking, item);
    if (item->lines.len > 0) /* the platform gives out no files of forwarded messages */
        sma_buf_put_text(looking->out, " (with a file that cannot be fetched)");
}

static void read_items(struct looking *looking, const json_t *items)
{
    struct feishu_event_options options = feishu_event_options_now(looking->feishu, 0);
    struct sma_str id = sma_json_str(looking->fetch->item->json, "message_id");
    bool is_forward = sma_str_is_equal(looking->fetch->item->kind, SMA_STR(FEISHU_LOOK_FORWARD));
    size_t count = json_array_size(items);
    /* a forward lists itself first, also where it is quoted */
    for (size_t i = 0; !is_forward && i < count; i++)
        if (sma_str_is_equal(sma_json_str(json_array_get(items, i), "message_id"), id))
            (void)!feishu_item_read(&options, json_array_get(items, i), on_quoted, looking);
    if (is_forward || count > 1)
        sma_buf_printf(looking->out,
                       "%sThe forwarded messages:", looking->out->len > 0 ? "\n" : "");
    for (size_t i = 0; i < count && i <= FORWARD_COUNT_MAX; i++) {
        const json_t *item = json_array_get(items, i);
        bool is_it = sma_str_is_equal(sma_json_str(item, "message_id"), id);
        if (!is_it) /* what cannot be read is left out: it was deleted */
            (void)!feishu_item_read(&options, item, on_forwarded, looking);
    }
    if (count > FORWARD_COUNT_MAX + 1)
        sma_buf_printf(looking->out, "\n(%zu more are left out)", count - FORWARD_COUNT_MAX - 1);
}

static void on_message(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu *feishu = state;
    struct sma_fetch *fetch = user;
    struct sma_buf *out = sma_fetch_context(fetch);
    struct looking looking = {feishu, fetch, out, out->len + FORWARD_BYTES_MAX};
    struct feishu_reply reply = feishu_reply_read(answer);
    const json_t *items = sma_json_get(sma_json_get(reply.root, "data"), "items");
    struct sma_answered outcome;
    fetch->call = NULL;
    if (answer->end == SMA_NET_ANSWERED && reply.code == 0 && json_array_size(items) > 0) {
        read_items(&looking, items);
        sma_fetch_looked(fetch);
    } else {
        sma_verdict(&feishu_verdicts, "the question for it", answer, SMA_WHEN_QUESTION, &outcome);
        const char *why = outcome.error;
        if ((outcome.mend & SMA_MEND_TELL_OWNER) != 0)
            feishu_tell_scope(feishu, why);
        if (outcome.attempt_class == SMA_ATTEMPT_GIVE_UP ||
            outcome.attempt_class == SMA_ATTEMPT_SENT)
            sma_fetch_fail(fetch, why);
        else
            sma_fetch_retry(fetch, why, 0);
    }
    json_decref(reply.root);
}

/* A topic's first message is shown with the first message that answers it, and again when others
 * were looked at since. */
static bool was_shown(struct feishu *feishu, struct sma_str message_id, uint64_t seq)
{
    uint64_t hash = hash_of(message_id);
    for (size_t i = 0; i < FEISHU_TOPIC_COUNT_MAX; i++)
        if (feishu->topics[i].hash == hash)
            return feishu->topics[i].seq != seq;
    feishu->topics[feishu->topic_next] = (struct feishu_topic){hash, seq};
    feishu->topic_next = (feishu->topic_next + 1) % FEISHU_TOPIC_COUNT_MAX;
    return false;
}

/* It is known by now, perhaps that there is none: nothing is to be asked. */
static bool put_known_name(struct feishu *feishu, struct sma_fetch *fetch)
{
    struct sma_str name = feishu_name_of(feishu, sma_json_str(fetch->item->json, "user_id"));
    if (name.len > 0)
        sma_fetch_name(fetch, name);
    return name.ptr != NULL || !may_ask_names(feishu);
}

void feishu_look_up(void *user, struct sma_fetch *fetch)
{
    struct feishu *feishu = user;
    const struct sma_file_item *item = fetch->item;
    struct sma_str message_id = sma_json_str(item->json, "message_id");
    bool is_name = sma_str_is_equal(item->kind, SMA_STR(FEISHU_LOOK_NAME));
    if ((is_name && put_known_name(feishu, fetch)) ||
        (json_is_true(sma_json_get(item->json, "is_first")) &&
         was_shown(feishu, message_id, sma_fetch_seq(fetch->job)))) {
        sma_fetch_looked(fetch);
        return;
    }
    struct sma_buf path;
    sma_buf_init(&path, 4096);
    if (is_name)
        put_names_path(&path, sma_fetch_route(fetch->job), sma_json_str(item->json, "user_id"));
    else
        feishu_put_message_path(&path, message_id);
    if (!is_name) /* else cards come as a stub that asks for a newer client */
        sma_buf_put_text(&path, "?card_msg_content_type=user_card_content");
    if (path.err == SMA_ERR_OK)
        fetch->call =
            sma_call_start(feishu->base.calls,
                           &(struct sma_call_options){.method = "GET",
                                                      .path = sma_buf_str(&path),
                                                      .may_repeat = true,
                                                      .total_ms = SMA_FETCH_LOOKUP_MS,
                                                      .answer_bytes_max = FEISHU_EVENT_BYTES_MAX,
                                                      .done = is_name ? on_names : on_message,
                                                      .user = fetch});
    sma_buf_fini(&path);
    if (fetch->call == NULL)
        sma_fetch_fail(fetch, "out of memory");
}

/* -- a person ---------------------------------------------------------------------------------- */
static void put_profile(struct sma_buf *buf, const json_t *user)
{
    static const char *const members[][2] = {
        {"en_name", "englishName"}, {"nickname", "nickname"}, {"job_title", "jobTitle"}};
    sma_buf_put_char(buf, '{');
    sma_said_put_member(buf, "name", sma_json_str(user, "name"));
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++)
        sma_said_put_given(buf, members[i][1], sma_json_str(user, members[i][0]));
    sma_buf_put_char(buf, '}');
}

static void on_profile(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu_reply reply = feishu_reply_read(answer);
    struct sma_answered outcome;
    struct sma_buf profile;
    char why[256];
    const json_t *person = sma_json_get(sma_json_get(reply.root, "data"), "user");
    sma_verdict(&feishu_verdicts, "the question for this person", answer, SMA_WHEN_QUESTION,
                &outcome);
    snprintf(why, sizeof why, "%s", outcome.error);
    if ((outcome.mend & SMA_MEND_TELL_OWNER) != 0)
        feishu_tell_scope(state, why);
    if ((outcome.mend & SMA_MEND_TELL_OWNER) != 0)
        snprintf(why, sizeof why,
                 "The app has no right to see its contacts (contact:user.base:readonly, code "
                 "%lld): the owner of the app can give it",
                 (long long)reply.code);
    else if (outcome.attempt_class == SMA_ATTEMPT_RETRY_AFTER)
        snprintf(why, sizeof why, "Too much is asked of the platform: try again in %u s",
                 outcome.retry_after_ms / 1000 + 1);
    sma_buf_init(&profile, FEISHU_PROFILE_BYTES_MAX);
    if (reply.code == 0 && sma_json_str(person, "name").len > 0)
        put_profile(&profile, person);
    bool is_good = profile.err == SMA_ERR_OK;
    if (reply.code == 0 && profile.len == 0)
        snprintf(why, sizeof why, "The platform names nobody with this id that the app may see");
    sma_fetch_profile(user, is_good ? sma_buf_str(&profile) : SMA_STR(""), why);
    sma_buf_fini(&profile);
    json_decref(reply.root);
}

struct sma_call *feishu_ask_profile(void *user, struct sma_fetch_job *job,
                                    const struct sma_route *route)
{
    struct feishu *feishu = user;
    struct sma_call *call = NULL;
    struct sma_buf path;
    sma_buf_init(&path, 4096);
    sma_buf_put_text(&path, "/open-apis/contact/v3/users/");
    sma_buf_put_file_name(&path, route->user_id);
    sma_buf_put_text(&path, "?user_id_type=open_id");
    if (path.err == SMA_ERR_OK && route->user_id.len > 0)
        call = sma_call_start(feishu->base.calls,
                              &(struct sma_call_options){.method = "GET",
                                                         .path = sma_buf_str(&path),
                                                         .may_repeat = true,
                                                         .total_ms = SMA_FETCH_LOOKUP_MS,
                                                         .done = on_profile,
                                                         .user = job});
    sma_buf_fini(&path);
    return call;
}
