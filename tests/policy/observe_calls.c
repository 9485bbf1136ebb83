/*
 * observe_calls.c — which system calls are looked at, and what their arguments say.
 *
 * Source: syscalls(2), seccomp_unotify(2), <linux/filter.h>. The arguments are read while the
 * caller waits; a program that changes them from a second thread could cheat, the programs of the
 * scratch system do not.
 */
#include "observe_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "the observer knows the system calls of x86_64 and aarch64"
#endif

#define WRITE_FLAGS (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
#define FCHMODAT2 452 /* the same number everywhere; older headers lack it */
#define NONE (-1)

enum shape
{
    SHAPE_PATH,    /* dir and path name one file */
    SHAPE_OPEN,    /* the same; `flags` is the argument with O_WRONLY and the like */
    SHAPE_PAIR,    /* a second file: dir2 and path2 */
    SHAPE_EXEC,    /* path and argv behind it */
    SHAPE_MAP,     /* an executable mapping of a file descriptor */
    SHAPE_CONNECT, /* an address */
};

struct call
{
    int number;
    const char *name;
    enum shape shape;
    enum saw_kind kind;
    int8_t dir, path, flags; /* arguments; NONE: relative to the working folder */
    bool follows;            /* a link in the last place is followed */
};

static const struct call CALLS[] = {
    {SYS_execve, "execve", SHAPE_EXEC, SAW_EXEC, NONE, 0, 1, true},
    {SYS_execveat, "execveat", SHAPE_EXEC, SAW_EXEC, 0, 1, 2, true},
    {SYS_openat, "openat", SHAPE_OPEN, SAW_WRITE, 0, 1, 2, true},
    {SYS_truncate, "truncate", SHAPE_PATH, SAW_CHANGE, NONE, 0, NONE, true},
    {SYS_mkdirat, "mkdirat", SHAPE_PATH, SAW_WRITE, 0, 1, NONE, false},
    {SYS_mknodat, "mknodat", SHAPE_PATH, SAW_WRITE, 0, 1, NONE, false},
    {SYS_unlinkat, "unlinkat", SHAPE_PATH, SAW_REMOVE, 0, 1, NONE, false},
    {SYS_renameat, "renameat", SHAPE_PAIR, SAW_REMOVE, 0, 1, 2, false},
    {SYS_renameat2, "renameat2", SHAPE_PAIR, SAW_REMOVE, 0, 1, 2, false},
    {SYS_linkat, "linkat", SHAPE_PAIR, SAW_CHANGE, 0, 1, 2, false},
    {SYS_symlinkat, "symlinkat", SHAPE_PATH, SAW_WRITE, 1, 2, NONE, false},
    {SYS_fchmodat, "fchmodat", SHAPE_PATH, SAW_CHANGE, 0, 1, NONE, true},
    {SYS_fchownat, "fchownat", SHAPE_PATH, SAW_CHANGE, 0, 1, NONE, true},
    {SYS_utimensat, "utimensat", SHAPE_PATH, SAW_CHANGE, 0, 1, NONE, true},
    {SYS_setxattr, "setxattr", SHAPE_PATH, SAW_CHANGE, NONE, 0, NONE, true},
    {SYS_fchmod, "fchmod", SHAPE_PATH, SAW_CHANGE, 0, NONE, NONE, true},
    {SYS_mmap, "mmap", SHAPE_MAP, SAW_CODE, 4, NONE, NONE, true},
    {SYS_connect, "connect", SHAPE_CONNECT, SAW_CONNECT, NONE, 1, 2, false},
    {SYS_bind, "bind", SHAPE_CONNECT, SAW_CONNECT, NONE, 1, 2, false},
#ifdef SYS_open
    {SYS_open, "open", SHAPE_OPEN, SAW_WRITE, NONE, 0, 1, true},
    {SYS_creat, "creat", SHAPE_PATH, SAW_WRITE, NONE, 0, NONE, true},
    {SYS_mkdir, "mkdir", SHAPE_PATH, SAW_WRITE, NONE, 0, NONE, false},
    {SYS_mknod, "mknod", SHAPE_PATH, SAW_WRITE, NONE, 0, NONE, false},
    {SYS_unlink, "unlink", SHAPE_PATH, SAW_REMOVE, NONE, 0, NONE, false},
    {SYS_rmdir, "rmdir", SHAPE_PATH, SAW_REMOVE, NONE, 0, NONE, false},
    {SYS_rename, "rename", SHAPE_PAIR, SAW_REMOVE, NONE, 0, NONE, false},
    {SYS_link, "link", SHAPE_PAIR, SAW_CHANGE, NONE, 0, NONE, false},
    {SYS_symlink, "symlink", SHAPE_PATH, SAW_WRITE, NONE, 1, NONE, false},
    {SYS_chmod, "chmod", SHAPE_PATH, SAW_CHANGE, NONE, 0, NONE, true},
    {SYS_chown, "chown", SHAPE_PATH, SAW_CHANGE, NONE, 0, NONE, true},
    {SYS_lchown, "lchown", SHAPE_PATH, SAW_CHANGE, NONE, 0, NONE, false},
    {SYS_utime, "utime", SHAPE_PATH, SAW_CHANGE, NONE, 0, NONE, true},
    {SYS_utimes, "utimes", SHAPE_PATH, SAW_CHANGE, NONE, 0, NONE, true},
#endif
};

#define CALL_COUNT (sizeof CALLS / sizeof CALLS[0])

/* -- the filter -------------------------------------------------------------------------------- */
struct filter
{
    struct sock_filter code[8 * CALL_COUNT + 32];
    size_t len;
};

static void add(struct filter *filter, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    filter->code[filter->len++] = (struct sock_filter){code, yes, no, k};
}

static void load_argument(struct filter *filter, int index)
{
    add(filter, BPF_LD | BPF_W | BPF_ABS,
        (uint32_t)(offsetof(struct seccomp_data, args) + (size_t)index * 8), 0, 0);
}

/* Calls that could go round the others answer ENOSYS, and programs take the old ones. */
static void add_refusals(struct filter *filter)
{
    static const int refused[] = {SYS_openat2, SYS_io_uring_setup, FCHMODAT2};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        add(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refused[i], 0, 1);
        add(filter, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS, 0, 0);
    }
}

static void add_call(struct filter *filter, const struct call *call)
{
    bool is_open = call->shape == SHAPE_OPEN, is_map = call->shape == SHAPE_MAP;
    uint8_t skip = is_open ? 4 : is_map ? 6 : 1;
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call->number, 0, skip);
    if (is_open) { /* reading is nobody's business */
        load_argument(filter, call->flags);
        add(filter, BPF_JMP | BPF_JSET | BPF_K, WRITE_FLAGS, 1, 0);
        add(filter, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    } else if (is_map) {
        load_argument(filter, 2);
        add(filter, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 2);
        load_argument(filter, 3);
        add(filter, BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1);
        add(filter, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    }
    add(filter, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
}

int observe_install_filter(void)
{
    static struct filter filter;
    add(&filter, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    add(&filter, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    add(&filter, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    add(&filter, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    add_refusals(&filter);
    for (size_t i = 0; i < CALL_COUNT; i++)
        add_call(&filter, &CALLS[i]);
    add(&filter, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    struct sock_fprog program = {(unsigned short)filter.len, filter.code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

/* -- reading a call ---------------------------------------------------------------------------- */
struct reading
{
    int outer_proc;
    pid_t pid;
    const struct seccomp_notif *call;
    struct observation *seen;
};

static char *keep(struct observation *seen, const char *bytes, size_t len)
{
    if (len + 1 > SAW_ARENA_BYTES - seen->arena_len) {
        seen->is_full = true;
        return NULL;
    }
    char *text = seen->arena + seen->arena_len;
    memcpy(text, bytes, len);
    text[len] = '\0';
    seen->arena_len += len + 1;
    return text;
}

/* The text at `from`, or up to `size` bytes of it: a page at a time so that the end of memory is no
 * error. */
static size_t read_memory(pid_t pid, uint64_t from, char *to, size_t size)
{
    size_t len = 0;
    while (len < size) {
        size_t part = 4096 - (size_t)((from + len) & 4095);
        if (part > size - len)
            part = size - len;
        struct iovec here = {to + len, part};
        struct iovec there = {(void *)(uintptr_t)(from + len), part}; /* an address of theirs */
        ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (got <= 0)
            break;
        len += (size_t)got;
        if (memchr(to, '\0', len) != NULL)
            break;
    }
    return len;
}

static void read_text(pid_t pid, uint64_t from, char *to, size_t size)
{
    size_t len = read_memory(pid, from, to, size - 1);
    to[len] = '\0'; /* the text's own end comes first, unless it is cut */
}

static void read_link(const struct reading *reading, const char *name, char *to, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "%d/%s", reading->pid, name);
    ssize_t len = readlinkat(reading->outer_proc, path, to, size - 1);
    to[len < 0 ? 0 : len] = '\0';
}

static void follow_link(char *path, size_t size)
{
    char real[4096];
    struct stat status;
    if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0)
        return; /* of the caller's, not ours */
    if (lstat(path, &status) == 0 && S_ISLNK(status.st_mode) && realpath(path, real) != NULL)
        snprintf(path, size, "%s", real);
}

/* The file a call means: absolute, the links in its folders resolved, its own when `follows`. */
static void find_path(const struct reading *reading, int dir, const char *name, bool follows,
                      char *path, size_t size)
{
    char base[4096] = "", link[32], folder[4096], real[4096];
    if (name[0] != '/' && dir == AT_FDCWD)
        read_link(reading, "cwd", base, sizeof base);
    else if (name[0] != '/') {
        snprintf(link, sizeof link, "fd/%d", dir);
        read_link(reading, link, base, sizeof base);
    }
    snprintf(path, size, "%s%s%s", base, base[0] == '\0' || name[0] == '\0' ? "" : "/", name);
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        path[--len] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL || strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0)
        return;
    const char *last = slash + 1;
    if (strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        if (realpath(path, real) != NULL)
            snprintf(path, size, "%s", real);
        return;
    }
    snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path);
    if (realpath(folder, real) != NULL) {
        char kept[512];
        snprintf(kept, sizeof kept, "%s", last);
        snprintf(path, size, "%s/%s", strcmp(real, "/") == 0 ? "" : real, kept);
    }
    if (follows)
        follow_link(path, size);
}

static struct saw *add_saw(const struct reading *reading, const struct call *call, const char *path)
{
    struct observation *seen = reading->seen;
    if (seen->count == SAW_COUNT_MAX) {
        seen->is_full = true;
        return NULL;
    }
    char by[1024], words[2048], name[32];
    read_link(reading, "exe", by, sizeof by);
    snprintf(name, sizeof name, "%d/cmdline", reading->pid);
    int fd = openat(reading->outer_proc, name, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, words, sizeof words);
    if (fd >= 0)
        close(fd);
    struct saw *saw = &seen->items[seen->count];
    memset(saw, 0, sizeof *saw);
    saw->kind = call->kind;
    saw->call = call->name;
    saw->path = keep(seen, path, strlen(path));
    saw->by = keep(seen, by, strlen(by));
    saw->by_len = len < 0 ? 0 : (size_t)len;
    saw->by_args = keep(seen, words, saw->by_len);
    if (saw->path == NULL || saw->by == NULL || saw->by_args == NULL)
        return NULL;
    seen->count++;
    return saw;
}

static void note_exec(const struct reading *reading, const struct call *call, const char *path)
{
    if (access(path, X_OK) != 0)
        return; /* a step of the search through PATH */
    struct saw *saw = add_saw(reading, call, path);
    uint64_t at = reading->call->data.args[call->flags];
    for (uint32_t i = 0; saw != NULL && at != 0; i++, at += sizeof(uint64_t)) {
        uint64_t word = 0;
        char text[2048];
        struct iovec here = {&word, sizeof word}, there = {(void *)(uintptr_t)at, sizeof word};
        if (process_vm_readv(reading->pid, &here, 1, &there, 1, 0) != sizeof word || word == 0)
            return;
        saw->is_cut = i >= SAW_ARG_COUNT_MAX;
        if (saw->is_cut)
            return;
        read_text(reading->pid, word, text, sizeof text);
        saw->args[i] = keep(reading->seen, text, strlen(text));
        if (saw->args[i] == NULL)
            return;
        saw->arg_count = i + 1;
    }
}

static void note_open(const struct reading *reading, const struct call *call, const char *path)
{
    uint64_t flags = reading->call->data.args[call->flags];
    struct stat status;
    bool is_there = stat(path, &status) == 0;
    if (is_there ? S_ISDIR(status.st_mode) && (flags & O_TMPFILE) != O_TMPFILE
                 : (flags & O_CREAT) == 0)
        return; /* it will fail */
    (void)add_saw(reading, call, path);
}

static void note_pair(const struct reading *reading, const struct call *call)
{
    const __u64 *args = reading->call->data.args;
    char name[4096], path[8192];
    int dir = call->flags == NONE ? AT_FDCWD : (int)args[call->flags];
    read_text(reading->pid, args[call->flags == NONE ? call->path + 1 : call->flags + 1], name,
              sizeof name);
    find_path(reading, dir, name, false, path, sizeof path);
    struct call second = *call;
    second.kind = SAW_WRITE;
    (void)add_saw(reading, &second, path);
}

static void note_address(const struct reading *reading, const struct call *call)
{
    union
    {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_un un;
        char bytes[sizeof(struct sockaddr_un) + 1];
    } address;
    char text[160];
    memset(&address, 0, sizeof address);
    struct iovec here = {&address, sizeof(struct sockaddr_un)};
    size_t len = (size_t)reading->call->data.args[call->flags];
    if (len < here.iov_len)
        here.iov_len = len;
    struct iovec there = {(void *)(uintptr_t)reading->call->data.args[call->path], here.iov_len};
    if (process_vm_readv(reading->pid, &here, 1, &there, 1, 0) <= 0)
        return;
    if (address.any.sa_family == AF_UNIX)
        snprintf(text, sizeof text, "unix:%s", address.un.sun_path);
    else if (address.any.sa_family == AF_INET)
        snprintf(text, sizeof text, "inet:%08x:%u", ntohl(address.in.sin_addr.s_addr),
                 ntohs(address.in.sin_port));
    else
        snprintf(text, sizeof text, "family:%u", (unsigned)address.any.sa_family);
    if (strcmp(text, "unix:/var/run/nscd/socket") != 0) /* the C library's; nobody answers there */
        (void)add_saw(reading, call, text);
}

static bool is_system_code(const struct call *call, const char *path)
{
    return call->shape == SHAPE_MAP &&
           (strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/lib", 4) == 0);
}

void observe_note(int outer_proc, const struct seccomp_notif *notif, struct observation *seen)
{
    const struct call *call = NULL;
    for (size_t i = 0; i < CALL_COUNT && call == NULL; i++)
        if (CALLS[i].number == notif->data.nr)
            call = &CALLS[i];
    if (call == NULL)
        return;
    struct reading reading = {outer_proc, (pid_t)notif->pid, notif, seen};
    if (call->shape == SHAPE_CONNECT) {
        note_address(&reading, call);
        return;
    }
    char name[4096] = "", path[8192];
    int dir = call->dir == NONE ? AT_FDCWD : (int)notif->data.args[call->dir];
    if (call->path != NONE && notif->data.args[call->path] != 0)
        read_text(reading.pid, notif->data.args[call->path], name, sizeof name);
    find_path(&reading, dir, name, call->follows && call->shape != SHAPE_EXEC, path, sizeof path);
    if (call->shape == SHAPE_EXEC)
        note_exec(&reading, call, path);
    else if (call->shape == SHAPE_OPEN)
        note_open(&reading, call, path);
    else if (!is_system_code(call, path))
        (void)add_saw(&reading, call, path);
    if (call->shape == SHAPE_PAIR)
        note_pair(&reading, call);
}

const char *saw_kind_name(enum saw_kind kind)
{
    static const char *const names[] = {"ran", "wrote", "removed", "changed", "loaded", "called"};
    return names[kind];
}
