/* project.h — a project in a private folder for tests of tools: files of any content, and what a
 * tool made of a call. */
#ifndef SMA_TEST_TOOLS_PROJECT_H
#define SMA_TEST_TOOLS_PROJECT_H

#include "runtime/files/file_tools.h"
#include "sma/limits.h"
#include "sma/text.h"
#include "support/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

struct project
{
    char outer[64]; /* the private folder: outer/secret.txt lies outside of the project */
    char dir[80], state_dir[96];
    struct sma_config config;
    struct sma_file_tools *tools;
    struct sma_buf result;
};

static inline void project_put(const struct project *project, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", project->dir, path);
    for (char *slash = full + strlen(project->dir) + 1; (slash = strchr(slash, '/')) != NULL;
         slash++) {
        *slash = '\0';
        CHECK(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0);
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

/* malloc'ed, NULL when it is not there */
static inline char *project_get(const struct project *project, const char *path)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", project->dir, path);
    FILE *file = fopen(full, "re");
    if (file == NULL)
        return NULL;
    char *text = calloc(1, 1 << 20);
    CHECK(text != NULL);
    CHECK(fread(text, 1, (1 << 20) - 1, file) < (1 << 20) - 1);
    fclose(file);
    return text;
}

static inline void project_check(const struct project *project, const char *path,
                                 const char *wanted)
{
    char *text = project_get(project, path);
    CHECK((text == NULL) == (wanted == NULL));
    if (text != NULL)
        CHECK_STR(wanted, sma_str(text));
    free(text);
}

static inline void project_open(struct project *project, const char *permissions)
{
    *project = (struct project){.outer = "/tmp/sma-tools-XXXXXX"};
    CHECK(mkdtemp(project->outer) != NULL);
    snprintf(project->dir, sizeof project->dir, "%s/project", project->outer);
    snprintf(project->state_dir, sizeof project->state_dir, "%s/.ship", project->dir);
    CHECK(mkdir(project->dir, 0755) == 0);
    project_put(project, "../secret.txt", "OUTSIDE");
    project->config = (struct sma_config){.project_dir = project->dir,
                                          .state_dir = project->state_dir,
                                          .permissions_json = permissions,
                                          .api_token = "",
                                          .llm = {.api_key = "sk-canary-123456"}};
    struct sma_error error;
    CHECK_OK(sma_file_tools_create(&project->config, &project->tools, &error));
    sma_buf_init(&project->result, 1 << 20);
}

static inline int project_remove(const char *path, const struct stat *stat, int flag,
                                 struct FTW *place)
{
    (void)stat, (void)flag, (void)place;
    return remove(path);
}

static inline void project_close(struct project *project)
{
    sma_file_tools_destroy(project->tools);
    sma_buf_fini(&project->result);
    CHECK(nftw(project->outer, project_remove, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

/* The result of a call, NUL-terminated. */
static inline const char *project_run(struct project *project, const char *name,
                                      const char *arguments)
{
    sma_buf_clear(&project->result);
    const struct sma_file_call call = {.name = sma_str(name), .arguments = sma_str(arguments)};
    bool is_good = sma_file_tools_run(project->tools, &call, &project->result);
    CHECK(project->result.err == SMA_ERR_OK);
    CHECK(is_good == (strncmp(project->result.ptr, "{\"success\":true", 15) == 0));
    CHECK(project->result.len <= 30000);
    CHECK(strstr(project->result.ptr, "OUTSIDE") == NULL);
    CHECK(strstr(project->result.ptr, "sk-canary-123456") == NULL);
    return project->result.ptr;
}

#define CHECK_RUN(project, name, arguments, wanted)               \
    check_text_at(__FILE__, __LINE__, arguments, sma_str(wanted), \
                  sma_str(project_run(project, name, arguments)))
/* The result holds `part`. */
#define CHECK_RUN_HAS(project, name, arguments, part)                 \
    do {                                                              \
        const char *result_ = project_run(project, name, arguments);  \
        if (strstr(result_, part) == NULL)                            \
            fprintf(stderr, "%s %s: %s\n", name, arguments, result_); \
        CHECK(strstr(result_, part) != NULL);                         \
    } while (0)

#endif
