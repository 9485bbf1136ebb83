/*
 * cards.h — cards of requests and outcomes for the tests of adapters: as the core makes them,
 * always the same.
 */
#ifndef SMA_TEST_CARDS_H
#define SMA_TEST_CARDS_H

#include "runtime/approval/card.h"
#include "support/check.h"

#include <stdlib.h>

#define CARD_TEXT "Run this command:\n\n```\ngit <push> & run\n```\nAsked for by: Ada\n"
#define CARD_PLAIN "Run this command:\n  git <push> & run\nReply: yes / no\n"

static inline char *card_take(struct sma_buf *buf)
{
    CHECK_OK(buf->err);
    char *json = sma_buf_take(buf);
    CHECK(json != NULL);
    return json;
}

/* Four buttons in two rows, as for one command; text and plain may be NULL. Free the result. */
static inline char *card_request(const char *text, const char *plain)
{
    static const char *const labels[] = {"Approve", "Refuse", "10 minutes", "Always here"};
    static const char actions[] = "ynta";
    static const uint8_t key[SMA_CARD_KEY_BYTES] = {7};
    char datas[4][SMA_CARD_DATA_BYTES_MAX + 1];
    struct sma_card card = {.id = SMA_STR("00112233445566778899aabbccddeeff"),
                            .title = SMA_STR("Approval needed"),
                            .text = sma_str(text == NULL ? CARD_TEXT : text),
                            .plain = sma_str(plain == NULL ? CARD_PLAIN : plain),
                            .message_id = SMA_STR(""),
                            .button_count = 4};
    for (uint32_t i = 0; i < 4; i++) {
        struct sma_card_press press = {.id = {1, 2, 3}, .action = (enum sma_card_action)actions[i]};
        sma_card_sign(key, &press, datas[i]);
        card.buttons[i] = (struct sma_card_button){.text = sma_str(labels[i]),
                                                   .data = sma_str(datas[i]),
                                                   .is_approval = i != 1,
                                                   .row = i / 2};
    }
    struct sma_buf buf;
    sma_buf_init(&buf, 1 << 20);
    sma_card_put(&buf, &card);
    return card_take(&buf);
}

/* message_id "" = there is none. Free the result. */
static inline char *card_outcome(const char *message_id)
{
    struct sma_card card = {.id = SMA_STR("00112233445566778899aabbccddeeff"),
                            .title = SMA_STR("Approved"),
                            .text = SMA_STR("Approved: `git push`\nDecided by: Bob"),
                            .plain = SMA_STR("Approved: git push\nDecided by: Bob"),
                            .message_id = sma_str(message_id),
                            .is_outcome = true};
    struct sma_buf buf;
    sma_buf_init(&buf, 1 << 16);
    sma_card_put(&buf, &card);
    return card_take(&buf);
}

#endif
