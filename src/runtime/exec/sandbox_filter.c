/*
 * sandbox_filter.c — the system calls that commands in the sandbox are refused, as a program for
 * the kernel (docs/adr/0015).
 *
 * A list of what is refused: what is allowed is all that compilers, interpreters and build tools of
 * the next ten years call, and nobody knows that. Refused are whole families that such tools do
 * without and that holes in the kernel were found in again and again, ways to make namespaces and
 * mounts, and memory that no limit counts. Calls newer than this list are not there (ENOSYS):
 * programs have a way around those.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000u
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef ARCH
#define NEWEST_CALL 469u /* file_setattr, Linux 6.17: what later ones do has not been looked at */
#define OPEN_TREE_ATTR 467
#define FCHMODAT2 452
#define INSTRUCTION_COUNT_MAX 256
#define SHM_BYTES_MAX 65536u /* 4096 segments of it that no process maps are 256 MB */
#define CLONE_NEWTIME_BIT 0x80u
#define NAMESPACES                                                                            \
    ((uint32_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
                CLONE_NEWPID | CLONE_NEWNET))
#define PER_LINUX32_ 0x8u
#define UNAME26_ 0x20000u
#define ADDR_NO_RANDOMIZE_ 0x40000u /* debuggers and sanitizers start themselves again with it */

struct program
{
    struct sock_filter items[INSTRUCTION_COUNT_MAX];
    size_t count;
};

/* Nobody but the kernel's own administration calls these: EPERM. */
static const uint16_t not_permitted[] = {
    /* keys of the kernel are not divided by namespaces */
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    /* programs in the kernel, counters of the machine, file handles past all mounts */
    SYS_bpf,
    SYS_perf_event_open,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    /* mounts and roots, old and new calls */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    OPEN_TREE_ATTR,
    SYS_setns,
    /* the machine itself */
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_syslog,
    SYS_acct,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
#ifdef SYS_modify_ldt
    SYS_modify_ldt,
#endif
};
/* Programs find another way when the kernel does not have these: ENOSYS. */
static const uint16_t not_there[] = {
    /* the flags lie in memory, where a filter cannot see them; the C library goes on to clone and
     * openat */
    SYS_clone3,
    SYS_openat2,
    /* large and young */
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_userfaultfd,
    /* memory that belongs to no process and no folder */
    SYS_memfd_create,
    SYS_memfd_secret,
};

static void put(struct program *program, uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
    SMA_ASSERT(program->count < INSTRUCTION_COUNT_MAX);
    program->items[program->count++] = (struct sock_filter){code, yes, no, value};
}

static void put_load(struct program *program, size_t offset)
{
    put(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* The lower half of an argument; both architectures are little-endian. */
static void put_load_argument(struct program *program, size_t index)
{
    put_load(program, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

static void put_return(struct program *program, uint32_t action)
{
    put(program, BPF_RET | BPF_K, action, 0, 0);
}

static void put_refusal(struct program *program, int error)
{
    put_return(program, SECCOMP_RET_ERRNO | (uint32_t)error);
}

/* What was loaded is compared: the next instruction if so, else `skip` further ones are left
 * out. */
static void put_if(struct program *program, uint16_t how, uint32_t value, uint8_t skip)
{
    put(program, BPF_JMP | how | BPF_K, value, 0, skip);
}

static void put_calls(struct program *program, const uint16_t *calls, size_t count, int error)
{
    for (size_t i = 0; i < count; i++) {
        put_if(program, BPF_JEQ, calls[i], 1);
        put_refusal(program, error);
    }
}

/* A call whose argument has one of these bits. */
static void put_bits(struct program *program, uint32_t call, uint32_t bits, int error)
{
    put_if(program, BPF_JEQ, call, 4);
    put_load_argument(program, 0);
    put_if(program, BPF_JSET, bits, 1);
    put_refusal(program, error);
    put_return(program, SECCOMP_RET_ALLOW);
}

/* Pushing input into a terminal, and its kin on a console. */
static void put_terminals(struct program *program)
{
    static const uint32_t requests[] = {TIOCSTI, 0x541c /* TIOCLINUX */};
    put_if(program, BPF_JEQ, SYS_ioctl, 2 * SMA_COUNT_OF(requests) + 2);
    put_load_argument(program, 1);
    for (size_t i = 0; i < SMA_COUNT_OF(requests); i++) {
        put_if(program, BPF_JEQ, requests[i], 1);
        put_refusal(program, EPERM);
    }
    put_return(program, SECCOMP_RET_ALLOW);
}

static void put_personalities(struct program *program)
{
    static const uint32_t usual[] = {
        0,          PER_LINUX32_, UNAME26_, UNAME26_ | PER_LINUX32_, ADDR_NO_RANDOMIZE_,
        0xffffffffu /* asks only */};
    put_if(program, BPF_JEQ, SYS_personality, 2 * SMA_COUNT_OF(usual) + 2);
    put_load_argument(program, 0);
    for (size_t i = 0; i < SMA_COUNT_OF(usual); i++) {
        put_if(program, BPF_JEQ, usual[i], 1);
        put_return(program, SECCOMP_RET_ALLOW);
    }
    put_refusal(program, EPERM);
}

/* Of the families of sockets those that programs talk by, and of netlink what lists addresses and
 * routes. */
static void put_sockets(struct program *program)
{
    static const uint32_t usual[] = {AF_UNIX, AF_INET, AF_INET6};
    put_if(program, BPF_JEQ, SYS_socket, 2 * SMA_COUNT_OF(usual) + 6);
    put_load_argument(program, 0);
    for (size_t i = 0; i < SMA_COUNT_OF(usual); i++) {
        put_if(program, BPF_JEQ, usual[i], 1);
        put_return(program, SECCOMP_RET_ALLOW);
    }
    put_if(program, BPF_JEQ, AF_NETLINK, 3);
    put_load_argument(program, 2);
    put_if(program, BPF_JEQ, 0 /* NETLINK_ROUTE */, 1);
    put_return(program, SECCOMP_RET_ALLOW);
    put_refusal(program, EAFNOSUPPORT);
}

/* Segments live without a process; databases take a small one to know their folder by. */
static void put_segments(struct program *program)
{
    put_if(program, BPF_JEQ, SYS_shmget, 6);
    put_load(program, offsetof(struct seccomp_data, args) + sizeof(uint64_t) + sizeof(uint32_t));
    put_if(program, BPF_JEQ, 0, 2);
    put_load_argument(program, 1);
    put_if(program, BPF_JGT, SHM_BYTES_MAX, 1);
    put_refusal(program, EINVAL); /* as beyond the kernel's own limit */
    put_return(program, SECCOMP_RET_ALLOW);
}

/* A call that makes a file with this mode: a program of the service's user for every other user of
 * the machine. `flags`: the argument that says whether the mode counts; negative: it always
 * does. */
static void put_mode(struct program *program, uint32_t call, size_t mode, int flags)
{
    put_if(program, BPF_JEQ, call, flags < 0 ? 4 : 7);
    if (flags >= 0) {
        put_load_argument(program, (size_t)flags);
        put(program, BPF_JMP | BPF_JSET | BPF_K, O_CREAT | (O_TMPFILE & ~O_DIRECTORY), 1, 0);
        put_return(program, SECCOMP_RET_ALLOW);
    }
    put_load_argument(program, mode);
    put_if(program, BPF_JSET, S_ISUID, 1);
    put_refusal(program, EPERM);
    put_return(program, SECCOMP_RET_ALLOW);
}

static void put_modes(struct program *program)
{
#ifdef SYS_chmod
    put_mode(program, SYS_chmod, 1, -1);
    put_mode(program, SYS_creat, 1, -1);
    put_mode(program, SYS_mknod, 1, -1);
    put_mode(program, SYS_open, 2, 1);
#endif
    put_mode(program, SYS_fchmod, 1, -1);
    put_mode(program, SYS_fchmodat, 2, -1);
    put_mode(program, FCHMODAT2, 2, -1);
    put_mode(program, SYS_mknodat, 2, -1);
    put_mode(program, SYS_openat, 3, 2);
}

static void fill(struct program *program)
{
    put_load(program, offsetof(struct seccomp_data, arch));
    put(program, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    put_return(program, SECCOMP_RET_KILL_PROCESS); /* numbers mean other calls there */
    put_load(program, offsetof(struct seccomp_data, nr));
#ifdef X32_BIT
    put_if(program, BPF_JGE, X32_BIT, 1);
    put_refusal(program, ENOSYS);
#endif
    put_if(program, BPF_JGT, NEWEST_CALL, 1);
    put_refusal(program, ENOSYS);
    put_calls(program, not_permitted, SMA_COUNT_OF(not_permitted), EPERM);
    put_calls(program, not_there, SMA_COUNT_OF(not_there), ENOSYS);
    put_bits(program, SYS_clone, NAMESPACES, EPERM);
    put_bits(program, SYS_unshare, NAMESPACES | CLONE_NEWTIME_BIT, EPERM);
    put_terminals(program);
    put_personalities(program);
    put_sockets(program);
    put_segments(program);
    put_modes(program);
    put_return(program, SECCOMP_RET_ALLOW);
}

int sma_sandbox_filter_open(void)
{
    struct program program = {.count = 0};
    fill(&program);
    return sma_sandbox_data_open(program.items, program.count * sizeof program.items[0]);
}
#else
int sma_sandbox_filter_open(void)
{
    errno = ENOSYS; /* numbers and byte order of this architecture have not been looked at */
    return -1;
}
#endif

int sma_sandbox_data_open(const void *bytes, size_t len)
{
    int fd = memfd_create("sandbox", MFD_CLOEXEC);
    if (fd >= 0 && (write(fd, bytes, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}
