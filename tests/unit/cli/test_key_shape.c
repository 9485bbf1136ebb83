/*
 * Aim: a key in the wrong place is seen to be one, and no name of a model, a person or an address
 *   is taken for a key; of platforms' ids and tokens, what is not whole is told.
 * Method: names that providers use today, and keys as their consoles make them.
 */
#include "cli/key_shape.h"
#include "support/check.h"

#include <string.h>

static bool is_key(const char *text)
{
    return sma_key_looks_like_one(text, strlen(text));
}

static void keys_are_seen(void)
{
    static const char *const keys[] = {"sk-",
                                       "sk-ant-api03-a-key",
                                       "AIzaSyD-of-gemini",
                                       "7001234567:AAE",
                                       "0123456789abcdef0123456789abcdef",
                                       "4f2a9c1b7d8e4f2a9c1b7d8e4f2a9c1b.Q1w2E3r4",
                                       "gsk_a"};
    for (size_t i = 0; i < SMA_COUNT_OF(keys); i++)
        CHECK(is_key(keys[i]));
}

static void names_are_no_keys(void)
{
    static const char *const names[] = {"",
                                        "1",
                                        "gpt-4o-2024-08-06",
                                        "claude-3-5-sonnet-20241022",
                                        "anthropic.claude-3-5-sonnet-20241022-v2:0",
                                        "accounts/fireworks/models/llama4maverick17b128einstruct",
                                        "Qwen2.5-Coder-32B-Instruct-GGUF",
                                        "qwen3:30b-a3b-instruct-2507-q4_K_M",
                                        "ep-20250101123456-abcde",
                                        "ANameOfManyLettersAndNoNumbers",
                                        "cli_a1b2c3d4e5f6a7b8",
                                        "1020304050",
                                        "http://127.0.0.1:8000/a1B2c3D4e5F6g7H8i9J0k1L2m3N4/v1"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        if (is_key(names[i]))
            fprintf(stderr, "taken for a key: %s\n", names[i]);
        CHECK(!is_key(names[i]));
    }
}

static void what_is_not_whole_is_told(void)
{
    CHECK(sma_key_shape_fault("TELEGRAM_BOT_TOKEN",
                              "7001234567:AAE-fake_token_of_the_test_bot_00001") == NULL);
    CHECK(sma_key_shape_fault("TELEGRAM_BOT_TOKEN", "7001234567") != NULL);
    CHECK(sma_key_shape_fault("TELEGRAM_BOT_TOKEN", "7001234567:AAE-fake") != NULL);
    CHECK(sma_key_shape_fault("TELEGRAM_BOT_TOKEN", "bot:AAE-fake_token_of_the_test_bot_00001") !=
          NULL);
    CHECK(sma_key_shape_fault("FEISHU_APP_ID", "cli_a1b2") == NULL);
    CHECK(sma_key_shape_fault("FEISHU_APP_ID", "cli_") != NULL);
    CHECK(sma_key_shape_fault("FEISHU_APP_ID", "ou_a1b2") != NULL);
    CHECK(sma_key_shape_fault("QQ_APP_ID", "102030") == NULL);
    CHECK(sma_key_shape_fault("QQ_APP_ID", "102o30") != NULL);
    CHECK(sma_key_shape_fault("QQ_APP_SECRET", "anything") == NULL);
}

int main(void)
{
    keys_are_seen();
    names_are_no_keys();
    what_is_not_whole_is_told();
    return 0;
}
