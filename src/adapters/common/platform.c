/* platform.c — see platform.h. */
#include "platform.h"

#include "answers.h"

#include "runtime/access/access.h"
#include "runtime/json/json_arena.h"
#include "sma/beneath.h"
#include "sma/links.h"
#include "sma/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PLATFORM_MAGIC 0x504c4631u

static struct sma_platform *platform_of(const void *state)
{
    struct sma_platform *platform = (struct sma_platform *)(uintptr_t)state;
    SMA_ASSERT(platform->magic == PLATFORM_MAGIC);
    return platform;
}

/* -- keys that platforms share ---------------------------------------------------------------- */
struct platform_settings
{
    char *proxy;
    bool is_streaming_off;
};
static const struct sma_param ROWS[] = {
    {"id", .type = SMA_PARAM_TYPE_ANY, .words = SMA_BOT_ID_RULE,
     .doc =
         "of several bots: `adapters.<platform>` is a list then, and every bot but the first has "
         "one. Its chats are `<platform>@<id>:...`; the bot without an id keeps all that the "
         "project had before the list, and is the only one that variables such as "
         "`QQ_APP_ID` speak of. Two bots never have one `botToken` or `appId`"},
    {"proxy", .type = SMA_PARAM_TYPE_PROXY, SMA_PARAM_AT(struct platform_settings, proxy),
     .doc = "what this platform is reached through, else the top-level `proxy`; `http://` or "
            "`socks5h://` where it uses a "
            "WebSocket; `none` for none"},
    {"streaming", SMA_PARAM_WORD("auto,off", 0),
     SMA_PARAM_AT(struct platform_settings, is_streaming_off),
     .doc = "`auto`: an answer is seen while it is written (Telegram: everywhere; Feishu: typed "
            "into a card; QQ: in private chats); `off`: when it is whole"},
};
const struct sma_params sma_platform_params = {"", ROWS, SMA_COUNT_OF(ROWS), &sma_access_params};

static SMA_CHECKED enum sma_err refuse_proxy(const struct sma_platform *platform,
                                             struct sma_error *error)
{
    return sma_fail(error, SMA_ERR_BADINPUT,
                    "ship.json: the proxy of adapters.%s cannot be used: it must be http:// or "
                    "socks5h:// with a host and a port; set adapters.%s.proxy, or \"none\"",
                    platform->home.name, platform->home.name);
}

/* The proxy is its own, else the one of all. The texts may hold a password. */
static SMA_CHECKED enum sma_err read_shared(struct sma_platform *platform, const char *json,
                                            struct sma_error *error)
{
    struct platform_settings settings = {0};
    enum sma_err err = sma_params_read_block(&sma_platform_params, json,
                                             platform->config->project_dir, &settings, error);
    platform->is_streaming_off = settings.is_streaming_off;
    const char *text = settings.proxy;
    if (text == NULL || text[0] == '\0')
        text = platform->config->proxy == NULL ? "" : platform->config->proxy;
    if (err == SMA_ERR_OK && sma_proxy_parse(sma_str(text), &platform->proxy) != SMA_ERR_OK)
        err = refuse_proxy(platform, error);
    sma_params_free(&sma_platform_params, &settings);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err; /* no block: open() says so */
}

/* -- made and unmade --------------------------------------------------------------------------- */
void sma_platform_destroy(void *state)
{
    if (state == NULL)
        return;
    struct sma_platform *platform = platform_of(state);
    platform->ops->free(state);
    sma_intake_fini(&platform->intake);
    sma_webhooks_fini(&platform->webhooks);
    sma_sendings_fini(&platform->sendings);
    sma_streams_fini(&platform->streams);
    explicit_bzero(&platform->proxy, sizeof platform->proxy);
    if (platform->has_ca)
        close(platform->ca_fd);
    platform->magic = 0;
    free(state);
}

static SMA_CHECKED enum sma_err make_parts(struct sma_platform *platform)
{
    SMA_TRY(sma_intake_init(&platform->intake, platform));
    SMA_TRY(sma_webhooks_init(&platform->webhooks, platform));
    return sma_sendings_init(&platform->sendings, platform);
}

/* Rules over several keys speak of the platform: say of which bot. */
static void name_bot(const struct sma_platform *platform, struct sma_error *error)
{
    char text[sizeof error->text];
    if (strcmp(platform->home.name, platform->ops->name) == 0)
        return;
    memcpy(text, error->text, sizeof text);
    (void)sma_fail(error, SMA_ERR_BADINPUT, "%s: %.*s", platform->home.name,
                   (int)(sizeof text - SMA_BOT_NAME_BYTES_MAX - 3), text);
}

enum sma_err sma_platform_create(const struct sma_platform_ops *ops,
                                 const struct sma_config *config,
                                 const struct sma_config_adapter *block, void **ret_state,
                                 struct sma_error *error)
{
    SMA_ASSERT(ops->state_size >= sizeof(struct sma_platform));
    struct sma_platform *platform = calloc(1, ops->state_size);
    if (platform == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "%s adapter: out of memory", ops->name);
    sma_json_arena_install();
    platform->magic = PLATFORM_MAGIC;
    platform->ops = ops;
    platform->config = config;
    sma_home_init(&platform->home, ops->name, block == NULL ? NULL : block->name);
    const char *json = block == NULL || block->json == NULL ? "" : block->json;
    enum sma_err err = make_parts(platform);
    if (err == SMA_ERR_OK)
        err = read_shared(platform, json, error);
    if (err == SMA_ERR_OK)
        err = ops->open(platform, json, error);
    if (err == SMA_ERR_NOMEM)
        (void)sma_fail(error, err, "%s adapter: out of memory", ops->name);
    if (err == SMA_ERR_BADINPUT)
        name_bot(platform, error);
    if (err != SMA_ERR_OK) {
        sma_platform_destroy(platform);
        return err;
    }
    *ret_state = platform;
    return SMA_ERR_OK;
}

/* A limit that the core reads as "none" for a group means "as the chats": a limit nobody reaches
 * says it. */
void sma_platform_configure(const void *state, struct sma_capabilities *capabilities)
{
    struct sma_platform_facts facts = platform_of(state)->ops->facts(state);
    capabilities->adapter_per_second = facts.per_second;
    capabilities->chat_per_minute = facts.per_chat_minute;
    capabilities->group_per_minute =
        facts.per_group_minute == 0 ? UINT32_MAX : facts.per_group_minute;
}

bool sma_platform_takes_webhooks(const void *state)
{
    return platform_of(state)->ops->facts(state).takes_webhooks;
}

/* The authorities that are trusted. A file of the project is opened beneath it, once and through no
 * link: nobody else's file counts under its name. NULL = the system's. */
static SMA_CHECKED enum sma_err find_ca_file(struct sma_platform *platform, const char **ret_path,
                                             struct sma_error *error)
{
    const char *path = platform->ops->facts(platform).ca_file,
               *root = platform->config->project_dir;
    size_t len = strlen(root);
    *ret_path = path == NULL || path[0] == '\0' ? NULL : path;
    if (*ret_path == NULL || strncmp(path, root, len) != 0 || path[len] != '/')
        return SMA_ERR_OK;
    int fd = sma_open_in(root, path + len + 1, O_RDONLY);
    if (fd < 0 && errno != ELOOP && errno != EXDEV)
        return SMA_ERR_OK; /* whoever reads it says what is wrong */
    if (fd < 0) {
        (void)sma_fail(error, SMA_ERR_BADINPUT, "%s is, or lies behind, a symbolic link", path);
        return sma_params_refuse_ca_file(platform->home.name, error);
    }
    if (platform->has_ca)
        close(platform->ca_fd);
    platform->has_ca = true;
    platform->ca_fd = fd;
    (void)snprintf(platform->ca_path, sizeof platform->ca_path, "/proc/self/fd/%d", fd);
    *ret_path = platform->ca_path;
    return SMA_ERR_OK;
}

/* @return false: it was said why not */
static bool use_probing(struct sma_platform *platform, struct sma_probing *probing)
{
    struct sma_error error = {.text = ""};
    const char *path;
    enum sma_err err = find_ca_file(platform, &path, &error);
    if (err == SMA_ERR_OK)
        sma_probing_use(probing, &platform->proxy, path);
    else
        sma_probing_say(probing, SMA_PROBE_ERROR, "caFile", "put the file itself there", "%s",
                        error.text);
    return err == SMA_ERR_OK;
}

void sma_platform_probe(void *state, struct sma_probing *probing)
{
    struct sma_platform *platform = platform_of(state);
    if (!use_probing(platform, probing))
        return;
    platform->ops->probe(state, probing);
}

void sma_platform_find_owner(void *state, const char *code, struct sma_probing *probing)
{
    struct sma_platform *platform = platform_of(state);
    if (!use_probing(platform, probing))
        return;
    platform->ops->find_owner(state, code, probing);
}

/* -- life -------------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err open_ws(struct sma_platform *platform, const char *ca_file,
                                        struct sma_error *error)
{
    if (platform->proxy.kind == SMA_PROXY_OTHER)
        return refuse_proxy(platform, error);
    struct sma_ws_options options = {.ca_file = ca_file, .proxy = &platform->proxy};
    enum sma_err err = sma_ws_open(platform->ctx, &options, &platform->ws, error);
    return err == SMA_ERR_IO ? sma_params_refuse_ca_file(platform->home.name, error) : err;
}

static void on_stream_rested(void *state, uint64_t seq)
{
    sma_sendings_go_on(&platform_of(state)->sendings, seq);
}

static SMA_CHECKED enum sma_err open_streams(struct sma_platform *platform)
{
    struct sma_stream_home home = {.ctx = platform->ctx,
                                   .calls = platform->calls,
                                   .state = platform,
                                   .name = platform->home.name,
                                   .folder = platform->home.folder,
                                   .project_dir = platform->config->project_dir,
                                   .ops = platform->ops->stream,
                                   .rested = on_stream_rested};
    return sma_streams_open(&platform->streams, &home);
}

static SMA_CHECKED enum sma_err open_all(struct sma_platform *platform, struct sma_error *error)
{
    const struct sma_platform_ops *ops = platform->ops;
    struct sma_platform_facts facts = ops->facts(platform);
    const char *ca_file;
    SMA_TRY(find_ca_file(platform, &ca_file, error));
    SMA_TRY(sma_net_open(platform->ctx, &platform->net, error));
    sma_net_use_proxy(platform->net, &platform->proxy);
    sma_link_via(platform->home.name, platform->proxy.name);
    if (facts.has_websocket)
        SMA_TRY(open_ws(platform, ca_file, error));
    if (ca_file != NULL)
        SMA_TRY(sma_net_trust(platform->net, ca_file));
    struct sma_call_home home = {platform->ctx, platform->net, platform, &platform->health};
    platform->calls = sma_calls_create(&home, ops->call);
    if (platform->calls == NULL)
        return SMA_ERR_NOMEM;
    struct sma_fetch_home fetch_home = {platform->ctx, platform->config->project_dir,
                                        &platform->home, platform};
    platform->fetches = sma_fetches_create(&fetch_home, ops->fetch);
    if (platform->fetches == NULL)
        return SMA_ERR_NOMEM;
    sma_fetches_clean(platform->fetches);
    SMA_TRY(open_streams(platform));
    return ops->begin(platform, error);
}

enum sma_err sma_platform_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct sma_platform *platform = platform_of(state);
    platform->ctx = ctx;
    sma_adapter_health_init(&platform->health, ctx, platform->home.name);
    enum sma_err err = open_all(platform, error);
    if (err == SMA_ERR_NOMEM)
        (void)sma_fail(error, err, "%s adapter: out of memory", platform->ops->name);
    if (err != SMA_ERR_OK)
        sma_platform_stop(state, ctx);
    return err;
}

/* What is open now stays unanswered: nobody listens any more. */
static void close_all(struct sma_platform *platform)
{
    if (platform->is_closed)
        return;
    platform->is_closed = platform->is_intake_off = true;
    sma_fetches_close(platform->fetches);
    sma_sendings_drop(&platform->sendings);
    sma_streams_close(&platform->streams);
    platform->ops->close(platform);
    sma_intake_drop(&platform->intake);
    sma_ws_close(platform->ws);
    platform->ws = NULL;
    sma_net_close(platform->net);
    platform->net = NULL;
    sma_calls_close(platform->calls);
}

void sma_platform_stop(void *state, struct sma_ctx *ctx)
{
    struct sma_platform *platform = platform_of(state);
    (void)ctx;
    close_all(platform);
    sma_fetches_destroy(platform->fetches);
    platform->fetches = NULL;
    sma_calls_destroy(platform->calls);
    platform->calls = NULL;
}

void sma_platform_note_drained(struct sma_platform *platform)
{
    if (!platform->is_intake_off || platform->is_intake_told ||
        sma_intake_count(&platform->intake) > 0)
        return;
    platform->is_intake_told = true;
    if (platform->ops->drained != NULL)
        platform->ops->drained(platform);
    sma_ctx_life_done(platform->ctx, SMA_PHASE_INTAKE_OFF);
}

static void on_life(struct sma_platform *platform, const struct sma_life *life)
{
    if (life->phase == SMA_PHASE_INTAKE_OFF) {
        /* what was not confirmed comes again and is known by its claim */
        platform->is_intake_off = true;
        platform->ops->leave(platform);
        sma_platform_note_drained(platform);
        return;
    }
    if (life->phase == SMA_PHASE_CLOSE)
        close_all(platform);
    sma_ctx_life_done(platform->ctx, life->phase);
}

/* -- messages ---------------------------------------------------------------------------------- */
static void on_progress(struct sma_platform *platform, struct sma_msg **msg)
{
    if (platform->is_closed)
        return;
    sma_streams_take(&platform->streams, SMA_MSG_BODY(*msg, struct sma_progress));
    if (platform->ops->take_progress != NULL)
        platform->ops->take_progress(platform, msg);
}

static void on_query_result(struct sma_platform *platform, struct sma_msg *msg)
{
    if (platform->ops->take_cursor != NULL && !platform->is_closed)
        platform->ops->take_cursor(platform, msg->ask_id,
                                   SMA_MSG_BODY(msg, struct sma_query_result)->json);
}

void sma_platform_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct sma_platform *platform = platform_of(state);
    const char *name = platform->home.name;
    switch ((*msg)->kind) {
    case SMA_MSG_PROGRESS:
        on_progress(platform, msg);
        return;
    case SMA_MSG_PREPARE:
        sma_fetches_on_message(platform->fetches, msg);
        return;
    case SMA_MSG_ACCEPTED:
        sma_intake_on_accepted(&platform->intake, *msg);
        return;
    case SMA_MSG_WEBHOOK:
        sma_webhooks_on_request(&platform->webhooks, *msg);
        return;
    case SMA_MSG_ATTEMPT:
        sma_sendings_on_attempt(&platform->sendings, msg);
        return;
    case SMA_MSG_QUERY_RESULT:
        on_query_result(platform, *msg);
        return;
    case SMA_MSG_LIFE:
        on_life(platform, SMA_MSG_BODY(*msg, struct sma_life));
        return;
    case SMA_MSG_RELOAD:
        return; /* what is read at start only is named by who read the file again */
    default:
        sma_ctx_log(ctx, SMA_LOG_ERROR, "%s: unexpected message %s", name,
                    sma_msg_kind_name((*msg)->kind));
    }
}

/* Everything that waits for time says when; on a quiet platform nothing does but its heartbeat. */
void sma_platform_batch_end(void *state, struct sma_ctx *ctx)
{
    struct sma_platform *platform = platform_of(state);
    uint64_t next_ns = UINT64_MAX;
    if (!platform->is_closed) {
        uint64_t now_ns = sma_ctx_now(ctx);
        next_ns = platform->ops->tick(platform, now_ns);
        next_ns = sma_platform_earlier(next_ns, sma_streams_tick(&platform->streams, now_ns));
        next_ns = sma_platform_earlier(next_ns, sma_intake_tick(&platform->intake, now_ns));
        next_ns = sma_platform_earlier(next_ns, sma_calls_tick(platform->calls, now_ns));
        next_ns = sma_platform_earlier(next_ns, sma_fetches_tick(platform->fetches, now_ns));
    }
    sma_ctx_wake_at(ctx, next_ns);
}

void sma_platform_wake(void *state, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx; /* batch_end, which follows, looks at what is due */
}

/* -- for the platforms ------------------------------------------------------------------------- */
bool sma_platform_ask_cursor(struct sma_platform *platform, const char *name, uint64_t *ret_ask_id)
{
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg = sma_msg_make_query(
        &(struct sma_query){.kind = SMA_QUERY_CURSOR, .chat_key = sma_str(name)});
    if (msg == NULL)
        sma_ctx_fatal(platform->ctx, "out of memory");
    return sma_ctx_ask(platform->ctx, SMA_ACTOR_STORE, &msg, 0, ret_ask_id) == SMA_ERR_OK;
}

void sma_platform_log(const struct sma_platform *platform, enum sma_log_level level,
                      const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sma_ctx_log(platform->ctx, level, "%s: %s", platform->home.name, text);
}

void sma_platform_crash_point(const struct sma_platform *platform, const char *what)
{
    if (!__builtin_expect(sma_crash_is_armed, 0))
        return;
    char point[64];
    snprintf(point, sizeof point, "%s.%s", platform->ops->name, what);
    SMA_CRASH_POINT(point);
}
