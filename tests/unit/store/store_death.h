/*
 * store_death.h — a child plays a story and dies at its n-th call below SQLite, for every n; it
 * notes in shared memory what it heard. The parent opens what is left and plays it to the end. An
 * argument k looks at every k-th n only.
 */
#ifndef TEST_STORE_DEATH_H
#define TEST_STORE_DEATH_H

#include "approval_support.h"
#include "runtime/chat/state_vfs.h"

#include <sys/mman.h>
#include <sys/wait.h>

struct store_death
{
    struct world *world;
    void (*take)(void *memory); /* where to note: shared, zeroed before each story */
    size_t memory_bytes;
    void (*configure)(void);       /* the fresh world; may be NULL */
    void (*play)(void);            /* in the child */
    void (*play_to_the_end)(void); /* in the parent, after a death; ends the world */
    void (*check_alive)(void);     /* what the child heard that came to the end alive */
};

static const struct store_death *death;
static long death_countdown, death_stride = 1;
static bool death_tears;
static void *death_memory;

static enum sma_state_vfs_action die_at(enum sma_state_vfs_role role, enum sma_state_vfs_call call,
                                        bool is_wal)
{
    (void)role;
    (void)is_wal;
    if (--death_countdown > 0)
        return SMA_STATE_VFS_PASS;
    return death_tears && call == SMA_STATE_VFS_WRITE ? SMA_STATE_VFS_TEAR_DIE : SMA_STATE_VFS_DIE;
}

/* @return false: the child came to the end alive */
static bool die_and_go_on(long at, bool is_torn)
{
    memset(death_memory, 0, death->memory_bytes);
    make_world(death->world);
    if (death->configure != NULL)
        death->configure();
    open_world(death->world); /* the schema and the first marks are not the story */
    stop_world(death->world);
    close_system(death->world);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        death_countdown = at;
        death_tears = is_torn;
        sma_state_vfs_set_hook(die_at);
        death->play();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    bool is_dead = WEXITSTATUS(status) == SMA_STATE_VFS_EXIT_STATUS;
    CHECK(is_dead || WEXITSTATUS(status) == 0);
    if (is_dead) {
        death->play_to_the_end();
    } else {
        death->check_alive();
        remove_tree(death->world->dir);
    }
    return is_dead;
}

static void dead_at_every_call(void)
{
    long deaths = 0;
    for (long at = 1; die_and_go_on(at, at % 2 == 0); at += death_stride)
        deaths++;
    CHECK(deaths > 5);
    fprintf(stderr, "   %ld deaths\n", deaths);
}

static int die_everywhere(int argc, char **argv, const struct store_death *wanted)
{
    death = wanted;
    if (argc > 1)
        death_stride = strtol(argv[1], NULL, 10);
    death_memory =
        mmap(NULL, death->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(death_memory != MAP_FAILED);
    death->take(death_memory);
    RUN(dead_at_every_call);
    munmap(death_memory, death->memory_bytes);
    return check_summary();
}

#endif
