/*
 * accounted.c — can it be told from the words of an entry of mcp.json that it runs nothing of the
 * project?
 *
 * Its folder is the project, and what a program loads is said by its code, not by its words. So the
 * question is not what is named but whether all is accounted for: a program outside of the project,
 * known to read no code from its folder, and no word that leads into the project or that another
 * program would read. What is not understood is not accounted for.
 */
#include "decisive_priv.h"
#include "runtime/mcp/mcp_config.h"
#include "runtime/policy/programs.h"
#include "runtime/secrets/secrets.h"
#include "sma/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* They run a script, which must be a file outside of the project: its folder is where they look. */
static const char INTERPRETERS[] = "python pypy node nodejs ruby perl php lua luajit java Rscript";
/* ... and their options that neither are code nor lead to it. */
static const char HARMLESS_OPTIONS[] =
    "-u -B -I -E -s -P -jar --no-warnings --enable-source-maps --no-deprecation";
/* They fetch a package by its name, after a look into the project's own (project_packages). */
static const char FETCHERS[] = "npx uvx bunx";
static const char FETCHER_OPTIONS[] = "-y --yes -q --quiet";
/* Others that run what their words or files of the folder say. */
static const char RUNNERS[] =
    "sh bash zsh dash ksh fish ash csh tcsh busybox env sudo doas nice nohup timeout setsid stdbuf "
    "time xargs find script flock strace ltrace chroot unshare nsenter make gmake ninja go cargo "
    "dotnet gradle gradlew mvn mvnw mix elixir swift zig just task rake npm pnpm yarn bun deno uv "
    "poetry hatch pdm rye pipenv pipx tsx ts-node esbuild-runner docker-compose podman-compose "
    "fastmcp mcp awk gawk mawk sed tclsh wish expect R julia erl escript iex ghc runghc runhaskell "
    "ocaml racket guile sbcl clojure clj scala kotlin groovy gdb lldb git ssh screen tmux watch "
    "entr parallel nix nix-shell direnv mise asdf conda mamba micromamba bundle bazel buck";
static const char SHELL_BYTES[] = "$`<>|;&(){}*?\\\n\"'";

/* By what the path leads to; of one that is not there, by the folders above it that are. */
static bool leads_inside(const char *project_dir, const char *path)
{
    char project[PATH_MAX], real[PATH_MAX], above[PATH_MAX];
    if (realpath(project_dir, project) == NULL || decisive_is_inside(path, project_dir) ||
        snprintf(above, sizeof above, "%s", path) >= (int)sizeof above)
        return true;
    for (;;) {
        if (realpath(above, real) != NULL)
            return decisive_is_inside(real, project);
        char *slash = strrchr(above, '/');
        if (slash == NULL || slash == above)
            return false;
        *slash = '\0';
    }
}

/* A name, the value of an option or variable, or a part of either. */
static bool names_project(const char *project_dir, struct sma_str text, bool is_variable)
{
    char path[PATH_MAX];
    struct stat facts;
    if (text.len == 0 || sma_str_starts_with(text, SMA_STR("http://")) ||
        sma_str_starts_with(text, SMA_STR("https://")))
        return false;
    bool is_absolute = text.ptr[0] == '/';
    if (snprintf(path, sizeof path, "%s%s%.*s", is_absolute ? "" : project_dir,
                 is_absolute ? "" : "/", (int)text.len, text.ptr) >= (int)sizeof path)
        return true;
    if (text.ptr[0] == '~')
        return true;
    bool is_there = stat(path, &facts) == 0 || lstat(path, &facts) == 0;
    bool is_data = sma_decisive_is_data(text) && (!is_there || S_ISREG(facts.st_mode));
    if (is_absolute || is_there)
        return !is_data && leads_inside(project_dir, path);
    if (text.ptr[0] == '.')
        return !is_data;
    /* not there: somebody may put it there. @scope/package is none, nor TZ=Europe/Berlin */
    return !is_variable && text.ptr[0] != '@' && !is_data &&
           memchr(text.ptr, '/', text.len) != NULL;
}

static bool is_clear_text(const char *project_dir, struct sma_str text, bool is_variable)
{
    static const char between[] = "=,:; \t";
    if (!names_project(project_dir, text, is_variable)) {
        size_t from = 0;
        bool is_url = memmem(text.ptr, text.len, "://", 3) != NULL;
        for (size_t i = 0; i <= text.len && !is_url; i++) {
            if (i < text.len && strchr(between, text.ptr[i]) == NULL)
                continue;
            if (names_project(project_dir, (struct sma_str){text.ptr + from, i - from},
                              is_variable))
                return false;
            from = i + 1;
        }
        return true;
    }
    return false;
}

static bool is_at_file(const char *project_dir, const char *name)
{
    char path[PATH_MAX];
    return name[0] == '/' ||
           snprintf(path, sizeof path, "%s/%s", project_dir, name) >= (int)sizeof path ||
           access(path, F_OK) == 0;
}

static bool is_clear_argument(const char *project_dir, const char *word)
{
    struct sma_str text = sma_str(word);
    bool is_url = sma_str_starts_with(text, SMA_STR("http://")) ||
                  sma_str_starts_with(text, SMA_STR("https://"));
    if (!is_url && strpbrk(word, SHELL_BYTES) != NULL)
        return false;
    /* java @arguments, but npx @scope/package */
    if (word[0] == '@' && (strchr(word, '/') == NULL || strstr(word, "..") != NULL ||
                           is_at_file(project_dir, word + 1)))
        return false;
    if (sma_str_starts_with(text, SMA_STR("file:")))
        return false;
    if (text.len > 2 && text.ptr[0] == '-' && text.ptr[1] != '-' &&
        !is_clear_text(project_dir, (struct sma_str){text.ptr + 2, text.len - 2}, false))
        return false;
    return is_clear_text(project_dir, text, false);
}

/* Names of variables whose value is looked up for code: each part must be absolute. */
static bool is_clear_variable(const char *project_dir, const char *entry)
{
    const char *equals = strchr(entry, '=');
    struct sma_str name = {entry, equals == NULL ? strlen(entry) : (size_t)(equals - entry)};
    if (equals == NULL)
        return true;
    if (sma_decisive_is_code_variable(name)) {
        bool is_path = sma_str_is_equal(name, SMA_STR("PATH"));
        for (const char *at = equals + 1;; at++) {
            size_t len = strcspn(at, ":");
            if (*at != '/' || (!is_path && strcspn(at, " ") < len))
                return false; /* also an empty part: the folder where it begins */
            at += len;
            if (*at == '\0')
                break;
        }
    }
    return is_clear_text(project_dir, sma_str(equals + 1), true);
}

/* A bare name is looked for along PATH. */
static bool is_outer_program(const char *project_dir, const struct sma_mcp_config_server *server)
{
    const char *path = getenv("PATH");
    if (strchr(server->command, '/') != NULL)
        return server->command[0] == '/' && !leads_inside(project_dir, server->command);
    for (size_t i = 0; i < server->env.count; i++)
        if (strncmp(server->env.items[i], "PATH=", 5) == 0)
            path = server->env.items[i] + 5;
    for (const char *at = path; at != NULL;) {
        char folder[PATH_MAX];
        size_t len = strcspn(at, ":");
        if (*at != '/' || len >= sizeof folder)
            return false;
        memcpy(folder, at, len);
        folder[len] = '\0';
        if (leads_inside(project_dir, folder))
            return false;
        at = at[len] == '\0' ? NULL : at + len + 1;
    }
    return true;
}

/* The first word that is no option, past options of this list; NULL: another option, or none. */
static const char *operand(const struct sma_mcp_words *args, const char *options)
{
    for (size_t i = 0; i < args->count; i++) {
        if (args->items[i][0] != '-')
            return args->items[i];
        if (!sma_list_has(options, sma_str(args->items[i])))
            return NULL;
    }
    return NULL;
}

bool sma_decisive_is_fetcher(const struct sma_mcp_config_server *server)
{
    return sma_list_has(FETCHERS, sma_program_base(sma_str(server->command)));
}

bool sma_decisive_has_means(const struct sma_mcp_config_server *server)
{
    char name[NAME_MAX + 1];
    bool has_keys = false;
    for (size_t i = 0; i < server->env.count; i++) {
        const char *entry = server->env.items[i];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(entry, "="), entry);
        has_keys |= sma_secrets_is_name(name);
    }
    return server->has_network || has_keys;
}

bool sma_decisive_is_accounted(const char *project_dir, const struct sma_mcp_config_server *server)
{
    struct sma_str base = sma_program_base(sma_str(server->command));
    while (base.len > 1 && memchr("0123456789.", base.ptr[base.len - 1], 11) != NULL)
        base.len--;
    const char *script = operand(&server->args, HARMLESS_OPTIONS);
    const char *package = operand(&server->args, FETCHER_OPTIONS);
    bool is_docker = sma_list_has("docker podman", base);
    if (!is_outer_program(project_dir, server) || sma_list_has(RUNNERS, base) ||
        base.ptr[0] == '.' || memmem(base.ptr, base.len, "ld-linux", 8) != NULL ||
        (sma_list_has(INTERPRETERS, base) && (script == NULL || script[0] != '/')) ||
        (sma_list_has(FETCHERS, base) && package == NULL) ||
        (is_docker && (server->args.count == 0 || strcmp(server->args.items[0], "run") != 0)))
        return false;
    for (size_t i = 0; i < server->args.count; i++)
        if (!is_clear_argument(project_dir, server->args.items[i]))
            return false;
    for (size_t i = 0; i < server->env.count; i++)
        if (!is_clear_variable(project_dir, server->env.items[i]))
            return false;
    return true;
}
