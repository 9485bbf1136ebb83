/*
 * port_holder.h — who listens on a port of this machine: the program, and, when it is one of ours,
 * the project that it serves.
 *
 * Source: /proc/net/tcp, /proc/PID/fd; what belongs to other users is not shown there.
 * Threads: the main thread.
 */
#ifndef SMA_CLI_PORT_HOLDER_H
#define SMA_CLI_PORT_HOLDER_H

#define SMA_PORT_HOLDER_BYTES_MAX 600

/** "shipmyagent (process 4711), which serves /home/ann/bot"; "another program" when nothing is
 *  known. */
void sma_port_holder(int port, char holder[SMA_PORT_HOLDER_BYTES_MAX]);

#endif
