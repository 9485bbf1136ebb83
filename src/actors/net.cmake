# HTTP out for actors on a libuv loop: libcurl driven by the loop.
sma_library(sma_net
    SOURCES net.c net_request.c
    LINK sma_kernel sma_model_wire
    PRIVATE_LINK PkgConfig::CURL PkgConfig::UV)
