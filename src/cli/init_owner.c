/* init_owner.c — see init_owner.h. */
#include "init_owner.h"

#include "init_test.h"
#include "probe/probe.h"
#include "prompt.h"
#include "sma/clock.h"
#include "sma/sys.h"

#include <stdio.h>

#define CODE_CHARS 8
#define WAIT_MS (3 * 60 * 1000)
#define PAUSE_MS 1000 /* between two looks */

/* Without look-alikes; 40 bits, and nobody can try one. */
static void make_code(char code[CODE_CHARS + 1])
{
    static const char letters[] = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    const struct sma_sys *sys = sma_sys_real();
    uint8_t bytes[CODE_CHARS];
    sys->random_bytes(sys->self, bytes, sizeof bytes);
    for (size_t i = 0; i < CODE_CHARS; i++)
        code[i] = letters[bytes[i] % (sizeof letters - 1)];
    code[CODE_CHARS] = '\0';
}

static uint64_t now_ms(void)
{
    return sma_sys_real()->now_ns(NULL) / 1000000;
}

bool init_owner_ask(const struct sma_adapter_ops *ops, const struct sma_config *config,
                    const struct sma_config_adapter *block, const char *who,
                    char owner[INIT_NAME_BYTES_MAX])
{
    char code[CODE_CHARS + 1];
    struct sma_probe_result result;
    owner[0] = '\0';
    if (ops->find_owner == NULL || who[0] != '@')
        return true;
    make_code(code);
    printf("Become its owner: open https://t.me/%s?start=%s and press Start,\n"
           "or send %s to %s. Waiting for three minutes; Enter goes on without.\n",
           who + 1, code, code, who);
    for (uint64_t until = now_ms() + WAIT_MS; now_ms() < until;) {
        result = (struct sma_probe_result){0};
        sma_probe_owner(ops, config, block, code, &result);
        if (result.who[0] != '\0') {
            snprintf(owner, INIT_NAME_BYTES_MAX, "%s:%.100s", ops->channel, result.who);
            init_test_show(&result);
            return true;
        }
        if (result.state == SMA_PROBE_ERROR) {
            init_test_show(&result);
            break;
        }
        if (sma_prompt_is_pressed(sma_clock_poll_ms(PAUSE_MS)))
            break;
    }
    puts("Nobody is its owner yet: start it, write to it, and run the command that it answers "
         "with.");
    return true;
}
