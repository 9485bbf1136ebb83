/*
 * Aim: what status shows of a platform is what is to be mended first, each cause until its own part
 * heals it. Method: health.h over a simulated clock; the lines as /api/status prints them.
 */
#include "adapters/common/platform_health.h"

#include "sma/links.h"
#include "sma/sim.h"
#include "support/check.h"

static struct sma_system *sys;
static struct sma_adapter_health health;

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    (void)msg;
    (void)ctx;
}

static void open_world(void)
{
    static const struct sma_actor_ops ops = {.name = "platform", .handle = handle};
    sys = sma_system_create(&(struct sma_system_options){.is_simulated = true, .seed = 1});
    CHECK_OK(sma_system_add(sys, SMA_ACTOR_ADAPTER_0, &ops, NULL));
    CHECK_OK(sma_system_start(sys, NULL));
    sma_links_reset();
    sma_adapter_health_init(&health, sma_system_ctx(sys, SMA_ACTOR_ADAPTER_0), "platform");
}

static void close_world(void)
{
    sma_system_destroy(sys);
}

static void check_shown(const char *json)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 4096);
    sma_health_format(&buf);
    CHECK_TEXT(json, buf.ptr);
    sma_buf_fini(&buf);
}

static void check_link(const char *words)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 4096);
    sma_buf_put_char(&buf, '{');
    sma_links_format(&buf);
    CHECK(strstr(buf.ptr, words) != NULL);
    sma_buf_fini(&buf);
}

static void the_first_cause_is_shown_and_each_heals_alone(void)
{
    open_world();
    check_shown("{}");
    CHECK(sma_adapter_health_set(&health, SMA_CAUSE_RIGHTS, "may not send"));
    check_shown("{\"platform\":\"may not send\"}");
    CHECK(sma_adapter_health_set(&health, SMA_CAUSE_LOGIN, "wrong secret"));
    CHECK(!sma_adapter_health_set(&health, SMA_CAUSE_LOGIN, "wrong secret")); /* said already */
    check_shown("{\"platform\":\"wrong secret\"}");
    CHECK_INT(1, (long long)sma_health_count());
    sma_adapter_health_heal(&health, SMA_CAUSE_LOGIN);
    check_shown("{\"platform\":\"may not send\"}");
    sma_adapter_health_heal(&health, SMA_CAUSE_RIGHTS);
    check_shown("{}");
    CHECK_INT(0, (long long)sma_health_count());
    close_world();
}

static void a_connection_that_stays_down_shows_until_it_stands(void)
{
    open_world();
    sma_adapter_health_up(&health);
    check_link("\"connected\":true");
    sma_adapter_health_down(&health, "connection refused");
    check_link("\"connected\":false");
    check_shown("{}"); /* most losses mend themselves */
    sma_sim_advance(sys, (SMA_ADAPTER_PATIENCE_S - 1) * SMA_NS_PER_S);
    sma_adapter_health_down(&health, "connection refused");
    check_shown("{}");
    sma_sim_advance(sys, 61 * SMA_NS_PER_S);
    sma_adapter_health_down(&health, "connection refused");
    check_shown("{\"platform\":\"no connection for 2 minutes: connection refused\"}");
    sma_adapter_health_up(&health);
    check_shown("{}");
    sma_adapter_health_down(&health, "connection refused"); /* counts anew */
    check_shown("{}");
    close_world();
}

static void a_refused_connection_heals_when_it_stands(void)
{
    open_world();
    CHECK(sma_adapter_health_set(&health, SMA_CAUSE_LINK, "too many connections"));
    check_shown("{\"platform\":\"too many connections\"}");
    sma_adapter_health_up(&health);
    check_shown("{}");
    close_world();
}

static void a_long_line_is_cut_between_characters(void)
{
    char text[SMA_HEALTH_BYTES_MAX + 8];
    memset(text, 'x', sizeof text);
    memcpy(text + SMA_HEALTH_BYTES_MAX - 2, "\xe4\xb8\xad", 4);
    open_world();
    CHECK(sma_adapter_health_set(&health, SMA_CAUSE_BOT, text));
    CHECK_INT(SMA_HEALTH_BYTES_MAX - 2, (long long)strlen(health.texts[SMA_CAUSE_BOT]));
    close_world();
}

int main(void)
{
    RUN(the_first_cause_is_shown_and_each_heals_alone);
    RUN(a_connection_that_stays_down_shows_until_it_stands);
    RUN(a_refused_connection_heals_when_it_stands);
    RUN(a_long_line_is_cut_between_characters);
    return check_summary();
}
