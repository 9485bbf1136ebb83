/* links.c — see links.h. */
#include "sma/links.h"

#include "sma/labels.h"
#include "sma/news.h"
#include "sma/text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

/* A platform's connection, or a model's target: then is_up says whether it answered last. */
struct link
{
    _Atomic bool is_known, is_up;
    _Atomic int64_t since_ms; /* of is_up; 0 = nothing was said */
    _Atomic int64_t event_ms; /* it brought an event; it answered */
    _Atomic int64_t until_ms; /* it is not asked before */
    _Atomic int64_t clock_ms; /* its dates against our clock; 0 = they agree */
    int64_t error_ms;         /* under the lock, like the text */
    size_t error_len;
    char error[SMA_LINK_ERROR_BYTES_MAX];
    char proxy[280]; /* likewise; "" = none */
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct link platforms[SMA_LABEL_COUNT_MAX], targets[SMA_LABEL_COUNT_MAX];

static void set(_Atomic int64_t *number, int64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

static int64_t get(const _Atomic int64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static bool is_up(const struct link *link)
{
    return atomic_load_explicit(&link->is_up, memory_order_relaxed);
}

static bool is_known(const struct link *link)
{
    return atomic_load_explicit(&link->is_known, memory_order_relaxed);
}

static void set_error(struct link *link, int64_t wall_ms, struct sma_str text)
{
    if (text.len == 0)
        return;
    pthread_mutex_lock(&lock);
    link->error_ms = wall_ms;
    link->error_len = sma_utf8_cut(text, sizeof link->error);
    memcpy(link->error, text.ptr, link->error_len);
    pthread_mutex_unlock(&lock);
    sma_news_ring();
}

/* @return whether that is new */
static bool set_state(struct link *link, bool state, int64_t wall_ms)
{
    atomic_store_explicit(&link->is_known, true, memory_order_relaxed);
    if (get(&link->since_ms) != 0 && is_up(link) == state)
        return false;
    atomic_store_explicit(&link->is_up, state, memory_order_relaxed);
    set(&link->since_ms, wall_ms);
    sma_news_ring();
    return true;
}

/* -- platforms --------------------------------------------------------------------------------- */
static unsigned place_of(const char *platform)
{
    return sma_label_place(SMA_LABEL_PLATFORM, sma_str(platform));
}

void sma_link_up(const char *platform, int64_t wall_ms)
{
    unsigned place = place_of(platform);
    if (set_state(&platforms[place], true, wall_ms))
        SMA_FAMILY_ADD(platform_connects_total, place, 0, 1);
    sma_family_set(SMA_FAMILY_platform_connected, place, 1);
}

void sma_link_down(const char *platform, int64_t wall_ms, struct sma_str text)
{
    unsigned place = place_of(platform);
    (void)set_state(&platforms[place], false, wall_ms);
    set_error(&platforms[place], wall_ms, text);
    sma_family_set(SMA_FAMILY_platform_connected, place, 0);
}

void sma_link_error(const char *platform, int64_t wall_ms, struct sma_str text)
{
    set_error(&platforms[place_of(platform)], wall_ms, text);
}

void sma_link_via(const char *platform, const char *proxy)
{
    struct link *link = &platforms[place_of(platform)];
    pthread_mutex_lock(&lock);
    (void)snprintf(link->proxy, sizeof link->proxy, "%s", proxy);
    pthread_mutex_unlock(&lock);
}

void sma_link_event(const char *platform, int64_t wall_ms)
{
    set(&platforms[place_of(platform)].event_ms, wall_ms);
}

void sma_link_clock(const char *platform, int64_t offset_ms)
{
    set(&platforms[place_of(platform)].clock_ms, offset_ms);
}

/* -- targets ----------------------------------------------------------------------------------- */
static struct link *target_of(struct sma_str key)
{
    struct link *link = &targets[sma_label_place(SMA_LABEL_MODEL, key)];
    atomic_store_explicit(&link->is_known, true, memory_order_relaxed);
    return link;
}

void sma_target_known(struct sma_str key)
{
    (void)target_of(key);
}

void sma_target_answered(struct sma_str key, int64_t wall_ms)
{
    struct link *link = target_of(key);
    (void)set_state(link, true, wall_ms);
    set(&link->event_ms, wall_ms);
    set(&link->until_ms, 0);
}

void sma_target_failed(struct sma_str key, int64_t wall_ms, int64_t until_ms, struct sma_str text)
{
    struct link *link = target_of(key);
    (void)set_state(link, false, wall_ms);
    set(&link->until_ms, until_ms);
    set_error(link, wall_ms, text);
}

/* -- showing ----------------------------------------------------------------------------------- */
static void put_time(struct sma_buf *json, const char *key, int64_t wall_ms)
{
    if (wall_ms == 0)
        return;
    sma_buf_put_json_key(json, key);
    sma_buf_put_char(json, '"');
    sma_buf_put_iso_time(json, wall_ms);
    sma_buf_put_char(json, '"');
}

static void put_proxy(struct sma_buf *json, const struct link *link)
{
    pthread_mutex_lock(&lock);
    if (link->proxy[0] != '\0')
        sma_buf_put_json_member(json, "proxy", sma_str(link->proxy));
    pthread_mutex_unlock(&lock);
}

static void put_error(struct sma_buf *json, const struct link *link)
{
    pthread_mutex_lock(&lock);
    if (link->error_len > 0) {
        sma_buf_put_json_key(json, "lastError");
        sma_buf_put_char(json, '{');
        put_time(json, "time", link->error_ms);
        sma_buf_put_json_member(json, "text", (struct sma_str){link->error, link->error_len});
        sma_buf_put_char(json, '}');
    }
    pthread_mutex_unlock(&lock);
}

static void open_link(struct sma_buf *json, enum sma_label_set set, unsigned place)
{
    if (json->len > 0 && json->ptr[json->len - 1] != '{')
        sma_buf_put_char(json, ',');
    sma_buf_put_json_string(json, sma_label_name(set, place));
    sma_buf_put_text(json, ":{");
}

void sma_links_format(struct sma_buf *json)
{
    sma_buf_put_char(json, '{');
    for (unsigned place = 0; place < SMA_LABEL_COUNT_MAX; place++) {
        const struct link *link = &platforms[place];
        if (!is_known(link))
            continue;
        open_link(json, SMA_LABEL_PLATFORM, place);
        sma_buf_put_text(json, is_up(link) ? "\"connected\":true" : "\"connected\":false");
        put_time(json, "since", get(&link->since_ms));
        put_time(json, "lastEventAt", get(&link->event_ms));
        if (get(&link->clock_ms) != 0) {
            sma_buf_put_json_key(json, "clockOffsetS");
            sma_buf_put_i64(json, get(&link->clock_ms) / 1000);
        }
        put_proxy(json, link);
        put_error(json, link);
        sma_buf_put_char(json, '}');
    }
    sma_buf_put_char(json, '}');
}

void sma_targets_format(struct sma_buf *json, int64_t wall_ms)
{
    sma_buf_put_char(json, '{');
    for (unsigned place = 0; place < SMA_LABEL_COUNT_MAX; place++) {
        const struct link *link = &targets[place];
        if (!is_known(link))
            continue;
        int64_t until_ms = get(&link->until_ms);
        bool is_cooled = until_ms > wall_ms;
        const char *state = get(&link->since_ms) == 0 ? "unused"
                            : is_cooled               ? "cooled"
                            : is_up(link)             ? "ok"
                                                      : "failing";
        open_link(json, SMA_LABEL_MODEL, place);
        sma_buf_put_json_member(json, "state", sma_str(state));
        if (is_cooled)
            put_time(json, "cooledUntil", until_ms);
        put_time(json, "lastAnswerAt", get(&link->event_ms));
        put_error(json, link);
        sma_buf_put_char(json, '}');
    }
    sma_buf_put_char(json, '}');
}

/* -- MCP servers ------------------------------------------------------------------------------- */
/* What one thread has written for others to show. What does not fit is not shown. */
struct shown
{
    char *room;
    size_t size, len;
};

static void put_shown(struct shown *shown, struct sma_str text)
{
    pthread_mutex_lock(&lock);
    shown->len = text.len <= shown->size ? text.len : 0;
    if (shown->len > 0)
        memcpy(shown->room, text.ptr, shown->len);
    pthread_mutex_unlock(&lock);
    sma_news_ring();
}

static void format_shown(const struct shown *shown, const char *without, struct sma_buf *buf)
{
    pthread_mutex_lock(&lock);
    if (shown->len > 0)
        sma_buf_put(buf, shown->room, shown->len);
    else
        sma_buf_put_text(buf, without);
    pthread_mutex_unlock(&lock);
}

static char servers_room[SMA_SERVERS_BYTES_MAX], prompts_room[SMA_PROMPTS_BYTES_MAX];
static struct shown servers = {servers_room, sizeof servers_room, 0},
                    prompts = {prompts_room, sizeof prompts_room, 0};

void sma_servers_put(struct sma_str json)
{
    put_shown(&servers, json);
}

void sma_servers_format(struct sma_buf *json)
{
    format_shown(&servers, "{}", json);
}

void sma_prompts_put(struct sma_str lines)
{
    put_shown(&prompts, lines);
}

void sma_prompts_format(struct sma_buf *lines)
{
    format_shown(&prompts, "", lines);
}

static void forget(struct link *link)
{
    atomic_store_explicit(&link->is_known, false, memory_order_relaxed);
    set(&link->since_ms, 0);
    set(&link->event_ms, 0);
    set(&link->until_ms, 0);
    set(&link->clock_ms, 0);
    pthread_mutex_lock(&lock);
    link->error_len = 0;
    link->proxy[0] = '\0';
    pthread_mutex_unlock(&lock);
}

void sma_links_reset(void)
{
    for (unsigned place = 0; place < SMA_LABEL_COUNT_MAX; place++) {
        forget(&platforms[place]);
        forget(&targets[place]);
    }
    sma_prompts_put((struct sma_str){0});
}
