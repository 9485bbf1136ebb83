/* chats.c — what holds in a chat, and what models there are. See include/sma/chats.h. */
#include "sma/chats.h"

#include "sma/bot.h"
#include "sma/buf.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <stdio.h>

#define LABEL_BYTES_MAX 512
#define FORM_COUNT 4 /* of one name of the bot */
#define FORM_BYTES_MAX (SMA_CHAT_KEY_BYTES_MAX + 16)

/* -- forms of a key ---------------------------------------------------------------------------- */
/* A chat's key in all its forms: first those of exactly this place, then those of the whole. Of a
 * further bot they come once more, as if it were the platform's only one. */
struct forms
{
    struct sma_str list[2 * FORM_COUNT];
    size_t count;
    char rooms[4][FORM_BYTES_MAX]; /* of the forms that name the kind */
    char key[FORM_BYTES_MAX];      /* without the bot's id */
};

static struct sma_str without_topic(struct sma_str key)
{
    const char *topic = memmem(key.ptr, key.len, ":topic:", 7);
    return topic == NULL ? key : (struct sma_str){key.ptr, (size_t)(topic - key.ptr)};
}

/* "telegram:chat:-1" as "telegram:group:-1" */
static struct sma_str put_kind(struct sma_str key, bool is_group, char room[FORM_BYTES_MAX])
{
    const char *first = memchr(key.ptr, ':', key.len);
    const char *second =
        first == NULL ? NULL : memchr(first + 1, ':', key.len - (size_t)(first + 1 - key.ptr));
    if (second == NULL || key.len > SMA_CHAT_KEY_BYTES_MAX)
        return key;
    int len = snprintf(room, FORM_BYTES_MAX, "%.*s:%s%.*s", (int)(first - key.ptr), key.ptr,
                       is_group ? "group" : "private", (int)(key.ptr + key.len - second), second);
    return (struct sma_str){room, (size_t)len};
}

static void add_forms(struct forms *forms, struct sma_str key, bool is_group)
{
    struct sma_str base = without_topic(key), *list = &forms->list[forms->count];
    char(*rooms)[FORM_BYTES_MAX] = &forms->rooms[forms->count / 2];
    list[0] = key;
    list[1] = put_kind(key, is_group, rooms[0]);
    list[2] = base;
    list[3] = put_kind(base, is_group, rooms[1]);
    forms->count += FORM_COUNT;
}

/* "telegram@support:chat:1" as "telegram:chat:1" */
static struct sma_str without_bot(struct sma_str key, char room[FORM_BYTES_MAX])
{
    const char *colon = memchr(key.ptr, ':', key.len);
    struct sma_str name = {key.ptr, colon == NULL ? 0 : (size_t)(colon - key.ptr)};
    struct sma_str platform = sma_bot_platform(name);
    if (platform.len == name.len || key.len > SMA_CHAT_KEY_BYTES_MAX)
        return key;
    int len = snprintf(room, FORM_BYTES_MAX, "%.*s%.*s", (int)platform.len, platform.ptr,
                       (int)(key.len - name.len), colon);
    return (struct sma_str){room, (size_t)len};
}

static void make_forms(struct forms *forms, struct sma_str key, bool is_group)
{
    forms->count = 0;
    add_forms(forms, key, is_group);
    struct sma_str general = without_bot(key, forms->key);
    if (general.len != key.len)
        add_forms(forms, general, is_group);
}

/* -- patterns ---------------------------------------------------------------------------------- */
/* `*` is any bytes. Each star is tried once at its last place: no pattern takes long. */
static bool fits(const char *pattern, struct sma_str text)
{
    const char *star = NULL;
    size_t at = 0, mark = 0;
    while (at < text.len) {
        if (*pattern == '*') {
            star = pattern++;
            mark = at;
        } else if (*pattern == text.ptr[at] && *pattern != '\0') {
            pattern++;
            at++;
        } else if (star != NULL) {
            pattern = star + 1;
            at = ++mark;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

enum rank
{
    RANK_NONE,
    RANK_EVERYWHERE,
    RANK_PLATFORM,
    RANK_BOT,
    RANK_PATTERN,           /* and the number of bytes that are no star */
    RANK_CHAT = UINT16_MAX, /* patterns are shorter; + 1: of the bot that it names */
    RANK_TOPIC = RANK_CHAT + 2,
};

static bool is_of_platform(const char *pattern, struct sma_str key)
{
    size_t len = strlen(pattern);
    return key.len > len && key.ptr[len] == ':' && memcmp(key.ptr, pattern, len) == 0;
}

static unsigned rank_of(const char *pattern, const struct forms *forms)
{
    unsigned plain = 0;
    for (const char *at = pattern; *at != '\0'; at++)
        plain += *at != '*';
    if (plain == 0)
        return RANK_EVERYWHERE;
    for (size_t i = 0; i < forms->count; i++) {
        unsigned is_own = i < FORM_COUNT;
        if (strchr(pattern, ':') == NULL && is_of_platform(pattern, forms->list[i]))
            return is_own ? RANK_BOT : RANK_PLATFORM;
        if (!fits(pattern, forms->list[i]))
            continue;
        if (strchr(pattern, '*') != NULL)
            return RANK_PATTERN + plain;
        return (i % FORM_COUNT < 2 ? RANK_TOPIC : RANK_CHAT) + is_own;
    }
    return RANK_NONE;
}

/* One member: the best entry so far that says it. */
struct choice
{
    const struct sma_chat_rule **best;
    unsigned rank;
};

static void consider(struct choice *choice, const struct sma_chat_rule *rule, unsigned rank,
                     bool says_it)
{
    bool is_better = rank > choice->rank || (rank == choice->rank && *choice->best != NULL &&
                                             strcmp(rule->pattern, (*choice->best)->pattern) < 0);
    if (!says_it || !is_better)
        return;
    *choice->best = rule;
    choice->rank = rank;
}

struct sma_chat_rules sma_chat_rules_find(const struct sma_config *config, struct sma_str chat_key,
                                          bool is_group)
{
    struct sma_chat_rules found = {0};
    if (config->chat_count == 0 || chat_key.len == 0)
        return found;
    struct forms forms;
    make_forms(&forms, chat_key, is_group);
    struct choice model = {&found.model, 0}, prompt = {&found.prompt, 0}, tools = {&found.tools, 0},
                  access = {&found.access, 0}, choice = {&found.choice, 0};
    for (size_t i = 0; i < config->chat_count; i++) {
        const struct sma_chat_rule *rule = &config->chats[i];
        unsigned rank = rank_of(rule->pattern, &forms);
        if (rank == RANK_NONE)
            continue;
        consider(&model, rule, rank, rule->model != NULL);
        consider(&prompt, rule, rank, rule->prompt != NULL || rule->agent_md != NULL);
        consider(&tools, rule, rank, rule->says_tools);
        consider(&access, rule, rank, rule->access_json != NULL);
        consider(&choice, rule, rank, rule->says_choice);
    }
    return found;
}

bool sma_chat_pattern_fits(const char *pattern, struct sma_str chat_key, bool is_group)
{
    struct forms forms;
    make_forms(&forms, chat_key, is_group);
    return rank_of(pattern, &forms) != RANK_NONE;
}

bool sma_chat_type_is_group(struct sma_str chat_type)
{
    static const char *const groups[] = {"group", "supergroup",  "channel", "guild",
                                         "topic", "topic_group", "room"};
    for (size_t i = 0; i < SMA_COUNT_OF(groups); i++)
        if (sma_str_is_equal_nocase(chat_type, sma_str(groups[i])))
            return true;
    return false;
}

/* -- models ------------------------------------------------------------------------------------ */
size_t sma_models_count(const struct sma_config *config)
{
    return config->model_count > 0        ? config->model_count
           : config->llm_target_count > 0 ? config->llm_target_count
                                          : 1;
}

const struct sma_config_llm *sma_models_get(const struct sma_config *config, size_t index)
{
    return config->model_count > 0        ? config->models[index]
           : config->llm_target_count > 0 ? config->llm_targets[index]
                                          : &config->llm;
}

static void put_long_label(struct sma_buf *buf, const struct sma_config_llm *llm)
{
    sma_buf_put_text(buf, llm->provider == NULL ? "" : llm->provider);
    sma_buf_put_char(buf, '/');
    sma_buf_put_text(buf, llm->model == NULL ? "" : llm->model);
}

void sma_model_put_label(struct sma_buf *buf, const struct sma_config_llm *llm)
{
    if (llm->name != NULL && llm->name[0] != '\0')
        sma_buf_put_text(buf, llm->name);
    else
        put_long_label(buf, llm);
}

static bool is_called(const struct sma_config_llm *llm, struct sma_str name)
{
    struct sma_buf label;
    sma_buf_init(&label, LABEL_BYTES_MAX);
    sma_model_put_label(&label, llm);
    bool is_it = label.err == SMA_ERR_OK && sma_str_is_equal_nocase(sma_buf_str(&label), name);
    sma_buf_clear(&label);
    put_long_label(&label, llm);
    is_it =
        is_it || (label.err == SMA_ERR_OK && sma_str_is_equal_nocase(sma_buf_str(&label), name));
    sma_buf_fini(&label);
    return is_it;
}

size_t sma_models_find(const struct sma_config *config, struct sma_str name)
{
    size_t count = sma_models_count(config), found = count;
    for (size_t i = 0; i < count; i++)
        if (is_called(sma_models_get(config, i), name))
            return i;
    for (size_t i = 0; i < count; i++) {
        const char *model = sma_models_get(config, i)->model;
        if (model == NULL || !sma_str_is_equal_nocase(sma_str(model), name))
            continue;
        if (found < count)
            return count; /* of two providers */
        found = i;
    }
    return found;
}

size_t sma_models_nearest(const struct sma_config *config, struct sma_str name)
{
    size_t count = sma_models_count(config), nearest = count;
    unsigned best = name.len / 2 < 6 ? (unsigned)(name.len / 2) + 1 : 7;
    struct sma_buf label;
    sma_buf_init(&label, LABEL_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct sma_config_llm *llm = sma_models_get(config, i);
        sma_buf_clear(&label);
        sma_model_put_label(&label, llm);
        struct sma_str names[] = {sma_buf_str(&label),
                                  sma_str(llm->model == NULL ? "" : llm->model)};
        for (size_t k = 0; k < SMA_COUNT_OF(names); k++) {
            unsigned distance = sma_text_distance(names[k], name);
            if (distance >= best)
                continue;
            best = distance;
            nearest = i;
        }
    }
    sma_buf_fini(&label);
    return nearest;
}
