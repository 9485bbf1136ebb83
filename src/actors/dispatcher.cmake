sma_library(sma_actor_dispatcher
    SOURCES dispatcher.c dispatcher_rows.c dispatcher_attempt.c dispatcher_receipt.c dispatcher_send.c
    LINK sma_kernel sma_delivery sma_text sma_base)
