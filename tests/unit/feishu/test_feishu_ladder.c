/*
 * Aim: an answer that exists reaches its person, or he is told: a refusal that is in no list takes
 * the next plainer form, each once.
 * Method: the adapter and the real dispatcher against the scripted platform, which refuses the
 * first n forms with a code and words that nobody has a row for, n = 0, 1, ...
 */
#include "actor_world.h"

#include "support/cards.h"

#define MESSAGES "/open-apis/im/v1/messages"
#define REQUEST_COUNT_MAX 9

struct form
{
    const char *what, *chat, *type, *reply, *text;
    bool is_card;
    size_t steps_least; /* so many refusals it outlives */
};
static const struct form forms[] = {
    {"words", WORLD_CHAT, "p2p", "", "sentinel", false, 1},
    {"a card of words", WORLD_CHAT, "p2p", "", "sentinel **bold** and `code`", false, 2},
    {"a reply", WORLD_GROUP, "group", "om_asked", "sentinel **bold** and `code`", false, 3},
    {"a link", WORLD_CHAT, "p2p", "", "sentinel [page](https://example.org/x)", false, 3},
    {"a request", WORLD_GROUP, "group", "om_asked", NULL, true, 3},
    {"a file", WORLD_CHAT, "p2p", "", "@attach photo p.png", false, 1},
};

static struct world_receipt deliver(const struct form *form)
{
    struct world_receipt receipt;
    char *card = form->is_card ? card_request("Sentinel: run it?", "Sentinel: yes / no") : NULL;
    world_set_intent(form->is_card ? SMA_INTENT_APPROVAL_REQUEST : SMA_INTENT_ASSISTANT_TEXT);
    uint64_t row =
        world_deliver(1, form->chat, form->type, form->reply, card != NULL ? card : form->text);
    WORLD_WAIT(world_has_receipt(row, &receipt));
    world_set_intent(SMA_INTENT_ASSISTANT_TEXT);
    free(card);
    return receipt;
}

/* No form is asked for twice. */
static void check_forms(size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct platform_request one = platform_request_at("POST", MESSAGES, i - 1),
                                next = platform_request_at("POST", MESSAGES, i);
        CHECK(strcmp(one.body, next.body) != 0 || strcmp(one.path, next.path) != 0);
    }
}

static void walk(const struct form *form)
{
    size_t refused = 0;
    for (bool is_over = false; !is_over; refused++) {
        char path[600], body[200];
        world_open("");
        snprintf(path, sizeof path, "%s/p.png", world_dir);
        FILE *file = fopen(path, "w");
        CHECK(file != NULL && fputs("picture", file) >= 0 && fclose(file) == 0);
        snprintf(body, sizeof body, "{\"code\":%zu,\"msg\":\"qzqz %zu\"}", 77000 + refused,
                 refused);
        if (refused > 0)
            platform_script("POST", MESSAGES, refused, refused % 2 == 0 ? 200 : 400, "", body);
        struct world_receipt receipt = deliver(form);
        size_t count = platform_count("POST", MESSAGES);
        is_over = receipt.state == SMA_DELIVERY_FAILED;
        CHECK(is_over ? receipt.is_refused : receipt.state == SMA_DELIVERY_SENT);
        CHECK_INT(is_over ? refused : refused + 1, count);
        check_forms(count);
        struct platform_request last = platform_request_at("POST", MESSAGES, count - 1);
        CHECK(is_over || strcasestr(last.body, "sentinel") != NULL ||
              strstr(last.body, "file_uploaded") != NULL || strstr(last.body, "img_") != NULL ||
              strstr(last.body, "文件 p") != NULL);
        if (refused > REQUEST_COUNT_MAX || (is_over && refused <= form->steps_least))
            fprintf(stderr, "%s: %zu refusals: %s\n", form->what, refused, receipt.error);
        CHECK(refused <= REQUEST_COUNT_MAX);
        CHECK(!is_over || refused > form->steps_least);
        world_close();
    }
}

static void an_unknown_refusal_never_loses_an_answer(void)
{
    for (size_t i = 0; i < SMA_COUNT_OF(forms); i++)
        walk(&forms[i]);
}

/* The app may not upload, or this one form is refused: the words go, each code with its remedy. */
static void what_is_still_allowed_arrives(void)
{
    static const struct
    {
        const char *path;
        int code;
        const char *text, *wanted;
    } rows[] = {
        {"/open-apis/im/v1/images", 99991672, "@attach photo p.png | sentinel", "p.png"},
        {"/open-apis/im/v1/images", 234002, "@attach photo p.png | sentinel", "p.png"},
        {"/open-apis/im/v1/images", 234008, "@attach photo p.png | sentinel", "p.png"},
        {MESSAGES, 230099, "sentinel **bold** and `code`", "sentinel"},
        {MESSAGES, 230110, "sentinel **bold** and `code`", "sentinel"},
        {MESSAGES, 230025,
         "sentinel **bold** and `code` that goes on and on until it may be cut in "
         "two pieces, for it has more than sixty-four letters",
         "sentinel"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char path[600], body[200];
        world_open("");
        snprintf(path, sizeof path, "%s/p.png", world_dir);
        FILE *file = fopen(path, "w");
        CHECK(file != NULL && fputs("picture", file) >= 0 && fclose(file) == 0);
        snprintf(body, sizeof body, "{\"code\":%d,\"msg\":\"qzqz\"}", rows[i].code);
        platform_script("POST", rows[i].path, 1, 400, "", body);
        const struct form form = {"", WORLD_GROUP, "group", "om_asked", rows[i].text, false, 0};
        struct world_receipt receipt = deliver(&form);
        size_t count = platform_count("POST", MESSAGES);
        bool is_shown = false;
        for (size_t k = 0; k < count; k++)
            is_shown |=
                strstr(platform_request_at("POST", MESSAGES, k).body, rows[i].wanted) != NULL;
        if (receipt.state != SMA_DELIVERY_SENT || !is_shown)
            fprintf(stderr, "%d: %s\n", rows[i].code, receipt.error);
        CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
        CHECK(is_shown);
        world_close();
    }
}

int main(void)
{
    RUN(what_is_still_allowed_arrives);
    RUN(an_unknown_refusal_never_loses_an_answer);
    return check_summary();
}
