/* mcp_world.c — see mcp_world.h. */
#include "mcp_world.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct mcp_programs programs;

static void make_dir(const struct world *world, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", world->folder.path, name);
    (void)mkdir(path, 0700); /* there already: as well */
}

static void write_json(const struct world *world, const char *text)
{
    make_dir(world, ".ship");
    make_dir(world, ".ship/mcp");
    folder_write(&world->folder, ".ship/mcp/mcp.json", text);
}

static void put_servers(char *text, size_t size, const char *dir, const char *const *servers,
                        const char *more)
{
    int len = snprintf(text, size, "{\"servers\":{");
    for (size_t i = 0; servers[i] != NULL; i += 2)
        len +=
            snprintf(text + len, size - (size_t)len,
                     "%s\"%s\":{\"type\":\"stdio\",\"command\":\"%s\",\"args\":[\"%s\",\"%s\"]%s}",
                     i == 0 ? "" : ",", servers[i], programs.fake_mcp, servers[i + 1], dir, more);
    len += snprintf(text + len, size - (size_t)len, "}}");
    CHECK(len < (int)size);
}

void mcp_write(const struct world *world, const char *const *servers, const char *more)
{
    char text[16384];
    put_servers(text, sizeof text, world->folder.path, servers, more);
    write_json(world, text);
}

static void begin(struct world *world, const char *permissions)
{
    char json[2048];
    *world = (struct world){.may_prefix_move = true};
    folder_create(&world->folder, NULL);
    world_model_start(world, programs.fake_model, NULL);
    snprintf(json, sizeof json,
             "{\"name\":\"tools\",\"permissions\":{%s},"
             "\"llm\":{\"provider\":\"openai\",\"model\":\"gpt-4.1\",\"api\":\"chat\","
             "\"baseUrl\":\"http://127.0.0.1:%d/openai/v1\",\"apiKey\":\"" WORLD_API_KEY "\"}}",
             permissions, world->fake_port);
    folder_write(&world->folder, "ship.json", json);
}

void mcp_begin(struct world *world, const char *const *servers, const char *permissions)
{
    begin(world, permissions);
    mcp_write(world, servers, "");
    service_start(&world->service, programs.service, &world->folder);
}

void mcp_begin_with(struct world *world, const char *mcp_json, const char *permissions)
{
    begin(world, permissions);
    write_json(world, mcp_json);
    service_start(&world->service, programs.service, &world->folder);
}

/* -- looking ----------------------------------------------------------------------------------- */
/* Decref it; NULL: there is no such server. */
static json_t *find_server(const struct world *world, const char *server)
{
    json_t *root = talk_get(world->service.port, "/api/status");
    json_t *found = json_incref(json_object_get(json_object_get(root, "mcp"), server));
    json_decref(root);
    return found;
}

void mcp_await_state(const struct world *world, const char *server, const char *state)
{
    long long end = process_now_ms() + WAIT_MS;
    for (;;) {
        json_t *found = find_server(world, server);
        bool is_so = state == NULL ? found == NULL : strcmp(talk_text(found, "state"), state) == 0;
        if (!is_so && process_now_ms() >= end)
            fprintf(stderr, "%s is %s (%s), wanted %s\n", server, talk_text(found, "state"),
                    talk_text(found, "error"), state == NULL ? "gone" : state);
        json_decref(found);
        if (is_so)
            return;
        CHECK(process_now_ms() < end);
        process_pause_ms(20);
    }
}

long long mcp_number(const struct world *world, const char *server, const char *member)
{
    json_t *found = find_server(world, server);
    const json_t *number = json_object_get(found, member);
    long long value = json_is_integer(number) ? json_integer_value(number) : -1;
    json_decref(found);
    return value;
}

size_t mcp_count_calls(const struct world *world, const char *text)
{
    size_t count = 0, len = strlen(text);
    char *all = folder_read(&world->folder, "calls.txt");
    for (const char *at = all; at != NULL && *at != '\0';) {
        size_t line = strcspn(at, "\n");
        count += line == len && memcmp(at, text, len) == 0;
        at += line + (at[line] == '\n');
    }
    free(all);
    return count;
}

void mcp_await_call(const struct world *world, const char *text)
{
    long long end = process_now_ms() + WAIT_MS;
    while (mcp_count_calls(world, text) == 0) {
        CHECK(process_now_ms() < end);
        process_pause_ms(2);
    }
}

void mcp_await_asked(const struct world *world, const char *part)
{
    long long end = process_now_ms() + WAIT_MS;
    while (world_asked_count(world, part) == 0) {
        CHECK(process_now_ms() < end);
        process_pause_ms(2);
    }
}

size_t mcp_count_processes(const struct world *world)
{
    DIR *proc = opendir("/proc");
    size_t count = 0;
    CHECK(proc != NULL);
    for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        char path[300], bytes[8192];
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = fopen(path, "re");
        if (file == NULL)
            continue;
        size_t len = fread(bytes, 1, sizeof bytes, file);
        (void)fclose(file);
        bool is_named = memmem(bytes, len, world->folder.path, strlen(world->folder.path)) != NULL;
        bool is_server = memmem(bytes, len, "fake_mcp", 8) != NULL;
        count += is_named && is_server;
    }
    closedir(proc);
    return count;
}

void mcp_end(struct world *world)
{
    CHECK_INT(0, service_stop(&world->service));
    CHECK_INT(0, (int)mcp_count_processes(world));
    server_stop(world->fake);
    folder_remove(&world->folder);
}
