/*
 * sandbox.c — see sandbox.h.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool fail(char *why, size_t size, const char *what)
{
    snprintf(why, size, "%s: %s", what, strerror(errno));
    return false;
}

static bool put_line(const char *path, const char *line)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
    if (fd >= 0)
        close(fd);
    return is_written;
}

static bool map_user(unsigned uid, unsigned outer_uid, unsigned outer_gid)
{
    char line[64];
    (void)put_line("/proc/self/setgroups", "deny"); /* old kernels have no such file */
    snprintf(line, sizeof line, "%u %u 1\n", uid, outer_uid);
    if (!put_line("/proc/self/uid_map", line))
        return false;
    snprintf(line, sizeof line, "%u %u 1\n", uid, outer_gid);
    return put_line("/proc/self/gid_map", line);
}

/* The system folders as they are outside, read-only; /bin and the like may be links. */
static bool bind_system(void)
{
    static const char *const folders[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "etc"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char outer[32], link[256];
        struct stat status;
        snprintf(outer, sizeof outer, "/%s", folders[i]);
        if (lstat(outer, &status) != 0)
            continue;
        if (S_ISLNK(status.st_mode)) {
            ssize_t len = readlink(outer, link, sizeof link - 1);
            if (len < 0)
                return false;
            link[len] = '\0';
            if (symlink(link, folders[i]) != 0)
                return false;
            continue;
        }
        struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};
        if (mkdir(folders[i], 0755) != 0 ||
            mount(outer, folders[i], NULL, MS_BIND | MS_REC, NULL) != 0 ||
            syscall(SYS_mount_setattr, AT_FDCWD, folders[i], AT_RECURSIVE, &attr, sizeof attr) != 0)
            return false;
    }
    return true;
}

static bool make_devices(void)
{
    static const char *const devices[] = {"null", "zero", "full", "random", "urandom"};
    if (mkdir("dev", 0755) != 0)
        return false;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        char outer[32], inner[32];
        snprintf(outer, sizeof outer, "/dev/%s", devices[i]);
        snprintf(inner, sizeof inner, "dev/%s", devices[i]);
        int fd = open(inner, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
        if (fd < 0)
            return false;
        close(fd);
        if (mount(outer, inner, NULL, MS_BIND, NULL) != 0)
            return false;
    }
    return symlink("/proc/self/fd", "dev/fd") == 0 && symlink("fd/0", "dev/stdin") == 0 &&
           symlink("fd/1", "dev/stdout") == 0 && symlink("fd/2", "dev/stderr") == 0;
}

static bool make_memory_folder(const char *name)
{
    return mkdir(name, 0755) == 0 &&
           mount("tmpfs", name, "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=0755") == 0;
}

bool sandbox_enter(unsigned uid, char *why, size_t why_size)
{
    unsigned outer_uid = getuid(), outer_gid = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                CLONE_NEWUTS) != 0)
        return fail(why, why_size, "no namespaces of our own");
    if (!map_user(uid, outer_uid, outer_gid))
        return fail(why, why_size, "no user of our own");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/tmp", "tmpfs", 0, "size=4m,mode=0755") != 0 || chdir("/tmp") != 0)
        return fail(why, why_size, "no root of our own");
    if (!bind_system() || !make_devices())
        return fail(why, why_size, "no system folders");
    if (!make_memory_folder("home") || !make_memory_folder("tmp") || mkdir("proc", 0755) != 0 ||
        mount("/proc", "proc", NULL, MS_BIND | MS_REC, NULL) != 0)
        return fail(why, why_size, "no folders in memory");
    if (syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
        return fail(why, why_size, "no change of the root");
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
        return fail(why, why_size, "no read-only root");
    return true;
}

void sandbox_mount_proc(void)
{
    (void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}
