/* Aim: a request comes out as it went in, whatever was put into it; and nothing malformed is taken
 * for one. */
#include "runtime/approval/request.h"
#include "support/check.h"

static struct sma_request_item sample(void)
{
    struct sma_request_item item = {
        .call = 3,
        .type = SMA_STR("exec_shell"),
        .tool = SMA_STR("exec_shell"),
        .title = SMA_STR("echo \"hello\"\n\x01 \xe4\xbd\xa0"),
        .input_json = SMA_STR("{\"command\": \"echo\\u0000 \\ud83d\\ude00\",\"n\":1.50}"),
        .details_json = SMA_STR("{\"command\":\"echo\"}"),
        .diff = SMA_STR("--- a\n+++ b\n"),
        .rule = SMA_STR("git *"),
        .program = SMA_STR("git"),
        .reason = SMA_STR("asks"),
        .grant_rule = SMA_STR("git status"),
        .is_admin_only = true,
        .is_owner_only = true,
    };
    for (size_t i = 0; i < sizeof item.digest; i++)
        item.digest[i] = (uint8_t)(i * 37);
    return item;
}

static void check_equal(const struct sma_request_item *a, const struct sma_request_item *b)
{
    CHECK(sma_str_is_equal(a->type, b->type));
    CHECK(sma_str_is_equal(a->tool, b->tool));
    CHECK(sma_str_is_equal(a->title, b->title));
    CHECK(sma_str_is_equal(a->input_json, b->input_json));
    CHECK(sma_str_is_equal(a->details_json, b->details_json));
    CHECK(sma_str_is_equal(a->diff, b->diff));
    CHECK(sma_str_is_equal(a->rule, b->rule));
    CHECK(sma_str_is_equal(a->program, b->program));
    CHECK(sma_str_is_equal(a->reason, b->reason));
    CHECK(sma_str_is_equal(a->grant_rule, b->grant_rule));
    CHECK(sma_str_is_equal(a->program_rule, b->program_rule));
    CHECK(memcmp(a->digest, b->digest, sizeof a->digest) == 0);
    CHECK_INT(a->is_admin_only, b->is_admin_only);
    CHECK_INT(a->is_owner_only, b->is_owner_only);
}

CASE(items_come_out_as_they_went_in)
{
    struct sma_request_item one = sample(), two = sample();
    two.title = SMA_STR("");
    two.program_rule = SMA_STR("git status");
    two.is_admin_only = two.is_owner_only = false;
    two.digest[0] = 255;
    struct sma_buf items[2], whole;
    sma_buf_init(&items[0], 10000);
    sma_buf_init(&items[1], 10000);
    sma_buf_init(&whole, 30000);
    sma_request_put_item(&items[0], &one);
    sma_request_put_item(&items[1], &two);
    struct sma_str jsons[] = {sma_buf_str(&items[0]), sma_buf_str(&items[1])};
    CHECK_OK(sma_request_put(&whole, jsons, (uint32_t[]){5, 31}, 2));

    struct sma_request request;
    CHECK_OK(sma_request_parse(sma_buf_str(&whole), &request));
    CHECK_INT(2, request.item_count);
    CHECK_INT(5, request.items[0].call);
    CHECK_INT(31, request.items[1].call);
    check_equal(&one, &request.items[0]);
    check_equal(&two, &request.items[1]);
    sma_request_fini(&request);
    sma_request_fini(&request);

    CHECK_ERR(SMA_ERR_BADINPUT, sma_request_put(&whole, jsons, (uint32_t[]){5, 5}, 2));
    CHECK_ERR(SMA_ERR_BADINPUT, sma_request_put(&whole, jsons, (uint32_t[]){5, 32}, 2));
    CHECK_ERR(SMA_ERR_BADINPUT, sma_request_put(&whole, jsons, (uint32_t[]){5}, 0));
    jsons[1] = SMA_STR("{\"call\":1}");
    CHECK_ERR(SMA_ERR_BADINPUT, sma_request_put(&whole, jsons, (uint32_t[]){5, 6}, 2));
    struct sma_buf small;
    sma_buf_init(&small, 100);
    CHECK_ERR(SMA_ERR_BADINPUT, sma_request_put(&small, jsons, (uint32_t[]){5}, 1));
    sma_buf_fini(&small);
    for (size_t i = 0; i < 2; i++)
        sma_buf_fini(&items[i]);
    sma_buf_fini(&whole);
}

static void put_many(struct sma_buf *buf, uint32_t count)
{
    struct sma_request_item item = sample();
    sma_buf_put_text(buf, "{\"items\":[");
    for (uint32_t i = 0; i < count; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : ",");
        item.call = i;
        sma_request_put_item(buf, &item);
    }
    sma_buf_put_text(buf, "]}");
}

CASE(as_many_items_as_an_answer_has_calls)
{
    for (uint32_t count = 0; count <= SMA_TOOL_CALL_COUNT_MAX + 1; count++) {
        struct sma_buf buf;
        struct sma_request request;
        sma_buf_init(&buf, 1000000);
        put_many(&buf, count);
        bool is_fit = count > 0 && count <= SMA_TOOL_CALL_COUNT_MAX;
        enum sma_err err = sma_request_parse(sma_buf_str(&buf), &request);
        CHECK_INT(is_fit ? SMA_ERR_OK : SMA_ERR_BADINPUT, err);
        if (err == SMA_ERR_OK)
            sma_request_fini(&request);
        sma_buf_fini(&buf);
    }
}

/* Parked by the program before items said so: what is an owner's stays an owner's. */
CASE(old_requests_know_what_is_an_owners)
{
    static const struct
    {
        const char *type, *details;
        bool is_owner_only;
    } rows[] = {
        {"write_repo", "{\"filePath\":\"ship.json\",\"content\":\"x\"}", true},
        {"write_repo", "{\"filePath\":\"sub/Makefile\",\"content\":\"x\"}", true},
        {"write_repo", "{\"filePath\":\"notes.txt\",\"content\":\"ship.json\"}", false},
        {"exec_shell", "{\"command\":\"cat a > 'Agent.md'\"}", true},
        {"exec_shell", "{\"command\":\"make test\"}", false},
        {"send", "{\"receiver\":\"bob\",\"text\":\"ship.json\"}", false},
    };
    static const char member[] = ",\"isOwnerOnly\":false";
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_request_item item = sample();
        struct sma_request request;
        struct sma_buf json;
        char text[4096];
        item.type = sma_str(rows[i].type);
        item.details_json = sma_str(rows[i].details);
        item.is_owner_only = false;
        sma_buf_init(&json, 4096);
        sma_request_put_item(&json, &item);
        const char *at = strstr(json.ptr, member);
        CHECK(at != NULL);
        snprintf(text, sizeof text, "{\"items\":[%.*s%s]}", (int)(at - json.ptr), json.ptr,
                 at + sizeof member - 1);
        CHECK_OK(sma_request_parse(sma_str(text), &request));
        if (request.items[0].is_owner_only != rows[i].is_owner_only)
            fprintf(stderr, "%s\n", rows[i].details);
        CHECK_INT(rows[i].is_owner_only, request.items[0].is_owner_only);
        sma_request_fini(&request);
        sma_buf_fini(&json);
    }
}

/* Take a good request, break one thing. */
CASE(what_is_malformed_is_refused)
{
    static const char *const swaps[][2] = {
        {"\"call\":3", "\"call\":-1"},
        {"\"call\":3", "\"call\":32"},
        {"\"call\":3", "\"call\":\"3\""},
        {"\"call\":3", "\"called\":3"},
        {"\"type\":\"exec_shell\"", "\"type\":\"\""},
        {"\"type\":\"exec_shell\"", "\"type\":5"},
        {"\"tool\":\"exec_shell\"", "\"tool\":null"},
        {"\"rule\":", "\"ruler\":"},
        {"\"diff\":\"", "\"diff\":[],\"x\":\""},
        {"\"isAdminOnly\":true", "\"isAdminOnly\":1"},
        {"\"isOwnerOnly\":true", "\"isOwnerOnly\":1"},
        {"\"isAdminOnly\":true", "\"isAdminOnly\":\"false\""},
        {"\"digest\":\"00", "\"digest\":\"0G"},
        {"\"digest\":\"00", "\"digest\":\"0"},
        {"\"digest\":\"00", "\"digest\":\"\\u0000\\u0000"},
        {"\"details\":\"{", "\"details\":\"["},
        {"\"input\":\"{", "\"input\":\"x{"},
        {"\"input\":\"", "\"input\":\"[]\",\"x\":\""}, /* JSON, and no object */
        {"\"details\":\"", "\"details\":\"\\\"t\\\"\",\"x\":\""},
        {"{\"items\":[", "{\"items\":[1,"},
        {"{\"items\":[", "{\"things\":["},
        {"]}", "]"},
    };
    struct sma_buf good, bad;
    struct sma_request request;
    sma_buf_init(&good, 10000);
    struct sma_request_item item = sample();
    sma_buf_put_text(&good, "{\"items\":[");
    sma_request_put_item(&good, &item);
    sma_buf_put_text(&good, "]}");
    CHECK_OK(sma_request_parse(sma_buf_str(&good), &request));
    sma_request_fini(&request);
    for (size_t i = 0; i < SMA_COUNT_OF(swaps); i++) {
        char *at = strstr(good.ptr, swaps[i][0]);
        CHECK(at != NULL);
        sma_buf_init(&bad, 10000);
        sma_buf_put(&bad, good.ptr, (size_t)(at - good.ptr));
        sma_buf_put_text(&bad, swaps[i][1]);
        sma_buf_put_text(&bad, at + strlen(swaps[i][0]));
        CHECK_ERR(SMA_ERR_BADINPUT, sma_request_parse(sma_buf_str(&bad), &request));
        sma_buf_fini(&bad);
    }
    for (size_t len = 0; len < good.len; len++) /* cut anywhere */
        CHECK_ERR(SMA_ERR_BADINPUT, sma_request_parse((struct sma_str){good.ptr, len}, &request));
    sma_buf_fini(&good);
}

CASE(a_long_title_is_cut_between_characters)
{
    struct sma_request_item item = sample();
    struct sma_buf title, json;
    struct sma_request request;
    sma_buf_init(&title, 1000);
    sma_buf_init(&json, 10000);
    for (int i = 0; i < 100; i++)
        sma_buf_put_text(&title, "你");
    item.title = sma_buf_str(&title);
    sma_buf_put_text(&json, "{\"items\":[");
    sma_request_put_item(&json, &item);
    sma_buf_put_text(&json, "]}");
    CHECK_OK(sma_request_parse(sma_buf_str(&json), &request));
    CHECK_INT(198, request.items[0].title.len);
    sma_request_fini(&request);
    sma_buf_fini(&title);
    sma_buf_fini(&json);
}

CASE(outcomes_have_names)
{
    CHECK_TEXT("pending", sma_request_outcome_name(SMA_REQUEST_OPEN));
    CHECK_TEXT("approved", sma_request_outcome_name(SMA_REQUEST_APPROVED));
    CHECK_TEXT("rejected", sma_request_outcome_name(SMA_REQUEST_REFUSED));
    CHECK_TEXT("expired", sma_request_outcome_name(SMA_REQUEST_EXPIRED));
    CHECK_TEXT("cancelled", sma_request_outcome_name(SMA_REQUEST_CANCELLED));
}

CASES_MAIN
