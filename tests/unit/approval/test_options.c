/*
 * Aim: the descriptions of programs are complete. Method: every option that a program lists in its
 * own help (options_listed.h) is one that its description knows, so that what is asked about is
 * what was meant to be.
 */
#include "options_listed.h"
#include "runtime/policy/options.h"
#include "support/check.h"

static int unknown_of(const char *name, const struct description *description, const char *options)
{
    int bad = 0;
    if (description == NULL) {
        fprintf(stderr, "%s is not described\n", name);
        return 1;
    }
    while (*options != '\0') {
        const char *end = strchrnul(options, ' ');
        struct sma_str option = {options, (size_t)(end - options)};
        if (!sma_options_know(description, option)) {
            fprintf(stderr, "%s %.*s\n", name, (int)option.len, option.ptr);
            bad++;
        }
        options = *end == '\0' ? end : end + 1;
    }
    return bad;
}

CASE(what_programs_list_is_described)
{
    int bad = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(LISTED); i++)
        bad +=
            unknown_of(LISTED[i].name, sma_options_of(sma_str(LISTED[i].name)), LISTED[i].options);
    CHECK_INT(0, bad);
}

CASE(what_git_lists_is_described)
{
    int bad = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(LISTED_GIT); i++)
        bad += unknown_of(LISTED_GIT[i].name, sma_options_of_git(sma_str(LISTED_GIT[i].name)),
                          LISTED_GIT[i].options);
    CHECK_INT(0, bad);
}

CASE(what_nothing_lists_is_unknown)
{
    static const char *const programs[] = {"curl", "wget", "tar", "make", "cp", "npm", "cargo"};
    for (size_t i = 0; i < SMA_COUNT_OF(programs); i++)
        CHECK(!sma_options_know(sma_options_of(sma_str(programs[i])), SMA_STR("--no-such-thing")));
    CHECK(!sma_options_know(sma_options_of_git(SMA_STR("log")), SMA_STR("--no-such-thing")));
    CHECK(sma_options_of(SMA_STR("mytool")) == NULL);
    CHECK(sma_options_of_git(SMA_STR("filter-branch")) == NULL);
}

CASES_MAIN
