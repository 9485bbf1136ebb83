/* fetch.c — web_fetch: one page, its redirects, and the result. See fetch.h. */
#include "web_priv.h"

#include "runtime/tools/tools.h"
#include "runtime/web/leak.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>

#define TAIL_BYTES 200 /* of the result behind the content */

static uint64_t now_ms(void)
{
    const struct sma_sys *sys = sma_sys_real();
    return sys->now_ns(sys->self) / 1000000;
}

/* As much of the page as the result has room for, cut between two characters. */
static bool put_content(struct sma_buf *result, struct sma_str content)
{
    size_t room =
        result->max > result->len + TAIL_BYTES ? result->max - result->len - TAIL_BYTES : 0;
    size_t used = 0, len = 0;
    while (len < content.len) {
        unsigned char byte = (unsigned char)content.ptr[len];
        size_t cost = byte == '"' || byte == '\\' || byte == '\n' || byte == '\t' ? 2
                      : byte < 0x20                                               ? 6
                                                                                  : 1;
        if (used + cost > room)
            break;
        used += cost;
        len++;
    }
    struct sma_str shown = {content.ptr, len < content.len ? sma_utf8_cut(content, len) : len};
    sma_buf_put_json_member(result, "content", shown);
    return shown.len < content.len;
}

static bool put_page(struct sma_buf *result, const struct sma_web_url *url,
                     const struct web_answer *answer)
{
    char from[SMA_WEB_HOST_BYTES + 16];
    (void)snprintf(from, sizeof from, "web: %s", url->host);
    sma_buf_put_text(result, "{\"success\":true");
    sma_tool_put_foreign(result, sma_str(from));
    sma_buf_put_json_member(result, "url", sma_str(url->text));
    sma_buf_put_json_member(result, "title", answer->title);
    bool is_cut = put_content(result, answer->content) || answer->is_cut;
    sma_buf_put_text(result, is_cut ? ",\"truncated\":true}" : ",\"truncated\":false}");
    return true;
}

/* Where it leads is a page like any other. @return false: the result says why it ends here */
static bool follow(const struct sma_web_place *place, struct sma_web_url *url,
                   const struct web_answer *answer, struct sma_str words, struct sma_buf *result)
{
    struct sma_buf why;
    struct sma_web_url next;
    sma_buf_init(&why, SMA_WEB_URL_BYTES_MAX * 2 + 1000);
    sma_buf_printf(&why, "%s redirects, and it was not followed: ", url->host);
    bool is_good = sma_web_url_follow(url, answer->location, &next, &why) == SMA_ERR_OK;
    if (is_good && sma_web_leaks(place->secrets, sma_str(next.text))) {
        sma_buf_put_text(&why, "a secret of this project stands in the address.");
        is_good = false;
    } else if (is_good && strcmp(next.host, url->host) != 0) {
        struct sma_web_judgement judgement = sma_web_rules_judge(place->rules, &next, words);
        is_good = judgement.verdict == SMA_WEB_ALLOW;
        if (!is_good)
            sma_buf_printf(&why, "%s. To go there call web_fetch with %s", judgement.reason,
                           next.text);
    } else if (is_good) { /* the same host was agreed to; its port may be another one */
        struct sma_web_judgement judgement = sma_web_rules_judge(place->rules, &next, words);
        is_good = judgement.verdict != SMA_WEB_REFUSE;
        if (!is_good)
            sma_buf_printf(&why, "%s.", judgement.reason);
    }
    if (is_good)
        *url = next;
    else
        (void)web_put_error(result, sma_buf_str(&why), url->text);
    sma_buf_fini(&why);
    return is_good;
}

static bool put_status(struct sma_buf *result, const struct sma_web_url *url, int status)
{
    char line[SMA_WEB_HOST_BYTES + 64];
    (void)snprintf(line, sizeof line, "%s answered with HTTP status %d.", url->host, status);
    return web_put_error(result, sma_str(line), url->text);
}

static bool ask_once(const struct sma_web_place *place, struct sma_web_url *url,
                     struct sma_str words, const struct web_question *question,
                     struct sma_buf *result, bool *ret_is_over)
{
    struct web_answer answer;
    struct sma_buf why;
    sma_buf_init(&why, 4000);
    bool is_good = false;
    *ret_is_over = true;
    if (!web_ask(place, question, &answer, &why))
        (void)web_put_error(result, sma_buf_str(&why), url->text);
    else if (answer.error.len > 0)
        (void)web_put_error(result, answer.error, url->text);
    else if (answer.location.len > 0)
        *ret_is_over = !follow(place, url, &answer, words, result);
    else if (answer.status < 200 || answer.status > 299)
        (void)put_status(result, url, answer.status);
    else
        is_good = put_page(result, url, &answer);
    web_answer_fini(&answer);
    sma_buf_fini(&why);
    return is_good;
}

bool sma_web_fetch(const struct sma_web_place *place, const struct sma_web_url *url,
                   struct sma_str words, size_t max, struct sma_buf *result)
{
    struct sma_web_url at = *url;
    uint64_t until = now_ms() + SMA_WEB_MS;
    for (int hop = 0; hop <= SMA_WEB_REDIRECT_COUNT_MAX; hop++) {
        uint64_t now = now_ms();
        if (now >= until)
            return web_put_error(result, SMA_STR("It took too long."), at.text);
        struct sma_web_judgement judgement = sma_web_rules_judge(place->rules, &at, words);
        const struct web_question question = {.url = &at,
                                              .text_max = max,
                                              .time_ms = (uint32_t)(until - now),
                                              .is_private_allowed = judgement.is_private_allowed};
        bool is_over;
        bool is_good = ask_once(place, &at, words, &question, result, &is_over);
        if (is_over)
            return is_good;
    }
    return web_put_error(result, SMA_STR("It redirects again and again; five times were followed."),
                         at.text);
}
