/*
 * Aim: many connections, many in a row, large messages, a side that does not read: nothing is lost,
 * doubled, or kept.
 * Method: the scriptable server; descriptors and heap are counted before and after.
 */
#include "harness.h"
#include "support/patience.h"

#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#define MANY 100
#define ROUNDS 200

static struct ws_server *server;
static struct ws_harness *harness;

/* open all the time: its own number must not be one that a socket just had */
static DIR *descriptors;

static size_t count_descriptors(void)
{
    size_t count = 0;
    rewinddir(descriptors);
    while (readdir(descriptors) != NULL)
        count++;
    return count;
}

static void opened_client(struct client *client)
{
    client_connect(harness, client, ws_server_url(server));
    client_wait_open(client);
}

static void ended(struct client *client)
{
    client_end(client, 1000);
    client_wait_closed(client);
}

static void one_round(unsigned i)
{
    struct client client = {0};
    opened_client(&client);
    CHECK_OK(client_send(&client, SMA_STR("ping"), false));
    client_wait_messages(&client, 1);
    if (i % 4 == 0)
        CHECK(ws_server_drop(server, 0));
    if (i % 4 == 1)
        CHECK(ws_server_close(server, 0, 4009, "again"));
    if (i % 4 == 2)
        CHECK(ws_server_reset(server, 0));
    if (i % 4 == 3)
        client_end(&client, 1000);
    client_wait_closed(&client);
    CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
}

static bool are_descriptors(size_t wanted)
{
    for (int i = 0; i < 200; i++) { /* sockets close behind their connection */
        if (count_descriptors() <= wanted)
            return true;
        (void)usleep(5000);
    }
    return false;
}

CASE(two_hundred_reconnects_leave_nothing)
{
    for (unsigned i = 0; i < 8; i++)
        one_round(i);
    size_t before_count = count_descriptors();
    struct mallinfo2 before = mallinfo2();
    for (unsigned i = 0; i < ROUNDS; i++)
        one_round(i);
    CHECK(are_descriptors(before_count));
    struct mallinfo2 after = mallinfo2();
    CHECK(after.uordblks <= before.uordblks + 200000); /* a kilobyte a connection would be seen */
}

CASE(a_hundred_at_once)
{
    static struct client clients[MANY];
    for (size_t i = 0; i < MANY; i++)
        client_connect(harness, &clients[i], ws_server_url(server));
    for (size_t i = 0; i < MANY; i++)
        client_wait_open(&clients[i]);
    CHECK(ws_server_wait_open(server, MANY, PATIENCE_AWAIT_MS));
    for (size_t k = 0; k < 5; k++)
        CHECK(ws_server_send(server, 0, SMA_STR("to all of you"), false));
    for (size_t i = 0; i < MANY; i++) {
        CHECK_OK(client_send(&clients[i], SMA_STR("to you"), false));
        client_wait_messages(&clients[i], 6);
    }
    for (size_t i = 0; i < MANY / 2; i++)
        client_end(&clients[i], 1000);
    CHECK(ws_server_wait_open(server, MANY / 2, PATIENCE_AWAIT_MS));
    CHECK(ws_server_drop(server, 0));
    for (size_t i = 0; i < MANY; i++) {
        client_wait_closed(&clients[i]);
        CHECK_INT(i < MANY / 2 ? SMA_WS_CLOSED_BY_US : SMA_WS_LOST, clients[i].closed.end);
    }
}

static char *make_bytes(size_t len)
{
    char *bytes = malloc(len);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)('a' + i % 23);
    return bytes;
}

CASE(a_megabyte_both_ways)
{
    struct client client = {0};
    size_t len = 1024 * 1024;
    char *bytes = make_bytes(len);
    opened_client(&client);
    CHECK_OK(client_send(&client, (struct sma_str){bytes, len}, false));
    client_wait_messages(&client, 1);
    CHECK_INT(len, client.bytes_count);
    uint64_t hash = client.hash;
    client.hash = 0; /* nothing is under way */
    CHECK(ws_server_send_fragments(server, 0, (struct sma_str){bytes, len}, false, 1000, true));
    client_wait_messages(&client, 2);
    CHECK_INT(2 * len, client.bytes_count);
    CHECK(hash == client.hash);
    ended(&client);
    free(bytes);
}

CASE(the_limit_of_a_message_is_exact)
{
    char *bytes = make_bytes(1001);
    for (size_t len = 999; len <= 1001; len++) {
        struct client client = {0};
        CHECK_OK(client_try(
            harness, &client,
            &(struct sma_ws_ask){.url = ws_server_url(server), .message_bytes_max = 1000}));
        client_wait_open(&client);
        CHECK(ws_server_wait_open(server, 1, PATIENCE_AWAIT_MS));
        CHECK(ws_server_send(server, 0, (struct sma_str){bytes, len}, false));
        if (len <= 1000) {
            client_wait_messages(&client, 1);
            ended(&client);
        } else {
            client_wait_closed(&client);
            CHECK_INT(SMA_WS_PROTOCOL, client.closed.end);
        }
        CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
    }
    free(bytes);
}

CASE(unsent_bytes_are_bounded)
{
    struct client client = {0};
    size_t piece = 64 * 1024, max = 1024 * 1024, count = 0;
    char *bytes = make_bytes(max + 1);
    CHECK_OK(
        client_try(harness, &client,
                   &(struct sma_ws_ask){.url = ws_server_url(server), .unsent_bytes_max = max}));
    client_wait_open(&client);
    CHECK_ERR(SMA_ERR_TOOBIG,
              client_send(&client, (struct sma_str){bytes, max}, true)); /* and the frame's head */
    CHECK(ws_server_pause(server, ws_server_newest(server), true));
    enum sma_err err = SMA_ERR_OK;
    while (err == SMA_ERR_OK && count < 1000) {
        err = client_send(&client, (struct sma_str){bytes, piece}, true);
        count += err == SMA_ERR_OK;
    }
    CHECK_INT(SMA_ERR_FULL, err);
    CHECK(count * piece >= max - 2 * piece);
    CHECK(ws_server_pause(server, ws_server_newest(server), false));
    client_wait_messages(&client, (unsigned)count); /* the server sends them back */
    CHECK_INT(count * piece, client.bytes_count);
    CHECK_OK(client_send(&client, (struct sma_str){bytes, piece}, true));
    client_wait_messages(&client, (unsigned)count + 1);
    ended(&client);
    free(bytes);
}

static void pause_itself(struct client *client)
{
    if (client->message_count == 3)
        sma_ws_pause(client->conn, true);
}

CASE(a_pause_holds_messages_back)
{
    struct client client = {.on_message = pause_itself};
    size_t len = 100000, count = 400;
    char *bytes = make_bytes(len);
    opened_client(&client);
    CHECK(ws_server_wait_open(server, 1, PATIENCE_AWAIT_MS));
    for (size_t i = 0; i < 5; i++) /* all in one read */
        CHECK(ws_server_send(server, 0, SMA_STR("small"), false));
    client_wait_messages(&client, 3);
    for (size_t i = 0; i < count; i++)
        CHECK(ws_server_send(server, 0, (struct sma_str){bytes, len}, false));
    (void)usleep(100000); /* time in which a broken pause would show */
    CHECK_INT(3, CLIENT_GET(&client, message_count));
    CHECK(ws_server_unsent(server, 0) > 0); /* the kernel's buffers are full: the peer feels it */
    client_pause(&client, false);
    client_wait_messages(&client, (unsigned)(5 + count));
    CHECK_INT(25 + count * len, client.bytes_count);
    ended(&client);
    free(bytes);
}

int main(void)
{
    descriptors = opendir("/proc/self/fd");
    CHECK(descriptors != NULL);
    server = ws_server_start(NULL);
    harness = ws_harness_start(NULL);
    check_run_cases(NULL);
    ws_harness_stop(harness);
    ws_server_stop(server);
    (void)closedir(descriptors);
    return check_summary();
}
