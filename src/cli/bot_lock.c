/* bot_lock.c — see bot_lock.h. */
#include "bot_lock.h"

#include "sma/bot.h"
#include "sma/buf.h"
#include "sma/param.h"
#include "sma/text.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define IDENTITY_BYTES_MAX 65536

/* A folder that nobody else can put anything into. */
static bool is_own_folder(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
           (facts.st_mode & 077) == 0;
}

static bool find_folder(char path[PATH_MAX])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int len = runtime != NULL && runtime[0] == '/' && is_own_folder(runtime)
                  ? snprintf(path, PATH_MAX, "%s/shipmyagent", runtime)
                  : snprintf(path, PATH_MAX, "/tmp/shipmyagent-%u", (unsigned)geteuid());
    if (len < 0 || len >= PATH_MAX)
        return false;
    (void)mkdir(path, 0700); /* it may be there; whose it is is looked at */
    return is_own_folder(path);
}

static const struct sma_params *table_of(const struct sma_params *const *platforms,
                                         const char *name)
{
    for (; *platforms != NULL; platforms++)
        if (sma_bot_is_of(sma_str(name), (*platforms)->name))
            return *platforms;
    return NULL;
}

/* What is written, or what the first bot takes from a variable. */
static const char *text_of(const struct sma_param *row, const json_t *block, bool is_first)
{
    const char *text = json_string_value(json_object_get(block, row->path));
    if ((text == NULL || text[0] == '\0') && row->env != NULL && is_first)
        text = getenv(row->env);
    return text == NULL ? "" : text;
}

/* The account, and where it is: the same id elsewhere is another bot. false: it names none. */
static bool put_identity(struct sma_buf *buf, const struct sma_params *table, const json_t *block,
                         bool is_first)
{
    bool has_account = false;
    sma_buf_put_text(buf, table->name);
    for (size_t i = 0; i < table->count; i++) {
        const struct sma_param *row = &table->rows[i];
        bool is_account = !has_account && (row->traits & SMA_PARAM_ACCOUNT) != 0;
        if (!is_account && row->type != SMA_PARAM_TYPE_URL && row->type != SMA_PARAM_TYPE_SOCKET)
            continue;
        const char *text = text_of(row, block, is_first);
        has_account = has_account || (is_account && text[0] != '\0');
        sma_buf_put_char(buf, '\n');
        sma_buf_put_text(buf, text);
    }
    return has_account && buf->err == SMA_ERR_OK;
}

static void tell(int fd, const char *name, sma_config_warn_fn *warn, void *user)
{
    char holder[PATH_MAX + 32] = "", line[PATH_MAX + 400];
    ssize_t len = pread(fd, holder, sizeof holder - 1, 0);
    holder[len > 0 ? strcspn(holder, "\n") : 0] = '\0';
    (void)snprintf(line, sizeof line,
                   "adapters.%s: another service of yours has this bot already: %s. Its messages "
                   "go to either at random; stop one of the two, or give one a bot of its own",
                   name, holder[0] == '\0' ? "a project that has just started" : holder);
    warn(user, line);
}

static void write_holder(int fd, const char *project)
{
    char text[PATH_MAX + 32];
    int len = snprintf(text, sizeof text, "%s (process %ld)\n", project, (long)getpid());
    if (ftruncate(fd, 0) == 0 && len > 0 && (size_t)len < sizeof text)
        (void)!pwrite(fd, text, (size_t)len, 0); /* without it the folder is not named */
}

void sma_bot_locks_take(struct sma_bot_locks *locks, const struct sma_config *config,
                        const struct sma_params *const *platforms, sma_config_warn_fn *warn,
                        void *user)
{
    static const uint8_t key[16];
    char folder[PATH_MAX], path[PATH_MAX + 32];
    if (!find_folder(folder))
        return;
    for (size_t i = 0; i < config->adapter_count; i++) {
        const struct sma_config_adapter *adapter = &config->adapters[i];
        const struct sma_params *table = table_of(platforms, adapter->name);
        json_t *block = json_loads(adapter->json, 0, NULL);
        bool is_first = sma_bot_id(sma_str(adapter->name)).len == 0;
        struct sma_buf identity;
        sma_buf_init(&identity, IDENTITY_BYTES_MAX);
        bool has_one =
            adapter->is_enabled && table != NULL && put_identity(&identity, table, block, is_first);
        unsigned long long hash = has_one ? sma_siphash(key, identity.ptr, identity.len) : 0;
        if (identity.ptr != NULL)
            explicit_bzero(identity.ptr, identity.len);
        sma_buf_fini(&identity);
        json_decref(block);
        if (!has_one || locks->count == SMA_COUNT_OF(locks->fds))
            continue;
        (void)snprintf(path, sizeof path, "%s/bot-%016llx", folder, hash);
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            write_holder(fd, config->project_dir);
            locks->fds[locks->count++] = fd;
        } else if (fd >= 0) {
            tell(fd, adapter->name, warn, user);
            close(fd);
        }
    }
}

void sma_bot_locks_release(struct sma_bot_locks *locks)
{
    while (locks->count > 0)
        close(locks->fds[--locks->count]);
}
