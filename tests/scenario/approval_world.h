/*
 * approval_world.h — a Telegram world in which the agent may do something only after somebody
 * agreed. For scenario tests.
 *
 * ANN is the owner, BOB a member, CAT nobody; EVE administers TEAM and FORUM on the platform. The
 * model calls what the user's text says (fake_model_calls.c), so a test says which command is
 * wanted and counts what it left behind.
 */
#ifndef SMA_TEST_APPROVAL_WORLD_H
#define SMA_TEST_APPROVAL_WORLD_H

#include "telegram_world.h"

#define CAT 1004
#define COUNT_COMMAND "echo done >> count" /* a line for every time it runs */
#define WANT(command) "please [[call exec_shell {\"command\":\"" command "\"}]]"
#define WANT_COUNT WANT(COUNT_COMMAND)

struct approval_options
{
    const char *permissions; /* more members: ",\"exec_shell\":{...}"; NULL: none beside roles */
    const char *root;        /* more of ship.json: ",\"approvals\":{\"expireS\":2}" */
    const char *script;      /* of the model server */
    const char *access;      /* NULL = "\"paired\"" */
    const char *members;     /* of adapters.telegram; NULL: no limits of our own */
    const char *llm;         /* more of its "llm"; NULL: nothing */
    const char *concurrency; /* NULL = "4" */
    bool knows_no_group;     /* else ship.json lets TEAM and FORUM in */
};
void approval_create(struct platform_world *world, const char *fake_model,
                     const struct approval_options *options);
void approval_start(struct platform_world *world, const char *binary, const char *fake_model,
                    const struct approval_options *options);
/** After service_stop or service_kill: the same project again. */
void approval_restart(struct platform_world *world, const char *binary);

/** Until a message of ours with buttons contains `part`. @return it; decref */
json_t *approval_await_card(const struct platform_world *world, int64_t chat, const char *part);
/** A button by its text. @return id of the press; free it */
char *approval_press(const struct platform_world *world, int64_t chat, int64_t user,
                     int64_t message_id, const char *button);
/** Until the press is answered with a text that contains `part`; frees `press`. */
void approval_expect_toast(const struct platform_world *world, char *press, const char *part);
/** press and expect_toast. */
void approval_press_for(const struct platform_world *world, int64_t chat, int64_t user,
                        int64_t message_id, const char *button, const char *part);
/** Ask, and wait for the card and its receipt. @return the card's message id */
int64_t approval_ask(const struct platform_world *world, int64_t chat, int64_t user,
                     const char *text, const char *part);

/** Until so many results of tools were said. */
void approval_await_results(const struct platform_world *world, int64_t chat, size_t count);
/** Say what calls tools without a question, and wait. @return what was said of the last result;
 *  free it */
char *approval_do(const struct platform_world *world, int64_t chat, int64_t user, const char *text);
/** The same of ANN in private, who agrees when she is asked. */
char *approval_agree(const struct platform_world *world, const char *text);
/** approval_agree; it must contain `part`. */
void approval_do_for(const struct platform_world *world, const char *text, const char *part);

/** Until the model was asked `count` times with `part` in the body. */
void approval_await_asked(const struct platform_world *world, const char *part, size_t count);
/** GET or POST (body not NULL) of the API; status checked. Decref it. */
json_t *approval_api(const struct platform_world *world, const char *path, const char *body,
                     int status);
/** Until the list of approvals has so many. @return {"approvals":[...]} as the API answers; decref
 *  it */
json_t *approval_await_open(const struct platform_world *world, size_t count);

/** The command line: `shipmyagent <words> <folder>`; status checked; output must contain `part`. */
void approval_cli(const struct platform_world *world, const char *binary, int status,
                  const char *part, ...);

#endif
