/* init_test.c — see init_test.h. */
#include "init_test.h"

#include "chat_screen.h"
#include "prompt.h"

#include <stdio.h>

void init_test_begin(const char *name)
{
    printf("Asking %s ...\n", name);
    fflush(stdout);
}

void init_test_show(const struct sma_probe_result *result)
{
    static const char *const words[] = {
        [SMA_PROBE_OK] = "ok", [SMA_PROBE_WARNING] = "note", [SMA_PROBE_ERROR] = "FAILED"};
    for (size_t i = 0; i < result->line_count; i++) {
        const struct sma_probe_line *line = &result->lines[i];
        struct sma_buf clean; /* what a server has said may hold anything */
        sma_buf_init(&clean, 8192);
        sma_buf_printf(&clean, "  %s: ", words[line->state]);
        sma_chat_put_clean(&clean, sma_str(line->seen));
        if (line->remedy[0] != '\0') {
            sma_buf_put_text(&clean, "\n      ");
            sma_chat_put_clean(&clean, sma_str(line->remedy));
        }
        printf("%s\n", clean.ptr == NULL ? "" : clean.ptr);
        sma_buf_fini(&clean);
    }
    fflush(stdout);
}

bool init_test_ask_step(const char *other, const char *leave, enum init_step *ret_step)
{
    char change[64];
    snprintf(change, sizeof change, "enter %s", other);
    const char *const choices[] = {[INIT_STEP_AGAIN] = "try it again",
                                   [INIT_STEP_CHANGE] = change,
                                   [INIT_STEP_KEEP] = "keep it all the same",
                                   [INIT_STEP_LEAVE] = leave};
    size_t index;
    if (!sma_prompt_choice_beside_secret("What now?", choices, SMA_COUNT_OF(choices),
                                         INIT_STEP_CHANGE, &index))
        return false;
    *ret_step = (enum init_step)index;
    return true;
}
