/*
 * Aim: no path, no link, no hard link, no swap of a component while it is used leads a tool out of
 * the project or to a protected file. Method: a tree full of traps, with and without openat2; a
 * thread that swaps a folder for a link.
 */
#include "project.h"
#include "runtime/files/file_rules.h"
#include "runtime/files/guard_priv.h"
#include "runtime/policy/owner_files.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/inotify.h>
#include <time.h>

#define RACE_MS 700

static void link_at(const struct project *project, const char *target, const char *path)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", project->dir, path);
    CHECK(symlink(target, full) == 0);
}

static void make_traps(struct project *project)
{
    char from[512], to[512];
    project_put(project, "plain.txt", "plain");
    project_put(project, "sub/inner.txt", "inner");
    project_put(project, ".env", "OUTSIDE env");
    project_put(project, "sub/.env.local", "OUTSIDE env");
    project_put(project, ".env.example", "example");
    project_put(project, ".ship/state.db", "OUTSIDE state");
    project_put(project, ".ship/public/p.txt", "public");
    project_put(project, ".ship/.cache/c.txt", "cache");
    project_put(project, ".ship/.cache/parts/d.b64", "OUTSIDE part");
    project_put(project, ".ship/logs/exec/0123456789abcdef.txt", "log");
    project_put(project, ".ship/logs/2026-01-01.jsonl", "OUTSIDE log");
    project_put(project, ".ship/output/answer-1.md", "OUTSIDE answer");
    project_put(project, ".ship/anything-new/x.txt", "OUTSIDE new");
    project_put(project, ".ship/anything-new.txt", "OUTSIDE new");
    project_put(project, ".git/config", "OUTSIDE config");
    project_put(project, ".git/HEAD", "ref");
    project_put(project, ".git/hooks/pre-commit", "hook");
    project_put(project, "sub/bare.git/config", "OUTSIDE config");
    project_put(project, "sub/bare.git/HEAD", "ref");
    project_put(project, "signed.asc", "-----BEGIN PGP PUBLIC KEY BLOCK-----");
    project_put(project, "me.asc", "OUTSIDE -----BEGIN PGP PRIVATE KEY BLOCK-----");
    project_put(project, "i18n/auth.json", "{\"password\": \"Kennwort\"}");
    project_put(project, "php/auth.json", "{\"github-oauth\": \"OUTSIDE\"}");
    project_put(project, "play/hosts.yml", "all:");
    project_put(project, "gh/hosts.yml", "oauth_token: OUTSIDE");
    project_put(project, "ship.json", "{}");
    project_put(project, "Agent.md", "agent");
    link_at(project, "../secret.txt", "out.txt");
    link_at(project, "/etc/passwd", "etc.txt");
    link_at(project, "..", "up");
    link_at(project, "/", "slash");
    link_at(project, "plain.txt", "in.txt");
    link_at(project, "sub", "insub");
    link_at(project, ".env", "env-link");
    link_at(project, ".ship", "ship-link");
    link_at(project, "../project/plain.txt", "back.txt");
    link_at(project, "loop", "loop");
    link_at(project, "../nothing", "dangling");
    snprintf(from, sizeof from, "%s/.env", project->dir);
    snprintf(to, sizeof to, "%s/env-hard.txt", project->dir);
    CHECK(link(from, to) == 0);
    snprintf(from, sizeof from, "%s/sub/.env.local", project->dir);
    snprintf(to, sizeof to, "%s/local-hard.txt", project->dir);
    CHECK(link(from, to) == 0);
    snprintf(from, sizeof from, "%s/plain.txt", project->dir);
    snprintf(to, sizeof to, "%s/plain-hard.txt", project->dir);
    CHECK(link(from, to) == 0);
    snprintf(to, sizeof to, "%s/fifo", project->dir);
    CHECK(mkfifo(to, 0644) == 0);
}

static struct sma_guard *open_guard(const struct project *project, bool has_openat2)
{
    struct sma_guard *guard;
    struct sma_error error;
    CHECK_OK(sma_guard_create(project->dir, &guard, &error));
    guard->has_openat2 &= has_openat2;
    return guard;
}

/* Clean, then read with a use. */
static enum sma_err read_path(const struct sma_guard *guard, const char *path,
                              enum sma_guard_use use, char **ret_text)
{
    struct sma_buf clean, why;
    size_t len;
    sma_buf_init(&clean, 5000);
    sma_buf_init(&why, 5000);
    enum sma_err err = sma_guard_clean(guard, sma_str(path), &clean, &why);
    if (err == SMA_ERR_OK)
        err = sma_guard_read(guard, sma_buf_str(&clean), use, 1 << 20, ret_text, &len, &why);
    CHECK((err == SMA_ERR_OK) == (why.len == 0));
    sma_buf_fini(&clean);
    sma_buf_fini(&why);
    return err;
}

CASE(nothing_outside_is_read)
{
    static const struct
    {
        const char *path, *text; /* NULL: refused */
        const char *by_parts;    /* without openat2, when it differs */
    } rows[] = {
        {"plain.txt", "plain", NULL},
        {"./sub//inner.txt", "inner", NULL},
        {"plain-hard.txt", "plain", NULL},
        {".env.example", "example", NULL},
        {".ship/public/p.txt", "public", NULL},
        {".ship/.cache/c.txt", "cache", NULL},
        {".ship/logs/exec/0123456789abcdef.txt", "log", NULL},
        {".git/HEAD", "ref", NULL},
        {"ship.json", "{}", NULL},
        {"in.txt", "plain", "-"},
        {"insub/inner.txt", "inner", "-"},
        {"out.txt", NULL, NULL},
        {"etc.txt", NULL, NULL},
        {"up/secret.txt", NULL, NULL},
        {"slash/etc/passwd", NULL, NULL},
        {"back.txt", NULL, NULL}, /* out and in again: out is out */
        {"loop", NULL, NULL},
        {"dangling", NULL, NULL},
        {"env-link", NULL, NULL},
        {"ship-link/state.db", NULL, NULL},
        {"env-hard.txt", NULL, NULL},
        {"local-hard.txt", NULL, NULL},
        {".env", NULL, NULL},
        {".ENV", NULL, NULL},
        {"sub/.env.local", NULL, NULL},
        {".ship/state.db", NULL, NULL},
        {".ship/.cache/parts/d.b64", NULL, NULL},
        {".Ship/state.db", NULL, NULL},
        {".ship/logs/2026-01-01.jsonl", NULL, NULL},
        {".ship/output/answer-1.md", NULL, NULL},
        {".ship/anything-new/x.txt", NULL, NULL},
        {".ship/anything-new.txt", NULL, NULL},
        {".ship/public/../state.db", NULL, NULL},
        {".git/config", NULL, NULL},
        {"sub/bare.git/config", NULL, NULL},
        {"sub/bare.git/HEAD", "ref", NULL},
        {"signed.asc", "-----BEGIN PGP PUBLIC KEY BLOCK-----", NULL},
        {"me.asc", NULL, NULL},
        {"i18n/auth.json", "{\"password\": \"Kennwort\"}", NULL},
        {"php/auth.json", NULL, NULL},
        {"play/hosts.yml", "all:", NULL},
        {"gh/hosts.yml", NULL, NULL},
        {"../secret.txt", NULL, NULL},
        {"sub/../../secret.txt", NULL, NULL},
        {"/etc/passwd", NULL, NULL},
        {"/proc/self/"
         "root/etc/passwd",
         NULL, NULL},
        {"fifo", NULL, NULL},
        {"sub", NULL, NULL},
        {"", NULL, NULL},
        {".", NULL, NULL},
        {"plain.txt/x", NULL, NULL},
    };
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    make_traps(&project);
    for (int by_parts = 0; by_parts < 2; by_parts++) {
        struct sma_guard *guard = open_guard(&project, by_parts == 0);
        for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
            char *text = NULL;
            const char *wanted = by_parts == 1 && rows[i].by_parts != NULL ? NULL : rows[i].text;
            enum sma_err err = read_path(guard, rows[i].path, SMA_GUARD_READ, &text);
            if ((err == SMA_ERR_OK) != (wanted != NULL))
                fprintf(stderr, "%s: %s\n", rows[i].path, sma_err_name(err));
            CHECK((err == SMA_ERR_OK) == (wanted != NULL));
            if (wanted != NULL)
                CHECK_STR(wanted, sma_str(text));
            free(text);
        }
        sma_guard_destroy(guard);
    }
}

CASE(nothing_outside_is_written)
{
    static const char *const refused[] = {"out.txt",
                                          "etc.txt",
                                          "up/new.txt",
                                          "slash/tmp/x",
                                          "back.txt",
                                          "loop",
                                          "dangling",
                                          "env-link",
                                          "env-hard.txt",
                                          ".env",
                                          ".env.new",
                                          "sub/.envrc",
                                          ".ship/public/p.txt",
                                          ".ship/new",
                                          ".git/HEAD",
                                          ".git/hooks/post-commit",
                                          ".git/new",
                                          "sub/.git/config",
                                          "insub/inner.txt",
                                          "in.txt",
                                          "fifo",
                                          "sub",
                                          "../secret.txt",
                                          "/etc/x",
                                          "plain.txt/x",
                                          ""};
    static const char *const allowed[] = {"plain.txt", "plain-hard.txt", "new.txt",
                                          "a/b/c.txt", ".github/x.yml",  "ship.json",
                                          "Agent.md",  ".env.example"};
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    make_traps(&project);
    for (int by_parts = 0; by_parts < 2; by_parts++) {
        struct sma_guard *guard = open_guard(&project, by_parts == 0);
        struct sma_buf clean, why;
        sma_buf_init(&clean, 5000);
        sma_buf_init(&why, 5000);
        for (size_t i = 0; i < SMA_COUNT_OF(refused) + SMA_COUNT_OF(allowed); i++) {
            bool is_allowed = i >= SMA_COUNT_OF(refused);
            const char *path = is_allowed ? allowed[i - SMA_COUNT_OF(refused)] : refused[i];
            sma_buf_clear(&clean);
            sma_buf_clear(&why);
            enum sma_err err = sma_guard_clean(guard, sma_str(path), &clean, &why);
            if (err == SMA_ERR_OK) {
                err = sma_guard_may_write(guard, sma_buf_str(&clean), &why);
                CHECK(is_allowed || err == SMA_ERR_BADINPUT);
                sma_buf_clear(&why);
                err = sma_guard_write(guard, sma_buf_str(&clean), SMA_STR("written"), NULL, &why);
            }
            if ((err == SMA_ERR_OK) != is_allowed)
                fprintf(stderr, "%s: %s %s\n", path, sma_err_name(err), why.ptr);
            CHECK((err == SMA_ERR_OK) == is_allowed);
            if (is_allowed)
                project_check(&project, path, "written");
        }
        sma_buf_fini(&clean);
        sma_buf_fini(&why);
        sma_guard_destroy(guard);
    }
    struct stat stat_now;
    char full[200];
    snprintf(full, sizeof full, "%s/new.txt", project.dir);
    mode_t mask = umask(0);
    umask(mask);
    CHECK(stat(full, &stat_now) == 0);
    CHECK_INT(0666 & ~mask, stat_now.st_mode & 0777);
    project_check(&project, "../secret.txt", "OUTSIDE");
    project_check(&project, ".env", "OUTSIDE env");
    project_check(&project, "sub/inner.txt", "inner");
    project_check(&project, ".git/HEAD", "ref");
}

CASE(other_names_of_the_configuration_are_not_sent)
{
    SMA_AUTO(project_close) struct project project;
    char from[512], to[512], *text = NULL;
    project_open(&project, "");
    project_put(&project, "ship.json", "{}");
    project_put(&project, "objects/.env", "OUTSIDE env");
    snprintf(from, sizeof from, "%s/ship.json", project.dir);
    snprintf(to, sizeof to, "%s/ship-hard.txt", project.dir);
    CHECK(link(from, to) == 0);
    snprintf(from, sizeof from, "%s/objects/.env", project.dir);
    snprintf(to, sizeof to, "%s/objects-hard.txt", project.dir);
    CHECK(link(from, to) == 0);
    link_at(&project, "ship.json", "ship-link.txt");
    struct sma_guard *guard = open_guard(&project, true);
    CHECK_OK(read_path(guard, "ship-hard.txt", SMA_GUARD_READ, &text));
    free(text);
    CHECK_ERR(SMA_ERR_BADINPUT, read_path(guard, "ship-hard.txt", SMA_GUARD_SEND, &text));
    CHECK_ERR(SMA_ERR_BADINPUT, read_path(guard, "ship-link.txt", SMA_GUARD_SEND, &text));
    CHECK_ERR(SMA_ERR_BADINPUT, read_path(guard, "objects-hard.txt", SMA_GUARD_READ, &text));
    sma_guard_destroy(guard);
}

/* é in one piece and in two, in a folder's name, too; another name leads to nothing protected. */
CASE(a_name_is_found_in_either_form)
{
    SMA_AUTO(project_close) struct project project;
    char *text = NULL;
    project_open(&project, "");
    project_put(&project, "re\xCC\x81sume\xCC\x81s/cafe\xCC\x81.txt", "in pieces");
    project_put(&project, "na\xC3\xAFve.txt", "composed");
    for (int has_openat2 = 0; has_openat2 < 2; has_openat2++) {
        struct sma_guard *guard = open_guard(&project, has_openat2 == 1);
        CHECK_OK(read_path(guard, "r\xC3\xA9sum\xC3\xA9s/caf\xC3\xA9.txt", SMA_GUARD_READ, &text));
        CHECK_TEXT("in pieces", text);
        free(text);
        CHECK_OK(read_path(guard, "nai\xCC\x88ve.txt", SMA_GUARD_READ, &text));
        CHECK_TEXT("composed", text);
        free(text);
        CHECK_ERR(SMA_ERR_NOTFOUND, read_path(guard, "naive.txt", SMA_GUARD_READ, &text));
        CHECK_ERR(SMA_ERR_NOTFOUND, read_path(guard, "\xC3\xA9.txt", SMA_GUARD_READ, &text));
        sma_guard_destroy(guard);
    }
}

CASE(names_have_classes)
{
    static const struct
    {
        const char *path;
        enum sma_guard_class read, list, send, write;
    } rows[] = {
        {"a.txt", SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PLAIN},
        {"ship.json", SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PROTECTED, SMA_GUARD_CAREFUL},
        {"Ship.JSON", SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PROTECTED, SMA_GUARD_CAREFUL},
        {"sub/ship.json", SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PLAIN},
        {"Agent.md", SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_CAREFUL},
        {".env", SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED,
         SMA_GUARD_PROTECTED},
        {"a/.envrc/b", SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED,
         SMA_GUARD_PROTECTED},
        {".ship/public/x", SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PROTECTED},
        {".ship/output/x", SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED,
         SMA_GUARD_PROTECTED},
        {".ship/anything-new/x", SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED,
         SMA_GUARD_PROTECTED},
        {".ship/memory/users/x", SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED,
         SMA_GUARD_PROTECTED},
        {".ship/publicx", SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED,
         SMA_GUARD_PROTECTED},
        {".ship/logs/exec/x", SMA_GUARD_PLAIN, SMA_GUARD_PROTECTED, SMA_GUARD_PLAIN,
         SMA_GUARD_PROTECTED},
        {".ship/.cache/telegram/x.pdf", SMA_GUARD_PLAIN, SMA_GUARD_PROTECTED, SMA_GUARD_PLAIN,
         SMA_GUARD_PROTECTED},
        {".ship/.cache", SMA_GUARD_PLAIN, SMA_GUARD_PROTECTED, SMA_GUARD_PLAIN,
         SMA_GUARD_PROTECTED},
        {".ship/public/.env", SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED,
         SMA_GUARD_PROTECTED},
        {"a/.git/modules/b/config", SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED,
         SMA_GUARD_PROTECTED},
        {"sub/bare.git/config", SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED,
         SMA_GUARD_PROTECTED},
        {"bare.GIT/modules/b/config.worktree", SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED,
         SMA_GUARD_PROTECTED, SMA_GUARD_PROTECTED},
        {"bare.git/HEAD", SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PLAIN},
        {".git", SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PROTECTED},
        {"git/config", SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PLAIN, SMA_GUARD_PLAIN},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_str path = sma_str(rows[i].path);
        CHECK_INT(rows[i].read, sma_guard_classify(path, SMA_GUARD_READ));
        CHECK_INT(rows[i].list, sma_guard_classify(path, SMA_GUARD_LIST));
        CHECK_INT(rows[i].send, sma_guard_classify(path, SMA_GUARD_SEND));
        CHECK_INT(rows[i].write, sma_guard_classify(path, SMA_GUARD_WRITE));
    }
}

/* What people are told holds keys, no tool reads; what only shows how it is written, tools may. */
CASE(files_with_keys_are_secrets)
{
    static const char *const keys[] = {".env", "sub/.env.local", "prod.env", "deploy/app.ENV"};
    static const char *const read[] = {"x/.dev.vars",
                                       ".flaskenv",
                                       ".Renviron",
                                       "a/terraform.tfstate",
                                       "a.tfstate.backup",
                                       "prod.tfvars",
                                       ".vault_pass.txt",
                                       "local.settings.json",
                                       "office.ovpn",
                                       "wg0.conf",
                                       "secring.gpg",
                                       ".token",
                                       ".github_token",
                                       ".sentryclirc",
                                       ".bash_history",
                                       "x-firebase-adminsdk-y.json",
                                       "my-service-account-2.json"};
    static const char *const plain[] = {".env.example", "a/.env.sample",   ".env.template",
                                        ".env.dist",    "app.env.example", "env.c",
                                        "history",      "hosts.yml",       "auth.json"};
    for (size_t i = 0; i < SMA_COUNT_OF(keys); i++) {
        const char *reason = sma_file_owner_reason(sma_str(keys[i]));
        CHECK(reason != NULL && strstr(reason, "keys") != NULL);
        CHECK_INT(SMA_GUARD_PROTECTED, sma_guard_classify(sma_str(keys[i]), SMA_GUARD_READ));
    }
    for (size_t i = 0; i < SMA_COUNT_OF(read); i++)
        CHECK_INT(SMA_GUARD_PROTECTED, sma_guard_classify(sma_str(read[i]), SMA_GUARD_READ));
    for (size_t i = 0; i < SMA_COUNT_OF(plain); i++)
        CHECK_INT(SMA_GUARD_PLAIN, sma_guard_classify(sma_str(plain[i]), SMA_GUARD_READ));
}

/* The delivery that was made for such a file opens it, and nothing else. */
CASE(an_output_opens_outputs_alone)
{
    static const char *const refused[] = {"plain.txt",
                                          ".ship/public/p.txt",
                                          ".ship/state.db",
                                          ".ship/output",
                                          ".ship/output/",
                                          ".ship/output/sub/x.md",
                                          ".ship/outputx",
                                          ".ship/output/link.md",
                                          ".ship/output/../state.db",
                                          "sub/.ship/output/x.md"};
    SMA_AUTO(project_close) struct project project;
    char *text = NULL;
    project_open(&project, "");
    make_traps(&project);
    project_put(&project, ".ship/output/sub/x.md", "deeper");
    project_put(&project, "sub/.ship/output/x.md", "elsewhere");
    link_at(&project, "../state.db", ".ship/output/link.md");
    for (int by_parts = 0; by_parts < 2; by_parts++) {
        struct sma_guard *guard = open_guard(&project, by_parts == 0);
        CHECK_OK(read_path(guard, ".ship/output/answer-1.md", SMA_GUARD_OUTPUT, &text));
        CHECK_STR("OUTSIDE answer", sma_str(text));
        free(text);
        CHECK_ERR(SMA_ERR_BADINPUT,
                  read_path(guard, ".ship/output/answer-1.md", SMA_GUARD_SEND, &text));
        for (size_t i = 0; i < SMA_COUNT_OF(refused); i++)
            CHECK_ERR(SMA_ERR_BADINPUT, read_path(guard, refused[i], SMA_GUARD_OUTPUT, &text));
        sma_guard_destroy(guard);
    }
}

CASE(paths_of_commands_stay)
{
    static const struct
    {
        const char *path;
        bool stays;
    } rows[] = {{"plain.txt", true}, {"sub/new.txt", true}, {"new/folder/x", true},
                {"insub/x", true},   {"in.txt", true},      {"out.txt", false},
                {"up/x", false},     {"dangling", false},   {"env-link", false},
                {"slash/x", false},  {"../x", false},       {".env", false},
                {"", true}};
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    make_traps(&project);
    struct sma_guard *guard = open_guard(&project, true);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        if (rows[i].stays != sma_guard_stays(guard, sma_str(rows[i].path)))
            fprintf(stderr, "%s\n", rows[i].path);
        CHECK(rows[i].stays == sma_guard_stays(guard, sma_str(rows[i].path)));
    }
    sma_guard_destroy(guard);
}

/* -- a race ------------------------------------------------------------------------------------ */
struct race
{
    const struct project *project;
    atomic_bool is_over;
    atomic_uint swap_count;
};

/* swap/file.txt is one of the project, then one of a folder outside, again and again. */
static void *swap_folder(void *user)
{
    struct race *race = user;
    char folder[128], trap[128];
    snprintf(folder, sizeof folder, "%s/swap", race->project->dir);
    snprintf(trap, sizeof trap, "%s/trap", race->project->dir);
    while (!atomic_load(&race->is_over)) {
        CHECK(renameat2(AT_FDCWD, folder, AT_FDCWD, trap, RENAME_EXCHANGE) == 0);
        atomic_fetch_add(&race->swap_count, 1);
    }
    return NULL;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

CASE(a_swapped_folder_leads_nowhere)
{
    for (int by_parts = 0; by_parts < 2; by_parts++) {
        struct project project;
        project_open(&project, "");
        project_put(&project, "swap/file.txt", "inside");
        project_put(&project, "../outside/file.txt", "OUTSIDE");
        link_at(&project, "../outside", "trap");
        struct sma_guard *guard = open_guard(&project, by_parts == 0);
        struct race race = {.project = &project};
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, swap_folder, &race) == 0);
        unsigned read_count = 0, write_count = 0, tries = 0;
        int64_t end_ms = now_ms() + RACE_MS, latest_ms = end_ms + 10000;
        while (now_ms() < end_ms || (now_ms() < latest_ms && (read_count == 0 || write_count == 0 ||
                                                              read_count == tries))) {
            char *text = NULL;
            tries++;
            if (read_path(guard, "swap/file.txt", SMA_GUARD_READ, &text) == SMA_ERR_OK) {
                CHECK(strncmp(text, "inside", 6) == 0);
                read_count++;
            }
            free(text);
            struct sma_buf why;
            sma_buf_init(&why, 1000);
            if (sma_guard_write(guard, SMA_STR("swap/file.txt"), SMA_STR("inside too"), NULL,
                                &why) == SMA_ERR_OK)
                write_count++;
            sma_buf_fini(&why);
        }
        atomic_store(&race.is_over, true);
        CHECK(pthread_join(thread, NULL) == 0);
        project_check(&project, "../outside/file.txt", "OUTSIDE");
        char outside[128];
        snprintf(outside, sizeof outside, "%s/outside", project.outer);
        DIR *dir = opendir(outside);
        CHECK(dir != NULL);
        int count = 0;
        while (readdir(dir) != NULL)
            count++;
        closedir(dir);
        CHECK_INT(3, count); /* nothing was made there either */
        CHECK(read_count > 0 && write_count > 0);
        CHECK(atomic_load(&race.swap_count) > 10);
        CHECK(tries > read_count); /* the race was met */
        sma_guard_destroy(guard);
        project_close(&project);
    }
}

/* -- patterns ---------------------------------------------------------------------------------- */
CASE(patterns_fit)
{
    static const struct
    {
        const char *pattern, *path;
        bool fits;
    } rows[] = {
        {"src/**", "src/a.c", true},
        {"src/**", "src/a/b.c", true},
        {"src/**", "xsrc/a.c", false},
        {"src/**", "a/src/b.c", false},
        {"src/**", "srcx", false},
        {"**/*.md", "README.md", true},
        {"**/*.md", "a/b/c.md", true},
        {"**/*.md", "a/b/c.mdx", false},
        {"*.md", "a/b.md", true},
        {"*.md", "b.md", true},
        {"*.md", "md", false},
        {"README.md", "README.md", true},
        {"README.md", "a/README.md", false},
        {"docs/", "docs/a/b", true},
        {"docs/", "docs", false},
        {"a/*/c", "a/b/c", true},
        {"a/*/c", "a/b/b/c", false},
        {"a/**/c", "a/c", true},
        {"a/**/c", "a/b/b/c", true},
        {"a/**/b/**/c", "a/b/x/b/c", true},
        {"a/**/b/**/c", "a/x/c", false},
        {"**", "anything/at/all", true},
        {"./src/**", "src/a", true},
        {"/src/**", "src/a", true},
        {"{src,lib}/**", "lib/x", true},
        {"*.{c,h}", "a/b.h", true},
        {"*.{c,h}", "a/b.o", false},
        {"?.c", "a.c", true},
        {"?.c", "\xe4\xbd\xa0.c", true},
        {"?.c", "ab.c", false},
        {"*", "a", true},
        {"a*", "b/a1", true},
        {"", "x", true},
        {"{a", "{a", true},
        {"**/x", "x", true},
        {"x/**", "x", false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        if (rows[i].fits != sma_glob_fits(sma_str(rows[i].pattern), sma_str(rows[i].path)))
            fprintf(stderr, "%s on %s\n", rows[i].pattern, rows[i].path);
        CHECK(rows[i].fits == sma_glob_fits(sma_str(rows[i].pattern), sma_str(rows[i].path)));
    }
    char pattern[1001], path[4001]; /* what would take for ever elsewhere */
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    for (size_t i = 0; i < sizeof pattern - 1; i++)
        pattern[i] = i % 2 == 0 ? '*' : 'a';
    pattern[sizeof pattern - 2] = 'b';
    pattern[sizeof pattern - 1] = '\0';
    CHECK(!sma_glob_fits(sma_str(pattern), sma_str(path)));
    for (size_t i = 0; i < sizeof pattern - 1; i++)
        pattern[i] = "{a,b}"[i % 5];
    CHECK(!sma_glob_fits(sma_str(pattern), sma_str(path)));
}

CASE(rules_of_files_are_checked)
{
    static const struct
    {
        const char *permissions, *path;
        enum sma_file_verdict read, write;
    } rows[] = {
        {"", "a.c", SMA_FILE_ALLOW, SMA_FILE_ASK},
        {"{\"write_repo\":true}", "a.c", SMA_FILE_ALLOW, SMA_FILE_ALLOW},
        {"{\"write_repo\":false,\"read_repo\":true}", "a.c", SMA_FILE_ALLOW, SMA_FILE_REFUSE},
        {"{\"write_repo\":{\"requiresApproval\":false}}", "a.c", SMA_FILE_ALLOW, SMA_FILE_ALLOW},
        {"{\"write_repo\":{\"requiresApproval\":true}}", "a.c", SMA_FILE_ALLOW, SMA_FILE_ASK},
        {"{\"write_repo\":{}}", "a.c", SMA_FILE_ALLOW, SMA_FILE_ASK},
        {"{\"write_repo\":{\"paths\":[\"src/**\",\"**/*.md\"],\"requiresApproval\":true}}",
         "src/a.c", SMA_FILE_ALLOW, SMA_FILE_ASK},
        {"{\"write_repo\":{\"paths\":[\"src/**\",\"**/*.md\"],\"requiresApproval\":true}}",
         "lib/a.c", SMA_FILE_ALLOW, SMA_FILE_REFUSE},
        {"{\"write_repo\":{\"paths\":[]}}", "a.c", SMA_FILE_ALLOW, SMA_FILE_REFUSE},
        {"{\"read_repo\":false}", "a.c", SMA_FILE_REFUSE, SMA_FILE_ASK},
        {"{\"read_repo\":{\"paths\":[\"docs/\"]}}", "docs/a", SMA_FILE_ALLOW, SMA_FILE_ASK},
        {"{\"read_repo\":{\"paths\":[\"docs/\"]}}", "a.c", SMA_FILE_REFUSE, SMA_FILE_ASK},
    };
    static const char *const bad[] = {"{\"read_repo\":1}",
                                      "{\"write_repo\":\"yes\"}",
                                      "{\"write_repo\":{\"paths\":\"src\"}}",
                                      "{\"write_repo\":{\"paths\":[1]}}",
                                      "{\"write_repo\":{\"paths\":[\"\"]}}",
                                      "{\"write_repo\":{\"requiresApproval\":1}}",
                                      "{\"send_elsewhere\":true}",
                                      "{\"send_elsewhere\":\"maybe\"}",
                                      "[]",
                                      "{"};
    struct sma_file_rules *rules;
    struct sma_error error;
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        CHECK_OK(sma_file_rules_parse(rows[i].permissions, &rules, &error));
        CHECK_INT(rows[i].read, sma_file_rules_read(rules, sma_str(rows[i].path)));
        CHECK_INT(rows[i].write, sma_file_rules_write(rules, sma_str(rows[i].path)));
        CHECK_INT(SMA_FILE_ASK, sma_file_rules_send(rules));
        sma_file_rules_destroy(rules);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++) {
        CHECK_ERR(SMA_ERR_BADINPUT, sma_file_rules_parse(bad[i], &rules, &error));
        CHECK(strncmp(error.text, "permissions", 11) == 0);
    }
    CHECK_OK(sma_file_rules_parse("{\"send_elsewhere\":\"refuse\"}", &rules, &error));
    CHECK_INT(SMA_FILE_REFUSE, sma_file_rules_send(rules));
    sma_file_rules_destroy(rules);
}

/* An editor or a command writes between our reading and our replacing. */
CASE(what_was_not_seen_is_not_written_over)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    for (int by_parts = 0; by_parts < 2; by_parts++) {
        struct sma_guard *guard = open_guard(&project, by_parts == 0);
        struct sma_buf why;
        sma_buf_init(&why, 1000);
        const struct sma_str path = SMA_STR("seen.txt"), nothing = {NULL, 0};
        project_put(&project, "seen.txt", "theirs");
        CHECK_INT(SMA_ERR_BUSY,
                  sma_guard_write_over(guard, path, SMA_STR("old"), SMA_STR("x"), &why));
        CHECK_INT(SMA_ERR_BUSY, sma_guard_write_over(guard, path, SMA_STR(""), SMA_STR("x"), &why));
        CHECK_INT(SMA_ERR_BUSY, sma_guard_write_over(guard, path, nothing, SMA_STR("x"), &why));
        project_check(&project, "seen.txt", "theirs");
        CHECK_OK(sma_guard_write_over(guard, path, SMA_STR("theirs"), SMA_STR(""), &why));
        CHECK_OK(sma_guard_write_over(guard, path, SMA_STR(""), SMA_STR("ours"), &why));
        project_check(&project, "seen.txt", "ours");
        CHECK_OK(sma_guard_write_over(guard, SMA_STR("sub/new.txt"), nothing, SMA_STR("n"), &why));
        project_check(&project, "sub/new.txt", "n");
        CHECK_INT(SMA_ERR_BUSY, sma_guard_write_over(guard, SMA_STR("gone.txt"), SMA_STR("old"),
                                                     SMA_STR("x"), &why));
        char full[256];
        snprintf(full, sizeof full, "%s/gone.txt", project.config.project_dir);
        CHECK(access(full, F_OK) != 0);
        snprintf(full, sizeof full, "%s/sub/new.txt", project.config.project_dir);
        CHECK(unlink(full) == 0);
        sma_buf_fini(&why);
        sma_guard_destroy(guard);
    }
}

/* How often somebody has read what `watch` looks at while `path` was. */
static unsigned count_reads(const struct sma_guard *guard, int watch, const char *path,
                            enum sma_err expected)
{
    char events[4096];
    char *text = NULL;
    CHECK_INT(expected, read_path(guard, path, SMA_GUARD_READ, &text));
    free(expected == SMA_ERR_OK ? text : NULL);
    ssize_t len = read(watch, events, sizeof events);
    return len <= 0 ? 0 : (unsigned)len / sizeof(struct inotify_event);
}

static void put_settings(struct project *project, const char *text)
{
    project_open(project, "");
    project_put(project, ".git/config", text);
    project_put(project, "plain.txt", "plain");
    project_put(project, "shared.cfg", "[http]\n\textraheader = AUTHORIZATION: OUTSIDE\n");
}

/* Every file that a tool opens asked .git/config what it includes, by reading it. */
CASE(git_settings_that_include_nothing_are_read_once)
{
    static const char includes[] = "[include]\n\tpath = ../later.cfg\n";
    SMA_AUTO(project_close) struct project project;
    SMA_AUTO(project_close) struct project other;
    const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
    char config[512];
    put_settings(&other, includes); /* of what is not there yet */
    put_settings(&project, "[core]\n\tbare = false\n");
    snprintf(config, sizeof config, "%s/.git/config", project.dir);
    struct sma_guard *guard = open_guard(&project, true),
                     *guard_of_other = open_guard(&other, true);
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    CHECK(watch >= 0 && inotify_add_watch(watch, config, IN_ACCESS) >= 0);
    /* what was written in the last seconds may be written again at the same time */
    CHECK(count_reads(guard, watch, "plain.txt", SMA_ERR_OK) > 0);
    for (unsigned i = 0; i < 100 && count_reads(guard, watch, "plain.txt", SMA_ERR_OK) > 0; i++)
        nanosleep(&pause, NULL);
    for (unsigned i = 0; i < 20; i++)
        CHECK_INT(0, count_reads(guard, watch, "shared.cfg", SMA_ERR_OK));
    project_put(&project, ".git/config", includes);
    link_at(&project, "shared.cfg", "later.cfg");
    CHECK(count_reads(guard, watch, "shared.cfg", SMA_ERR_BADINPUT) > 0);

    CHECK_INT(0, count_reads(guard_of_other, watch, "shared.cfg", SMA_ERR_OK));
    link_at(&other, "shared.cfg", "later.cfg");
    CHECK_INT(0, count_reads(guard_of_other, watch, "shared.cfg", SMA_ERR_BADINPUT));
    close(watch);
    sma_guard_destroy(guard);
    sma_guard_destroy(guard_of_other);
}

CASES_MAIN
