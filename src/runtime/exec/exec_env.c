/*
 * exec_env.c — which variables a command gets.
 */
#include "exec_env.h"

#include "sma/text.h"

#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define SPACE_BYTES_MAX (1024 * 1024) /* what the kernel takes is little more */

/* Anywhere in a name: it may be a secret. */
static const char *const SECRET_WORDS[] = {"KEY",        "TOKEN", "SECRET",     "PASS",
                                           "CREDENTIAL", "AUTH",  "COOKIE",     "PRIVATE",
                                           "DSN",        "_PWD",  "SESSION_ID", "WEBHOOK"};

/* These name a program, a library or a file of start-up commands, or a socket of the machine; a
 * star stands for the rest. */
static const char *const STEERING_NAMES[] = {"LD_*",
                                             "DYLD_*",
                                             "BASH_*",
                                             "ENV",
                                             "PROMPT_COMMAND",
                                             "SHELLOPTS",
                                             "BASHOPTS",
                                             "PS4",
                                             "IFS",
                                             "CDPATH",
                                             "GLOBIGNORE",
                                             "GIT_*",
                                             "SSH_*",
                                             "GPG_*",
                                             "PYTHON*",
                                             "PERL*",
                                             "RUBY*",
                                             "GEM_*",
                                             "NODE_*",
                                             "NPM_CONFIG_*",
                                             "JAVA_*",
                                             "_JAVA_OPTIONS",
                                             "JDK_*",
                                             "CLASSPATH",
                                             "MAKEFLAGS",
                                             "MAKEFILES",
                                             "MFLAGS",
                                             "LESS*",
                                             "PAGER",
                                             "MANPAGER",
                                             "EDITOR",
                                             "VISUAL",
                                             "BROWSER",
                                             "GCONV_PATH",
                                             "LOCPATH",
                                             "NLSPATH",
                                             "GLIBC_TUNABLES",
                                             "MALLOC_*",
                                             "HOSTALIASES",
                                             "RES_OPTIONS",
                                             "LOCALDOMAIN",
                                             "TMPDIR",
                                             "TMP",
                                             "TEMP",
                                             "XDG_RUNTIME_DIR",
                                             "DBUS_*",
                                             "DOCKER_*",
                                             "KUBE*",
                                             "NOTIFY_SOCKET",
                                             "LISTEN_*",
                                             "WATCHDOG_*",
                                             "INVOCATION_ID",
                                             "JOURNAL_STREAM",
                                             "CREDENTIALS_DIRECTORY",
                                             "SMA_*",
                                             "TAR_OPTIONS",
                                             "GREP_OPTIONS",
                                             "FPATH",
                                             "ZDOTDIR",
                                             "LUA_*",
                                             "PHP*",
                                             "R_*",
                                             "JULIA_*",
                                             "RUSTC_*",
                                             "CARGO_*",
                                             "GOFLAGS",
                                             "CC",
                                             "CXX",
                                             "OPENSSL_*",
                                             "ASAN_OPTIONS",
                                             "LSAN_OPTIONS",
                                             "UBSAN_OPTIONS",
                                             "TSAN_OPTIONS",
                                             "PWD",
                                             "OLDPWD",
                                             "SHLVL",
                                             "_"};

static bool is_listed(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_steering(const char *name)
{
    for (size_t i = 0; i < SMA_COUNT_OF(STEERING_NAMES); i++) {
        size_t len = strlen(STEERING_NAMES[i]);
        bool is_open = STEERING_NAMES[i][len - 1] == '*';
        if (is_open ? strncasecmp(name, STEERING_NAMES[i], len - 1) == 0
                    : strcasecmp(name, STEERING_NAMES[i]) == 0)
            return true;
    }
    return false;
}

static bool looks_secret(const char *name)
{
    for (size_t i = 0; i < SMA_COUNT_OF(SECRET_WORDS); i++)
        if (strcasestr(name, SECRET_WORDS[i]) != NULL)
            return true;
    return sma_secrets_is_name(name);
}

/* scheme://user:password@host, as in a DATABASE_URL or a proxy's address. */
bool sma_exec_env_has_userinfo(const char *value)
{
    for (const char *at = strstr(value, "://"); at != NULL; at = strstr(at + 3, "://")) {
        size_t len = strcspn(at + 3, "/?# \t\n");
        if (memchr(at + 3, '@', len) != NULL)
            return true;
    }
    return false;
}

static bool is_named(const struct sma_exec_options *options, const char *name)
{
    return is_listed((const char *const *)options->env_names, options->env_count, name);
}

bool sma_exec_env_is_kept(const struct sma_config *config, const struct sma_exec_options *options,
                          const struct sma_secrets *secrets, const char *name, const char *value)
{
    if (strcmp(name, SMA_EXEC_MARKER) == 0)
        return false;
    if (is_named(options, name))
        return true;
    return !is_listed(config->dotenv_names, config->dotenv_count, name) && !is_steering(name) &&
           !looks_secret(name) && !sma_exec_env_has_userinfo(value) &&
           !sma_secrets_has(secrets, sma_str(value)) && strncmp(value, "() {", 4) != 0;
}

struct builder
{
    struct sma_buf bytes;
    size_t count;
};

static void add(struct builder *builder, const char *name, size_t name_len, const char *value)
{
    sma_buf_put(&builder->bytes, name, name_len);
    sma_buf_put_char(&builder->bytes, '=');
    sma_buf_put(&builder->bytes, value, strlen(value) + 1);
    builder->count++;
}

static void add_kept(struct builder *builder, const struct sma_config *config,
                     const struct sma_exec_options *options, const struct sma_secrets *secrets)
{
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        const char *equals = strchr(*entry, '=');
        size_t len = equals == NULL ? 0 : (size_t)(equals - *entry);
        char name[256];
        if (len == 0 || len >= sizeof name)
            continue;
        memcpy(name, *entry, len);
        name[len] = '\0';
        if (strcmp(name, "PATH") == 0 && !is_named(options, name))
            continue; /* see add_path */
        if (sma_exec_env_is_kept(config, options, secrets, name, equals + 1) &&
            builder->bytes.len + strlen(*entry) < SPACE_BYTES_MAX / 2)
            add(builder, name, len, equals + 1);
    }
}

/* PATH without folders that are found from wherever one stands, and without those of the project: a
 * program written there would run in the place of the one that a rule names. */
static void add_path(struct builder *builder, const struct sma_config *config)
{
    const char *path = getenv("PATH");
    size_t root_len = strlen(config->project_dir), before = builder->bytes.len;
    sma_buf_put_text(&builder->bytes, "PATH=");
    for (const char *at = path == NULL ? "" : path; *at != '\0';) {
        size_t len = strcspn(at, ":");
        bool is_inside = len >= root_len && strncmp(at, config->project_dir, root_len) == 0 &&
                         (len == root_len || at[root_len] == '/');
        if (len > 0 && at[0] == '/' && !is_inside && len < SPACE_BYTES_MAX / 2) {
            if (builder->bytes.len > before + 5)
                sma_buf_put_char(&builder->bytes, ':');
            sma_buf_put(&builder->bytes, at, len);
        }
        at += len + (at[len] == ':');
    }
    if (builder->bytes.len == before + 5)
        sma_buf_put_text(&builder->bytes, "/usr/local/bin:/usr/bin:/bin");
    sma_buf_put_char(&builder->bytes, '\0');
    builder->count++;
}

/* A folder that looks like a repository without a working tree is one to git, with a config that
 * names programs to run: it takes nothing more than files to make one, so git is to use none that
 * is not named. */
static void add_git(struct builder *builder)
{
    static const char *const settings[][2] = {{"GIT_CONFIG_COUNT", "1"},
                                              {"GIT_CONFIG_KEY_0", "safe.bareRepository"},
                                              {"GIT_CONFIG_VALUE_0", "explicit"}};
    for (size_t i = 0; i < SMA_COUNT_OF(settings); i++)
        add(builder, settings[i][0], strlen(settings[i][0]), settings[i][1]);
}

/* The pointers in front of the text they point to. */
static char **lay_out(const struct builder *builder)
{
    size_t head = (builder->count + 1) * sizeof(char *);
    char **list = malloc(head + builder->bytes.len);
    if (list == NULL)
        return NULL;
    char *text = (char *)list + head;
    memcpy(text, builder->bytes.ptr, builder->bytes.len);
    for (size_t i = 0; i < builder->count; i++) {
        list[i] = text;
        text += strlen(text) + 1;
    }
    list[builder->count] = NULL;
    return list;
}

char **sma_exec_env_create(const struct sma_config *config, const struct sma_exec_options *options,
                           const struct sma_secrets *secrets, const char *marker)
{
    struct builder builder = {.count = 0};
    sma_buf_init(&builder.bytes, SPACE_BYTES_MAX);
    add_kept(&builder, config, options, secrets);
    if (!is_named(options, "PATH") || getenv("PATH") == NULL)
        add_path(&builder, config);
    if (!is_named(options, "GIT_CONFIG_COUNT"))
        add_git(&builder);
    add(&builder, "PWD", 3, config->project_dir);
    add(&builder, SMA_EXEC_MARKER, strlen(SMA_EXEC_MARKER), marker);
    char **list = builder.bytes.err == SMA_ERR_OK ? lay_out(&builder) : NULL;
    sma_buf_fini(&builder.bytes);
    return list;
}
