/*
 * Aim: the judge of the crash loop can say no: each broken promise, planted one at a time, is
 * found.
 * Method: write the files of a clean loop, change one thing, run the checker, compare its exit
 *   status. test_checker CHECKER
 */
#include "scenario/process.h"
#include "support/check.h"

#include <sys/stat.h>

static char *checker;

struct loop
{
    const char *clients, *saw, *history;
};

static const struct loop CLEAN = {
    .clients = "S accepted s0-0 accepted\nS accepted s0-1 duplicate\nH accepted h1-1\n"
               "H result h1-1 ok \"You said: please repeat h1-1\"\nH result h1-1 ok \"You said: "
               "please repeat h1-1\"\n",
    .saw = "SAW scripted:chat:room0 17.0 \"You said: please repeat s0-0\"\n"
           "SAW scripted:chat:room0 18.0 \"You said: please repeat s0-1\"\n"
           "SAW scripted:chat:room0 18.0 \"You said: please repeat s0-1\"\n",
    .history = "{\"v\":1,\"ts\":1,\"channel\":\"x\",\"chatId\":\"c\",\"chatKey\":\"k\","
               "\"messageId\":\"s0-0\",\"role\":\"user\",\"text\":\"a\"}\n"
               "{\"v\":1,\"ts\":1,\"channel\":\"x\",\"chatId\":\"c\",\"chatKey\":\"k\",\"userId\":"
               "\"bot\",\"role\":\"assistant\",\"text\":\"a\"}\n"
               "{\"v\":1,\"ts\":1,\"channel\":\"x\",\"chatId\":\"c\",\"chatKey\":\"k\","
               "\"messageId\":\"s0-1\",\"role\":\"user\",\"text\":\"a\"}\n"
               "{\"v\":1,\"ts\":1,\"channel\":\"x\",\"chatId\":\"c\",\"chatKey\":\"k\","
               "\"messageId\":\"h1-1\",\"role\":\"user\",\"text\":\"a\"}\n",
};

/* 0: all promises hold; 1: at least one is broken. `extra` is appended to the named file of the
 * clean loop. */
static int judge(struct loop loop)
{
    struct folder folder;
    folder_create(&folder, NULL);
    char path[256];
    static const char *const parts[] = {"project", "project/.ship", "project/.ship/chats"};
    for (size_t i = 0; i < SMA_COUNT_OF(parts); i++) {
        snprintf(path, sizeof path, "%s/%s", folder.path, parts[i]);
        CHECK(mkdir(path, 0700) == 0);
    }
    folder_write(&folder, "clients.log", loop.clients);
    folder_write(&folder, "saw.log", loop.saw);
    folder_write(&folder, "project/.ship/chats/a.jsonl", loop.history);
    char *argv[] = {checker, folder.path, NULL}, *output = NULL;
    int status = run_to_end(argv, "", &output, 20000);
    free(output);
    folder_remove(&folder);
    return status;
}

static struct loop with(const char *clients, const char *saw, const char *history)
{
    static char text[3][8192];
    snprintf(text[0], sizeof text[0], "%s%s", CLEAN.clients, clients);
    snprintf(text[1], sizeof text[1], "%s%s", CLEAN.saw, saw);
    snprintf(text[2], sizeof text[2], "%s%s", CLEAN.history, history);
    return (struct loop){text[0], text[1], text[2]};
}

#define LINE(id)                                                                                 \
    "{\"v\":1,\"ts\":1,\"channel\":\"x\",\"chatId\":\"c\",\"chatKey\":\"k\",\"messageId\":\"" id \
    "\",\"role\":\"user\",\"text\":\"a\"}\n"

CASE(a_clean_loop_passes)
{
    CHECK_INT(0, judge(CLEAN));
    /* given up visibly: accepted, no answer, but a notice */
    CHECK_INT(0, judge(with("S accepted s0-2 accepted\n",
                            "SAW scripted:chat:room0 19.0 \"I was interrupted three times ... and "
                            "have given it up.\"\n",
                            LINE("s0-2"))));
}

CASE(every_broken_promise_is_found)
{
    CHECK_INT(1, judge(with("S accepted s0-2 accepted\n", "", LINE("s0-2")))); /* lost */
    CHECK_INT(1, judge(with("H accepted h1-2\n", "", LINE("h1-2"))));          /* lost */
    CHECK_INT(1, judge(with("", "SAW scripted:chat:room0 20.0 \"You said: please repeat s0-1\"\n",
                            ""))); /* twice */
    CHECK_INT(1, judge(with("", "SAW scripted:chat:room1 20.0 \"You said: please repeat s0-5\"\n",
                            ""))); /* elsewhere */
    CHECK_INT(1, judge(with("S accepted s0-3 accepted\nS accepted s0-2 accepted\n",
                            "SAW scripted:chat:room0 22.0 \"You said: please repeat s0-3\"\n"
                            "SAW scripted:chat:room0 21.0 \"You said: please repeat s0-2\"\n",
                            LINE("s0-2") LINE("s0-3")))); /* out of order */
    CHECK_INT(
        1, judge(with("H result h1-1 ok \"something else h1-1\"\n", "", ""))); /* another result */
    CHECK_INT(1, judge(with("", "", LINE("h1-1")))); /* twice in history */
    CHECK_INT(
        1, judge(with("S accepted s0-2 accepted\n",
                      "SAW scripted:chat:room0 22.0 \"repeat s0-2\"\n", ""))); /* not in history */
    CHECK_INT(1, judge(with("", "", "{\"v\":1,\"ts\":1")));                    /* torn line */
    CHECK_INT(1, judge(with("", "", "not json\n")));
    CHECK_INT(1, judge(with("", "SAW half", "")));
    CHECK_INT(1, judge(with("BROKEN something a client saw\n", "", "")));
    CHECK_INT(1, judge((struct loop){"", "", ""})); /* nothing accepted proves nothing */
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    checker = argv[1];
    check_run_cases(NULL);
    return check_summary();
}
