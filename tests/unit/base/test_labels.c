/*
 * Aim: labelled numbers keep a bounded number of names, their text is what Prometheus reads, and
 * the state of connections and targets is told as it was said, by any thread.
 * Method: a strict reader of text format 0.0.4 of our own; threads that name and count at once.
 */
#include "sma/labels.h"
#include "sma/links.h"
#include "sma/metrics.h"
#include "support/check.h"
#include "support/prometheus.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>

CASE(numbers_of_names_are_prometheus_text)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_labels_reset();
    sma_buf_init(&buf, 1024 * 1024);
    unsigned model = sma_label_place(SMA_LABEL_MODEL, SMA_STR("chat a\"b\\c\nd"));
    SMA_FAMILY_ADD(model_calls_total, model, 3, 2);
    SMA_FAMILY_ADD(model_cost_total, model, 0, 1500000000);
    sma_family_set(SMA_FAMILY_platform_connected,
                   sma_label_place(SMA_LABEL_PLATFORM, SMA_STR("telegram")), 1);
    SMA_FAMILY_ADD(tool_calls_total, 0, 1, 1);
    sma_metrics_format(&buf);
    sma_labels_format(&buf);
    CHECK_OK(buf.err);
    is_prometheus_text(buf.ptr);
    CHECK(strstr(buf.ptr, "\nsma_model_calls_total{model=\"chat a\\\"b\\\\c\\nd\",outcome="
                          "\"transient\"} 2\n") != NULL);
    CHECK(strstr(buf.ptr, "outcome=\"setup\"} 0\n") != NULL);
    CHECK(strstr(buf.ptr, "\nsma_model_cost_total{model=\"chat a\\\"b\\\\c\\nd\"} 1.500000000\n"));
    CHECK(strstr(buf.ptr, "\nsma_platform_connected{platform=\"telegram\"} 1\n") != NULL);
    CHECK(strstr(buf.ptr, "\nsma_tool_calls_total{tool=\"other\",outcome=\"failed\"} 1\n") != NULL);
    CHECK(strstr(buf.ptr, "sma_platform_messages_total") == NULL);
}

CASE(names_are_bounded)
{
    sma_labels_reset();
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "tool-%d", i);
        unsigned place = sma_label_place(SMA_LABEL_TOOL, sma_str(name));
        CHECK_INT(i + 1 < SMA_LABEL_COUNT_MAX ? i + 1 : 0, (long long)place);
        SMA_FAMILY_ADD(tool_calls_total, place, 0, 1);
    }
    CHECK_INT(3, (long long)sma_label_place(SMA_LABEL_TOOL, SMA_STR("tool-2")));
    CHECK_INT(100 - SMA_LABEL_COUNT_MAX + 1,
              (long long)sma_family_get(SMA_FAMILY_tool_calls_total, 0, 0));
}

static void *name_and_count(void *argument)
{
    (void)argument;
    for (int i = 0; i < 2000; i++) {
        char name[32];
        snprintf(name, sizeof name, "m%d", i % 7);
        unsigned place = sma_label_place(SMA_LABEL_MODEL, sma_str(name));
        SMA_FAMILY_ADD(model_calls_total, place, 0, 1);
        sma_link_up("telegram", 1 + i);
        sma_link_down("telegram", 2 + i, SMA_STR("why"));
        sma_target_failed(sma_str(name), 1, 2, SMA_STR("no"));
        if (i % 500 == 0) {
            struct sma_buf buf;
            sma_buf_init(&buf, 1024 * 1024);
            sma_labels_format(&buf);
            sma_links_format(&buf);
            sma_targets_format(&buf, 3);
            sma_buf_fini(&buf);
        }
    }
    return NULL;
}

CASE(threads_agree_on_names)
{
    sma_labels_reset();
    sma_links_reset();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK_INT(0, pthread_create(&threads[i], NULL, name_and_count, NULL));
    for (int i = 0; i < 4; i++)
        CHECK_INT(0, pthread_join(threads[i], NULL));
    uint64_t sum = 0;
    for (int i = 0; i < 7; i++) {
        char name[32];
        snprintf(name, sizeof name, "m%d", i);
        unsigned place = sma_label_place(SMA_LABEL_MODEL, sma_str(name));
        CHECK(place >= 1 && place <= 7);
        sum += sma_family_get(SMA_FAMILY_model_calls_total, place, 0);
    }
    CHECK_INT(8000, (long long)sum);
}

/* -- states ------------------------------------------------------------------------------------ */
static json_t *shown(bool are_targets, int64_t wall_ms)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    if (are_targets)
        sma_targets_format(&buf, wall_ms);
    else
        sma_links_format(&buf);
    json_t *root = json_loadb(buf.ptr, buf.len, 0, NULL);
    CHECK(json_is_object(root));
    sma_buf_fini(&buf);
    return root;
}

static const char *text_of(const json_t *root, const char *name, const char *member)
{
    const char *text = json_string_value(json_object_get(json_object_get(root, name), member));
    return text == NULL ? "" : text;
}

CASE(a_connection_tells_since_when_it_stands)
{
    sma_labels_reset();
    sma_links_reset();
    sma_link_down("qq", 1000, SMA_STR(""));
    sma_link_up("telegram", 2000);
    sma_link_up("telegram", 5000); /* it stood already */
    sma_link_event("telegram", 6000);
    json_t *root = shown(false, 0);
    CHECK(json_is_true(json_object_get(json_object_get(root, "telegram"), "connected")));
    CHECK_TEXT("1970-01-01T00:00:02.000Z", text_of(root, "telegram", "since"));
    CHECK_TEXT("1970-01-01T00:00:06.000Z", text_of(root, "telegram", "lastEventAt"));
    CHECK(json_is_false(json_object_get(json_object_get(root, "qq"), "connected")));
    CHECK(json_object_get(json_object_get(root, "qq"), "lastError") == NULL);
    json_decref(root);
    sma_link_down("telegram", 7000, SMA_STR("the \"token\" is refused"));
    root = shown(false, 0);
    const json_t *error = json_object_get(json_object_get(root, "telegram"), "lastError");
    CHECK_TEXT("1970-01-01T00:00:07.000Z", text_of(root, "telegram", "since"));
    CHECK_TEXT("the \"token\" is refused", json_string_value(json_object_get(error, "text")));
    json_decref(root);
    CHECK_INT(1, (long long)sma_family_get(SMA_FAMILY_platform_connects_total,
                                           sma_label_place(SMA_LABEL_PLATFORM, SMA_STR("telegram")),
                                           0));
}

CASE(a_target_tells_until_when_it_is_not_asked)
{
    sma_labels_reset();
    sma_links_reset();
    sma_target_known(SMA_STR("a b c"));
    sma_target_answered(SMA_STR("d"), 1000);
    sma_target_failed(SMA_STR("e"), 1000, 9000, SMA_STR("no money"));
    json_t *root = shown(true, 5000);
    CHECK_TEXT("unused", text_of(root, "a b c", "state"));
    CHECK_TEXT("ok", text_of(root, "d", "state"));
    CHECK_TEXT("cooled", text_of(root, "e", "state"));
    CHECK_TEXT("1970-01-01T00:00:09.000Z", text_of(root, "e", "cooledUntil"));
    json_decref(root);
    root = shown(true, 9000);
    CHECK_TEXT("failing", text_of(root, "e", "state"));
    json_decref(root);
    sma_target_answered(SMA_STR("e"), 9500);
    root = shown(true, 9600);
    CHECK_TEXT("ok", text_of(root, "e", "state"));
    json_decref(root);
}

CASES_MAIN
