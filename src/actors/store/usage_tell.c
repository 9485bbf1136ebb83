/* usage_tell.c — what was used, for people: /usage, and the sum of today for STATUS. */
#include "budget_priv.h"
#include "intake.h"
#include "people.h"
#include "runs.h"
#include "runs_priv.h"

#define TOP_COUNT 5

static enum sma_err take_sum(void *user, int64_t key, struct sma_str name,
                             const struct sma_usage *usage)
{
    (void)key;
    (void)name;
    *(struct sma_usage *)user = *usage;
    return SMA_ERR_OK;
}

static struct sma_usage sum_of(struct sma_store *store, int64_t from_day, uint32_t chat_id)
{
    struct sma_usage usage = {0};
    struct sma_state_usage_query query = {
        .by = SMA_STATE_USAGE_TOTAL, .from_day = from_day, .chat_id = chat_id, .row_max = 1};
    if (sma_state_each_usage(store->state, &query, take_sum, &usage) != SMA_ERR_OK)
        usage = (struct sma_usage){0};
    return usage;
}

/* "12 requests and 34567 tokens, about 0.1234 in cost" */
static void format_sum(enum sma_language language, const struct sma_usage *usage,
                       struct sma_buf *out)
{
    char requests[24], tokens[24], cost[32];
    uint64_t all = usage->input + usage->cached + usage->written + usage->output;
    snprintf(requests, sizeof requests, "%llu", (unsigned long long)usage->request_count);
    snprintf(tokens, sizeof tokens, "%llu", (unsigned long long)all);
    snprintf(cost, sizeof cost, "%.4f", (double)usage->cost_nano / 1e9);
    sma_notice_format(out, language, SMA_NOTICE_USAGE_SUM, requests, tokens);
    if (usage->cost_nano > 0)
        sma_notice_format(out, language, SMA_NOTICE_USAGE_COST, cost);
}

/* Whose: of a person, else of a chat, else of all. */
struct owner
{
    enum sma_notice notice; /* takes the sums of today and of this month */
    uint32_t chat_id;
    struct sma_str person;
};

static void put_sums(struct sma_store *store, struct sma_buf *text, enum sma_language language,
                     const struct owner *owner)
{
    const struct sma_local_day *day = sma_store_today(store);
    const int64_t from_days[2] = {day->day, day->month_first};
    struct sma_buf sums[2];
    for (size_t i = 0; i < SMA_COUNT_OF(sums); i++) {
        struct sma_usage usage = {0};
        sma_buf_init(&sums[i], 256);
        if (owner->person.len == 0)
            usage = sum_of(store, from_days[i], owner->chat_id);
        else if (sma_state_usage_of_person(store->state, from_days[i], owner->person, &usage) !=
                 SMA_ERR_OK)
            usage = (struct sma_usage){0};
        format_sum(language, &usage, &sums[i]);
    }
    sma_notice_format(text, language, owner->notice, sums[0].ptr, sums[1].ptr);
    for (size_t i = 0; i < SMA_COUNT_OF(sums); i++)
        sma_buf_fini(&sums[i]);
}

struct top
{
    struct sma_buf text;
    enum sma_language language;
};

static enum sma_err put_top(void *user, int64_t key, struct sma_str name,
                            const struct sma_usage *usage)
{
    struct top *top = user;
    (void)key;
    if (name.len == 0)
        return SMA_ERR_OK; /* of all whom the table had no room for */
    sma_buf_put_text(&top->text, top->text.len > 0 ? "; " : "");
    sma_buf_put_str(&top->text, name);
    sma_buf_put_text(&top->text, " ");
    format_sum(top->language, usage, &top->text);
    return SMA_ERR_OK;
}

static void put_most(struct sma_store *store, struct sma_buf *text, enum sma_language language)
{
    struct top top = {.language = language};
    struct sma_state_usage_query query = {.by = SMA_STATE_USAGE_BY_PERSON,
                                          .from_day = sma_store_today(store)->month_first,
                                          .row_max = TOP_COUNT};
    sma_buf_init(&top.text, 8192);
    if (sma_state_each_usage(store->state, &query, put_top, &top) == SMA_ERR_OK &&
        top.text.err == SMA_ERR_OK && top.text.len > 0) {
        sma_buf_put_char(text, '\n');
        sma_notice_format(text, language, SMA_NOTICE_USAGE_TOP, top.text.ptr);
    }
    sma_buf_fini(&top.text);
}

void sma_store_put_usage_notice(struct sma_store *store, struct sma_buf *text,
                                const struct store_chat *chat, const struct sma_ingress *in)
{
    char person[STORE_NAME_BYTES];
    enum sma_language language = sma_store_language(store, &in->route);
    /* In a group the others would read it, too. */
    bool is_whole =
        !in->is_group && sma_store_standing(store, chat, &in->route, false) >= SMA_STANDING_ADMIN;
    const struct owner own = {.notice = SMA_NOTICE_USAGE_OWN,
                              .person = sma_store_person_name(
                                  person, sizeof person, chat->state->channel, in->route.user_id)};
    put_sums(store, text, language,
             &(struct owner){.notice = SMA_NOTICE_USAGE, .chat_id = chat->id});
    sma_buf_put_char(text, '\n');
    put_sums(store, text, language, &own);
    if (is_whole) {
        sma_buf_put_char(text, '\n');
        put_sums(store, text, language, &(struct owner){.notice = SMA_NOTICE_USAGE_ALL});
        put_most(store, text, language);
    }
    sma_store_put_budgets_left(store, text, chat, in, is_whole);
}

void sma_store_put_usage_today(struct sma_store *store, struct sma_buf *json)
{
    const struct sma_usage usage = sum_of(store, sma_store_today(store)->day, 0);
    sma_buf_put_json_key(json, "usageToday");
    sma_buf_put_char(json, '{');
    sma_store_put_usage_members(json, &usage);
    sma_buf_put_char(json, '}');
}
