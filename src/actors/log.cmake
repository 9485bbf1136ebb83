sma_library(sma_actor_log SOURCES log.c log_file.c LINK sma_base sma_mailbox sma_kernel sma_secrets)
