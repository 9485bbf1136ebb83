/*
 * reload.c — a new configuration snapshot for everybody. Actors take what can change while they run
 * (the agent its prompt, the model its provider); the rest waits for a restart.
 */
#include "kernel_priv.h"

void sma_system_reload(struct sma_system *system, const struct sma_config *config)
{
    struct sma_ctx *supervisor = system->actors[SMA_ACTOR_SUPERVISOR];
    for (size_t i = 0; i < system->order_count; i++) {
        struct sma_msg *msg = sma_msg_make_reload(&(struct sma_reload){.config = config});
        if (msg == NULL)
            return;
        if (sma_ctx_send(supervisor, system->order[i], &msg) != SMA_ERR_OK)
            sma_ctx_log(supervisor, SMA_LOG_WARN, "%s did not take the new configuration",
                        system->actors[system->order[i]]->ops->name);
        sma_msg_destroy(msg);
    }
}
