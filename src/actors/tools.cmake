# The tools actor: checks and file tools on libuv's workers, commands as processes on its loop. Its tests stand in for the
# checks and file tools (sma_tool_work); everybody else takes both.
sma_library(sma_actor_tools_alone
    SOURCES tools.c tools_work.c tools_exec.c tools_end.c tools_log.c tools_order.c
    LINK sma_kernel sma_approval sma_exec
    PRIVATE_LINK PkgConfig::UV PkgConfig::JANSSON)
add_library(sma_actor_tools INTERFACE)
target_link_libraries(sma_actor_tools INTERFACE sma_actor_tools_alone sma_tool_work)
