/*
 * init.h — the parts of `shipmyagent init`: what it was told or has asked, and who asks, tests and
 * writes it.
 *
 * Order: options (init.c) > questions and tests (init_model, init_platform) > contents
 * (init_files) > the folder (init_stage) > what comes then (init_ending). Nothing is on disk before
 * the last question is answered and the last test is over.
 * Threads: the main thread, before there are others.
 */
#ifndef SMA_CLI_INIT_H
#define SMA_CLI_INIT_H

#include "init_secret.h"
#include "sma/adapter.h"

#define INIT_ANSWER_BYTES_MAX 512
#define INIT_PLATFORM_COUNT_MAX 8
#define INIT_OWNER_COUNT_MAX 8

struct init_model
{
    char provider[INIT_ANSWER_BYTES_MAX], model[INIT_ANSWER_BYTES_MAX];
    char base_url[INIT_ANSWER_BYTES_MAX];
    char key[INIT_SECRET_BYTES_MAX];    /* to test with; "" = none is known */
    char variable[INIT_NAME_BYTES_MAX]; /* that ship.json names */
    bool is_key_given;                  /* by an option: .env gets it */
};

struct init_platform
{
    const struct sma_adapter_ops *ops;
    bool is_switched; /* setup.switch_key */
};

enum init_ending
{
    INIT_ENDS_ASKED, /* no option says it: a question, or a list of what may come next */
    INIT_ENDS_CHAT,
    INIT_ENDS_START,
    INIT_ENDS_SERVICE,
};

struct init_answers
{
    const char *dir;
    char name[INIT_ANSWER_BYTES_MAX];
    struct init_model model;
    struct init_secrets secrets; /* what .env gets */
    struct init_platform platforms[INIT_PLATFORM_COUNT_MAX];
    size_t platform_count;
    bool is_platform_given; /* also "none" */
    bool is_switched;
    char telegram_root[INIT_ANSWER_BYTES_MAX], proxy[INIT_ANSWER_BYTES_MAX];
    char owners[INIT_OWNER_COUNT_MAX][INIT_NAME_BYTES_MAX]; /* "telegram:1001" */
    size_t owner_count;
    bool has_rules, is_rules_given, has_sandbox;
    int port; /* 0 = choose one */
    bool is_yes, is_forced, is_untested;
    enum init_ending ending;
};

/* -- init_model.c ------------------------------------------------------------------------------ */
#define INIT_ENDED 2 /* the input ended in the middle */
/** Provider, key and model: asked, tested as they come. 0 | 1 after one line on stderr |
 *  INIT_ENDED */
int init_ask_model(struct init_answers *answers);
/** The same without questions: fills in what is not given, refuses what cannot work, tests a key
 *  that was given. 0, or 1 after one line on stderr. */
int init_check_model(struct init_answers *answers);

/* -- init_platform.c --------------------------------------------------------------------------- */
/** Connect this platform, too; "none": no more. 0, or 1 after one line on stderr. */
int init_add_platform(struct init_answers *answers, const char *name);
/** Platforms, their tokens, and who is the owner there. 0 | 1 after one line on stderr |
 *  INIT_ENDED */
int init_ask_platforms(struct init_answers *answers);
/** Tests the tokens that were given. 0, or 1 after one line on stderr. */
int init_check_platforms(struct init_answers *answers);

bool init_has_owner(const struct init_answers *answers, const struct sma_adapter_ops *ops);
/** Is everything that it needs in .env or the environment, or about to be? */
bool init_has_secrets(const struct init_answers *answers, const struct sma_adapter_ops *ops);

/* -- init_files.c ------------------------------------------------------------------------------ */
/** Everything into the folder, all of it or nothing. 0, or 1 after one line on stderr. */
int init_write(const struct init_answers *answers);

/* -- init_check.c ------------------------------------------------------------------------------ */
/** Would `start` take the project that was made at root? 0, or 1 after its line on stderr. */
int init_check_start(const char *root, const struct init_answers *answers);
/** Does bubblewrap work here? */
bool init_has_sandbox(void);

/* -- init_port.c ------------------------------------------------------------------------------- */
/** A port that nobody listens on and that no project beside `dir` names; what dir's own ship.json
 *  names comes first. 0: there is none. */
int init_find_port(const char *dir);

/* -- init_ending.c ----------------------------------------------------------------------------- */
/** What comes next: asked. false: the input ended. */
bool init_ask_ending(struct init_answers *answers);
/** Can it be done here? Before anything is written. 0, or 1 after one line on stderr. */
int init_check_ending(const struct init_answers *answers);
/** Does it; starts another program in this one's place where it can. The exit status. */
int init_end(const struct init_answers *answers);

/* -- init_service.c ---------------------------------------------------------------------------- */
/** Is there a systemd that takes services of this user? 0, or 1 after one line on stderr. */
int init_check_service(void);
int init_install_service(const char *dir);

#endif
