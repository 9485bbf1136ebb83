# WebSocket clients of the actors that need them, on their own libuv loop.
sma_library(sma_ws
    SOURCES ws.c ws_connect.c ws_frame.c ws_pipe.c ws_url.c
    LINK sma_kernel sma_base
    PRIVATE_LINK PkgConfig::UV PkgConfig::SSL PkgConfig::CRYPTO)
