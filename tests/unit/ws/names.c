/* names.c — see names.h. */
#include "names.h"

#include "support/check.h"

#include <dlfcn.h>
#include <netdb.h>
#include <semaphore.h>
#include <stdatomic.h>

typedef int look_up_fn(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret_list);

static sem_t hanging;
static atomic_uint hanging_count;

unsigned names_hanging(void)
{
    return atomic_load(&hanging_count);
}

__attribute__((constructor)) static void init(void)
{
    CHECK_INT(0, sem_init(&hanging, 0, 0));
}

void names_release(void)
{
    CHECK_INT(0, sem_post(&hanging));
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret_list)
{
    look_up_fn *real;
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    CHECK(symbol != NULL && node != NULL);
    memcpy(&real, &symbol, sizeof real);
    CHECK(!ends_with(node, ".proxied.test"));
    if (ends_with(node, ".invalid"))
        return EAI_NONAME;
    if (ends_with(node, "hang.test")) {
        atomic_fetch_add(&hanging_count, 1);
        while (sem_wait(&hanging) != 0) {
        }
        atomic_fetch_sub(&hanging_count, 1);
        return EAI_NONAME;
    }
    if (strcmp(node, "two.test") != 0)
        return real(node, service, hints, ret_list);
    struct addrinfo *first, *second;
    CHECK_INT(0, real("127.0.0.2", service, hints, &first));
    CHECK_INT(0, real("127.0.0.1", service, hints, &second));
    struct addrinfo *last = first;
    while (last->ai_next != NULL)
        last = last->ai_next;
    last->ai_next = second;
    *ret_list = first;
    return 0;
}
