/* confine.c — see confine.h. */
#include "confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ITEM_COUNT_MAX 256
#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

static bool limit(int what, uint64_t most)
{
    const struct rlimit both = {most, most};
    return setrlimit(what, &both) == 0;
}

bool sma_confine_limit(const struct sma_confine_limits *limits)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, "1000", 4); /* without /proc it is one among others */
        close(fd);
    }
    return limit(RLIMIT_CORE, 0) && limit(RLIMIT_AS, limits->memory_bytes) &&
           limit(RLIMIT_CPU, limits->cpu_s) && limit(RLIMIT_FSIZE, limits->file_bytes);
}

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef ARCH
static const uint16_t usual[] = {
    SYS_read,          SYS_pread64,      SYS_write,           SYS_close,
    SYS_lseek,         SYS_fstat,        SYS_munmap,          SYS_mremap,
    SYS_madvise,       SYS_brk,          SYS_futex,           SYS_exit,
    SYS_exit_group,    SYS_rt_sigreturn, SYS_rt_sigprocmask,  SYS_sched_yield,
    SYS_clock_gettime, SYS_nanosleep,    SYS_clock_nanosleep, SYS_gettid,
    SYS_getpid,        SYS_getrandom,    SYS_set_robust_list, SYS_sched_getaffinity,
#ifdef SYS_rseq
    SYS_rseq,
#endif
};

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(member))
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + (n)*8) /* its low half */
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
#define IF_CALL(number, steps) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, (steps))

struct filter
{
    struct sock_filter items[ITEM_COUNT_MAX];
    size_t count;
};

static void add(struct filter *filter, const struct sock_filter *items, size_t count)
{
    memcpy(&filter->items[filter->count], items, count * sizeof *items);
    filter->count += count;
}

static void add_list(struct filter *filter, const uint16_t *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sock_filter row[] = {IF_CALL(calls[i], 1), ALLOW};
        add(filter, row, COUNT_OF(row));
    }
}

/* Memory without code in it, threads without anything else, sockets of two families, and lists. */
bool sma_confine_calls(const struct sma_confine_calls *calls)
{
    static const struct sock_filter head[] = {
        LOAD(offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(offsetof(struct seccomp_data, nr)),
        IF_CALL(SYS_clone3, 1), /* its flags cannot be seen: the C library goes on to clone */
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        IF_CALL(SYS_mmap, 4),
        LOAD(ARGUMENT(2)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
        ALLOW,
        REFUSE,
        IF_CALL(SYS_mprotect, 4),
        LOAD(ARGUMENT(2)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
        ALLOW,
        REFUSE,
    };
    static const struct sock_filter threads[] = {
        IF_CALL(SYS_clone, 4),
        LOAD(ARGUMENT(0)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
        ALLOW,
        REFUSE,
    };
    static const struct sock_filter sockets[] = {
        IF_CALL(SYS_socket, 5),
        LOAD(ARGUMENT(0)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
        ALLOW,
        REFUSE,
    };
    static const struct sock_filter tail[] = {REFUSE};
    struct filter filter = {.count = 0};
    if (COUNT_OF(head) + COUNT_OF(threads) + COUNT_OF(sockets) + 2 * COUNT_OF(usual) +
            2 * calls->more_count + 1 >
        ITEM_COUNT_MAX)
        return false;
    add(&filter, head, COUNT_OF(head));
    if (calls->has_threads)
        add(&filter, threads, COUNT_OF(threads));
    if (calls->has_network)
        add(&filter, sockets, COUNT_OF(sockets));
    add_list(&filter, usual, COUNT_OF(usual));
    add_list(&filter, calls->more, calls->more_count);
    add(&filter, tail, COUNT_OF(tail));
    const struct sock_fprog program = {(unsigned short)filter.count, filter.items};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#else
bool sma_confine_calls(const struct sma_confine_calls *calls)
{
    (void)calls;
    return true;
}
#endif
