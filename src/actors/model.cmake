# The model actor: HTTP to LLM providers on libuv + libcurl, and the offline model without either.
sma_library(sma_actor_model
    SOURCES model.c model_target.c model_attempt.c model_offline.c model_answer.c model_log.c model_block.c model_curl.c
    LINK sma_kernel sma_model_wire sma_secrets sma_net
    PRIVATE_LINK PkgConfig::CURL)
