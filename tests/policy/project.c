/*
 * project.c — see project.h.
 */
#include "project.h"

#include "runtime/policy/read_rules.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_COUNT_MAX 400
#define HOME "/home"

const char *const PROJECT_POLICIES[PROJECT_POLICY_COUNT] = {
    /* a sensible list of a project that is worked on */
    "{\"write_repo\":true,\"exec_shell\":{\"deny\":[\"rm\"],\"allow\":["
    "\"grep\",\"cat\",\"ls\",\"head\",\"tail\",\"wc\",\"cut\",\"uniq\",\"tr\",\"diff\",\"echo\","
    "\"printf\",\"date\","
    "\"git\",\"find\",\"tar\",\"sed\",\"awk\",\"make\",\"npm test\",\"python3 "
    "scripts/report.py\",\"cp\",\"mv\","
    "\"tee\",\"sort\",\"split\",\"mkdir\",\"touch\",\"curl\",\"wget\",\"zip\",\"rsync\",\"cargo "
    "build\",\"du\",\"stat\","
    "\"file\",\"basename\",\"dirname\",\"seq\",\"ln\",\"gzip\"]}}",
    /* whatever is understood */
    "{\"write_repo\":true,\"exec_shell\":true}",
    /* what somebody may who is allowed nothing */
    "{}",
    /* what `init` lets run */
    "{\"write_repo\":true,\"exec_shell\":{\"deny\":[\"rm\"],\"allow\":[" SMA_POLICY_READ_RULES_JSON
    "]}}",
};

/* Files whose content decides what runs, and those of the service: writing them is for a person to
 * agree to. */
static const struct
{
    const char *pattern, *why;
} GUARDED[] = {
    {"ship.json", "the configuration"},
    {"Agent.md", "the agent's instructions"},
    {".env", "secrets"},
    {".env.*", "secrets"},
    {".ship/*", "the service's folder"},
    {".git/hooks/*", "a hook"},
    {".git/config", "the configuration of git"},
    {".git/info/attributes", "filters of git"},
    {"*/.git/hooks/*", "a hook"},
    {"*/hooks/*", "a hook"},
    {"Makefile", "a recipe of make"},
    {"makefile", "a recipe of make"},
    {"GNUmakefile", "a recipe of make"},
    {"*.mk", "a recipe of make"},
    {"Makefile.sh", "make turns it into a recipe"},
    {"[Mm]akefile.[a-zA-Z]", "make turns it into a recipe"},
    {"*akefile,v", "make turns it into a recipe"},
    {"s.*akefile", "make turns it into a recipe"},
    {"package.json", "a recipe of npm"},
    {".npmrc", "a configuration of npm"},
    {"scripts/*.py", "a script that a rule runs, or its modules"},
    {"Cargo.toml", "a recipe of cargo"},
    {"build.rs", "a recipe of cargo"},
    {"rust-toolchain*", "it says which cargo runs"},
    {".cargo/*", "a configuration of cargo"},
    {"pyproject.toml", "a configuration of python"},
};

struct kept
{
    char *path, *bytes, *link;
    struct stat status;
    bool is_found;
};

static struct kept files[FILE_COUNT_MAX];
static size_t file_count;

static const char SETUP[] =
    "set -e; umask 022; cd /home; mkdir -p project user bin; cd bin;"
    "for p in canary folder-canary recipe-make recipe-npm; do ln -s /bin/true $p; done; "
    "cd ../user; printf '[user]\\n\\tname = N\\n\\temail = "
    "n@example.org\\n[init]\\n\\tdefaultBranch = main\\n' >.gitconfig;"
    "printf 'PRIVATE\\n' >diary.txt;"
    "cd ../project; mkdir -p scripts src sub/scripts docs .ship logs;"
    "printf '# Agent\\n' >Agent.md; printf '{\"name\":\"x\"}\\n' >ship.json; printf 'KEY=1\\n' "
    ">.env; cp .env .env.local;"
    "printf 'state\\n' >.ship/state.db; printf 'one\\ntwo\\nthree\\n' >a.txt; printf 'b 2\\na "
    "1\\n' >b.txt; printf 'm\\n' >m.txt;"
    "printf 'x,y\\n1,2\\n' >data.csv; printf 'error: x\\nok\\n' >build.log; printf "
    "'a.txt\\nb.txt\\n' >list.txt;"
    "printf 'int main(void){return 0;}\\n' >src/main.c; cp src/main.c src/util.c; printf 'page\\n' "
    ">docs/page.md;"
    "printf 'test:\\n\\t@recipe-make\\nall: test\\nclean:\\n\\t@recipe-make clean\\n' >Makefile;"
    "printf '{\"name\":\"p\",\"scripts\":{\"test\":\"recipe-npm\"}}\\n' >package.json;"
    "printf 'print(1)\\n' >scripts/report.py; printf '[package]\\nname=\"p\"\\n' >Cargo.toml;"
    "printf 'test:\\n\\t@folder-canary\\nall: test\\nclean: test\\n' >sub/Makefile; cp "
    "sub/Makefile "
    "src/Makefile; cp sub/Makefile trap.mk;"
    "printf '{\"name\":\"s\",\"scripts\":{\"test\":\"folder-canary\"}}\\n' >sub/package.json; cp "
    "sub/package.json src/;"
    "printf 'import os\\nos.execvp(\"canary\",[\"canary\"])\\n' >sub/scripts/report.py; cp "
    "sub/scripts/report.py evil.py;"
    "cp evil.py scripts/evil.py; cp evil.py sub/json.py;"
    "for f in cat d dash sh grep run.sh sub/run.sh git; do printf '#!/bin/sh\\ncanary\\n' >$f; "
    "chmod 755 $f; done;"
    "printf q >'z;canary;.sh'; for f in xIf cfI run foreach ./-rf '[a]' 'a[b]' '--eval=+:;canary' "
    "'--checkpoint-action=exec=canary' ./-exec 'two words'; do"
    " printf 'q\\n' >\"$f\"; done;"
    "printf '1e canary\\n' >evil.sed; printf 'BEGIN{system(\"canary\")}\\n' >evil.awk; printf "
    "'[core]\\n\\tpager=canary\\n' >evil.conf;"
    "cp /usr/lib/*/libz.so.1 evil.so 2>/dev/null || printf q >evil.so;"
    "tar cf a.tar m.txt; tar cf evil.tar Makefile scripts; ln -s a.txt link; ln -s /home/user out;"
    "git init -q .; git add a.txt b.txt m.txt src/main.c Makefile package.json scripts/report.py "
    "docs; git commit -qm one;"
    "printf 'evil\\n' >>Makefile; git commit -qam two -n; git revert -n HEAD; git commit -qm "
    "three; git tag v1;"
    "git stash list; rm -rf .git/hooks; mkdir .git/hooks;"
    "git clone -q --bare --shared . mirror.git; rm -rf mirror.git/hooks; mkdir mirror.git/hooks;"
    "git -C mirror.git config core.alternateRefsCommand canary;"
    "printf '#!/bin/sh\\ncanary\\n' >mirror.git/hooks/update; chmod 755 mirror.git/hooks/update;"
    "git init -q nested; cd nested; rm -rf .git/hooks; git config core.fsmonitor folder-canary; "
    "git "
    "config core.sshCommand folder-canary;"
    "git config alias.st '!folder-canary'; printf n >n.txt; cd ..; git remote add mirror "
    "./mirror.git; "
    "git init -q module; git -C module commit -q --allow-empty -m m; git update-index --add "
    "--cacheinfo 160000,$(git -C module rev-parse HEAD),module;"
    "printf '[submodule \"module\"]\n\tpath = module\n\turl = ./module\n' >.gitmodules; git "
    "submodule -q init 2>/dev/null; git commit -qm four;"
    "rm -rf module/.git/hooks; git bisect start --no-checkout HEAD HEAD~2 >/dev/null;"
    "git config core.trustctime false; git config core.checkStat minimal; git update-index -q "
    "--refresh";

static char *read_all(const char *path, size_t size)
{
    char *bytes = malloc(size + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (bytes == NULL || fd < 0 || read(fd, bytes, size) != (ssize_t)size)
        abort(); /* the test's own files */
    close(fd);
    return bytes;
}

static int keep_file(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)type;
    (void)ftw;
    if (file_count == FILE_COUNT_MAX)
        return 1;
    struct kept *file = &files[file_count];
    file->path = strdup(path);
    file->status = *status;
    if (file->path == NULL)
        return 1;
    if (S_ISREG(status->st_mode))
        file->bytes = read_all(path, (size_t)status->st_size);
    if (S_ISLNK(status->st_mode)) {
        char link[256];
        ssize_t len = readlink(path, link, sizeof link - 1);
        link[len < 0 ? 0 : len] = '\0';
        file->link = strdup(link);
    }
    file_count++;
    return 0;
}

static int by_path(const void *left, const void *right)
{
    return strcmp(((const struct kept *)left)->path, ((const struct kept *)right)->path);
}

bool project_make(void)
{
    umask(022);
    pid_t child = fork();
    if (child == 0) {
        setenv("PATH", "/usr/bin:/bin", 1);
        setenv("HOME", OBSERVER_HOME, 1);
        execl("/bin/bash", "bash", "-c", SETUP, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0 ||
        nftw(HOME, keep_file, 16, FTW_PHYS) != 0)
        return false;
    qsort(files, file_count, sizeof files[0], by_path);
    return true;
}

static bool is_same(const struct stat *now, const struct stat *then)
{
    if (now->st_mode != then->st_mode)
        return false;
    return S_ISDIR(now->st_mode) ||
           (now->st_ino == then->st_ino && now->st_size == then->st_size &&
            now->st_nlink == then->st_nlink && now->st_ctim.tv_sec == then->st_ctim.tv_sec &&
            now->st_ctim.tv_nsec == then->st_ctim.tv_nsec);
}

/* Called with the contents of folders before the folders. */
static int remove_changed(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)type;
    if (ftw->level == 0)
        return 0;
    struct kept key = {.path = (char *)(uintptr_t)path};
    struct kept *file = bsearch(&key, files, file_count, sizeof files[0], by_path);
    if (file != NULL && is_same(status, &file->status)) {
        file->is_found = true;
        return 0;
    }
    if (file != NULL && S_ISDIR(status->st_mode) && S_ISDIR(file->status.st_mode)) {
        file->is_found = true;
        return chmod(path, file->status.st_mode & 07777);
    }
    if (S_ISDIR(status->st_mode))
        (void)rmdir(path); /* a folder that was locked is opened and tried again */
    else
        (void)unlink(path); /* likewise */
    return 0;
}

static int unlock_folder(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)ftw;
    return type == FTW_DNR || (S_ISDIR(status->st_mode) && (status->st_mode & 0700) != 0700)
               ? chmod(path, 0755)
               : 0;
}

static void bring_back(struct kept *file)
{
    if (S_ISDIR(file->status.st_mode)) {
        (void)mkdir(file->path, 0755); /* the check below sees what went wrong */
    } else if (S_ISLNK(file->status.st_mode)) {
        (void)!symlink(file->link, file->path);
    } else {
        int fd = open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        size_t len = (size_t)file->status.st_size;
        struct timespec times[2] = {file->status.st_mtim, file->status.st_mtim};
        if (fd < 0 || write(fd, file->bytes, len) != (ssize_t)len ||
            fchmod(fd, file->status.st_mode & 07777) != 0 || futimens(fd, times) != 0)
            abort(); /* nothing can be tested without the project */
        close(fd);
    }
    if (lstat(file->path, &file->status) != 0)
        abort(); /* likewise */
}

void project_reset(void)
{
    for (size_t i = 0; i < file_count; i++)
        files[i].is_found = false;
    (void)nftw(HOME, unlock_folder, 16, FTW_PHYS);
    (void)nftw(HOME, remove_changed, 16, FTW_PHYS | FTW_DEPTH);
    (void)nftw("/tmp", remove_changed, 16, FTW_PHYS | FTW_DEPTH);
    for (size_t i = 0; i < file_count; i++)
        if (!files[i].is_found && strcmp(files[i].path, HOME) != 0)
            bring_back(&files[i]);
}

const char *project_guards(const char *path, unsigned policy)
{
    for (size_t i = 0; i < sizeof GUARDED / sizeof GUARDED[0]; i++) {
        const char *last = strrchr(path, '/');
        bool has_folder = strchr(GUARDED[i].pattern, '/') != NULL;
        if (policy != 0 && strncmp(GUARDED[i].pattern, "scripts/", 8) == 0)
            continue; /* no rule of the other policies runs one */
        if (fnmatch(GUARDED[i].pattern, has_folder || last == NULL ? path : last + 1, 0) == 0)
            return GUARDED[i].why;
    }
    return NULL;
}
