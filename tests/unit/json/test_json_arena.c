/*
 * Aim: a tree is the same wherever its memory came from, whatever else lives or dies meanwhile.
 * Method: trees that fit the block, fill it and are larger than it, released in every order and
 * changed; the sanitizers see what went to malloc.
 */
#include "runtime/json/json_arena.h"
#include "support/check.h"

#include <pthread.h>
#include <stdlib.h>

static const char small[] = "{\"a\":{\"b\":[1,2,{\"c\":\"text of some length\"}]},\"d\":null}";

static json_t *load(const char *text)
{
    json_t *root = NULL;
    CHECK_OK(sma_json_load_brief(sma_str(text), true, &root));
    return root;
}

static void check_small(const json_t *root)
{
    const json_t *list = sma_json_get(sma_json_get(root, "a"), "b");
    CHECK_INT(3, json_array_size(list));
    CHECK_STR("text of some length", sma_json_str(json_array_get(list, 2), "c"));
}

static char *make_large(size_t members)
{
    char *text = malloc(members * 64 + 16);
    CHECK(text != NULL);
    size_t len = (size_t)snprintf(text, 16, "{\"first\":0");
    for (size_t i = 0; i < members; i++)
        len += (size_t)snprintf(text + len, 64, ",\"member%zu\":{\"value\":\"number %zu\"}", i, i);
    snprintf(text + len, 2, "}");
    return text;
}

static void check_large(const json_t *root, size_t members)
{
    CHECK_INT((long long)members + 1, json_object_size(root));
    for (size_t i = 0; i < members; i++) {
        char name[32], value[32];
        snprintf(name, sizeof name, "member%zu", i);
        snprintf(value, sizeof value, "number %zu", i);
        CHECK_STR(value, sma_json_str(sma_json_get(root, name), "value"));
    }
}

CASE(trees_of_every_size_are_whole)
{
    for (size_t members = 0; members < 200; members++) { /* from inside the block to far beyond */
        char *text = make_large(members);
        json_t *first = load(small), *large = load(text), *last = load(small);
        check_small(first);
        check_large(large, members);
        check_small(last);
        json_t *order[3] = {first, large, last};
        for (size_t i = 0; i < 3; i++) {
            json_decref(order[(i + members) % 3]);
            json_t *again = load(small); /* while others live */
            check_small(again);
            json_decref(again);
        }
        free(text);
    }
}

CASE(a_tree_may_be_changed)
{
    json_t *root = load(small), *copy = json_deep_copy(root);
    CHECK_INT(0, json_object_set_new(root, "d", json_string("changed")));
    CHECK_INT(0, json_object_set_new(root, "e", json_pack("[i,i]", 1, 2)));
    json_t *kept = json_incref(json_object_get(root, "a"));
    json_decref(root);
    json_t *other = load(small);
    CHECK_INT(3, json_array_size(json_object_get(kept, "b"))); /* a part outlives its tree */
    json_decref(kept);
    check_small(other);
    check_small(copy);
    json_decref(copy);
    json_decref(other);
}

CASE(nonsense_leaves_nothing)
{
    for (int i = 0; i < 10000; i++) { /* what each left would fill the block */
        json_t *root = NULL;
        CHECK_ERR(SMA_ERR_BADINPUT,
                  sma_json_load_brief(SMA_STR("{\"a\":{\"b\":[1,2,3],\"b\"}}"), true, &root));
        CHECK(root == NULL);
    }
    json_t *root = load(small);
    check_small(root);
    json_decref(root);
}

static void *run_thread(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        json_t *root = load(small);
        check_small(root);
        json_decref(root);
    }
    return unused;
}

CASE(threads_do_not_meet)
{
    pthread_t threads[4];
    json_t *mine = load(small);
    for (size_t i = 0; i < SMA_COUNT_OF(threads); i++)
        CHECK_INT(0, pthread_create(&threads[i], NULL, run_thread, NULL));
    for (size_t i = 0; i < SMA_COUNT_OF(threads); i++)
        CHECK_INT(0, pthread_join(threads[i], NULL));
    check_small(mine);
    json_decref(mine);
}

int main(void)
{
    json_object_seed(1);
    sma_json_arena_install();
    check_run_cases(NULL);
    return check_summary();
}
