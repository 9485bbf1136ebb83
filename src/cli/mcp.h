/*
 * mcp.h — what the files of `shipmyagent mcp` share.
 *
 * Threads: the main thread of the command line.
 */
#ifndef SMA_CLI_MCP_H
#define SMA_CLI_MCP_H

#include "runtime/mcp/mcp_config.h"
#include "runtime/mcp/oauth.h"
#include "sma/config.h"

struct sma_mcp_options
{
    const char *verb, *server, *folder, *scope; /* NULL: not given */
    long port;                                  /* of the loopback address; 0 = any */
    bool is_json, is_device, is_yes;
};
/** `mcp login`: exit status. */
int sma_mcp_login(const struct sma_config *config, const struct sma_mcp_config_server *server,
                  const struct sma_mcp_options *options);

/* -- mcp_ask.c --------------------------------------------------------------------------------- */
struct sma_mcp_http
{
    int status; /* 0: not reached */
    struct sma_buf body;
    char challenge[8192]; /* WWW-Authenticate */
    char error[256];
};
/** One request, waited for; no redirect is followed. Headers: "Name: value". */
void sma_mcp_http_ask(const struct sma_config *config, const struct sma_oauth_ask *ask,
                      struct sma_mcp_http *ret_answer);
void sma_mcp_http_fini(struct sma_mcp_http *answer); /* wipes */

/* -- mcp_return.c ------------------------------------------------------------------------------ */
/** Listen on the loopback address. @return a descriptor, or -1; *ret_port */
int sma_mcp_return_listen(long port, unsigned *ret_port);
/**
 * Wait until a browser comes back there, or somebody types in the address where it ended.
 * @return its query, to be freed; NULL: nobody came in time
 */
char *sma_mcp_return_wait(int listener);

#endif
