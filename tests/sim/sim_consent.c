/* sim_consent.c — the rules of the tools, and people who decide what they ask; see sim.h. */
#include "sim.h"

#include "actors/store/consent_priv.h"
enum rule
{
    RULE_ALLOWED,
    RULE_REFUSED,
    RULE_ASKED,
};

/* The number between '#' in what is passed on ("hi #12#"); 0: there is none. */
static uint32_t find_number(struct sma_str text)
{
    const char *mark = text.len == 0 ? NULL : memchr(text.ptr, '#', text.len);
    uint32_t number = 0;
    for (const char *at = mark == NULL ? NULL : mark + 1;
         at != NULL && at < text.ptr + text.len && *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (uint32_t)(*at - '0');
    return number <= EVENT_COUNT_MAX ? number : 0;
}

/* The same for one message in every life. */
static enum rule rule_of(const struct world *world, uint32_t number)
{
    static const enum rule rules[] = {RULE_ASKED, RULE_ALLOWED, RULE_ASKED, RULE_REFUSED};
    return world->has_consent ? rules[number % SMA_COUNT_OF(rules)] : RULE_ALLOWED;
}

void consent_rule(void *user, const struct sma_tool_ask *ask, struct fake_tool_plan *plan)
{
    struct world *world = user;
    if (ask->mode == SMA_TOOL_RUN)
        complain(world, "%.*s was to be carried out by the tools", (int)ask->name.len,
                 ask->name.ptr);
    uint32_t number = find_number(ask->arguments);
    enum rule rule = rule_of(world, number);
    world->asked_seqs[number] = ask->seq;
    plan->verdict = rule == RULE_ASKED     ? SMA_TOOL_ASKS
                    : rule == RULE_REFUSED ? SMA_TOOL_REFUSED
                                           : SMA_TOOL_ALLOWED;
    if (world->has_consent && draw(&world->chance, 4) == 0)
        plan->delay_ns = draw(&world->chance, 3000) * MS;
}

/* -- people ------------------------------------------------------------------------------------ */
static uint32_t number_of_run(const struct world *world, uint64_t seq)
{
    for (uint32_t i = 1; i <= EVENT_COUNT_MAX; i++)
        if (world->asked_seqs[i] == seq)
            return i;
    return 0;
}

static const struct store_approval *draw_approval(struct world *world)
{
    uint64_t count = 0;
    for (const struct store_approval *at = world->store->consent->first; at != NULL; at = at->next)
        count++;
    uint64_t skip = count == 0 ? 0 : draw(&world->chance, count);
    const struct store_approval *at = world->store->consent->first;
    for (; skip > 0; skip--)
        at = at->next;
    return at;
}

bool consent_decide(struct world *world)
{
    const struct store_approval *approval = draw_approval(world);
    if (approval == NULL || world->decide_ask_id != 0)
        return false;
    unsigned platform = (unsigned)draw(&world->chance, PLATFORM_COUNT);
    struct sma_ctx *ctx = sma_system_ctx(world->system, world->adapters[platform].actor);
    const struct sma_route route = {.adapter = (uint8_t)sma_ctx_self(ctx),
                                    .channel = sma_str(world_channel(world, platform)),
                                    .user_id = SMA_STR("u0"), /* an owner */
                                    .user_name = SMA_STR("u0")};
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_DECIDE, struct sma_decide, sma_route_space(&route) + 128);
    SMA_ASSERT(msg != NULL);
    struct sma_decide *decide = SMA_MSG_BODY(msg, struct sma_decide);
    *decide = (struct sma_decide){.kind = SMA_DECIDE_APPROVAL,
                                  .route = sma_route_dup(msg, &route),
                                  .id = sma_msg_dup(msg, sma_str(approval->id)),
                                  .is_approved = draw(&world->chance, 3) > 0};
    uint32_t number = number_of_run(world, approval->seq);
    if (number == 0)
        complain(world, "approval %s asks for a run that asked nothing", approval->id);
    if (decide->is_approved) {
        world->consents[number] =
            CONSENT_APPROVED; /* counts from now on, whatever is heard of it */
        world->approved_count++;
    } else {
        world->declined_count++;
    }
    if (sma_ctx_ask(ctx, SMA_ACTOR_STORE, &msg, 0, &world->decide_ask_id) != SMA_ERR_OK)
        world->decide_ask_id = 0; /* the edge is full: he tries again */
    world->decide_platform = (uint8_t)platform;
    sma_msg_destroy(msg);
    return true;
}

void consent_take(struct world *world, unsigned platform, const struct sma_msg *msg)
{
    if (platform != world->decide_platform || msg->ask_id != world->decide_ask_id)
        complain(world, "a decision was answered that nobody has made");
    world->decide_ask_id = 0;
}

void consent_forget(struct world *world)
{
    world->decide_ask_id = 0;
}

/* -- judge ------------------------------------------------------------------------------------- */
void consent_check_shown(struct world *world, struct sma_str text)
{
    if (!sma_str_starts_with(text, SMA_STR("hi #")))
        return; /* an answer, not what was passed on */
    uint32_t number = find_number(text);
    enum rule rule = rule_of(world, number);
    if (rule == RULE_REFUSED)
        complain(world, "%.*s was refused and is shown", (int)text.len, text.ptr);
    if (rule == RULE_ASKED && world->consents[number] != CONSENT_APPROVED)
        complain(world, "%.*s is shown and nobody has agreed", (int)text.len, text.ptr);
}
