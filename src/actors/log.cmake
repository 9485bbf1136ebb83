sma_library(sma_actor_log SOURCES log.c LINK sma_base sma_mailbox sma_kernel sma_secrets)
