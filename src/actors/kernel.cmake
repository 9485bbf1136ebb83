# The actor runtime: contexts, threads, loops, the supervisor, and the seeded scheduler.
sma_library(sma_kernel
    SOURCES actor.c edges.c loop.c reload.c sim.c supervisor.c traffic.c
    LINK sma_mailbox
    PRIVATE_LINK PkgConfig::UV Threads::Threads)
