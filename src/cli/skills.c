/*
 * skills.c — `shipmyagent skills`: which skills the project has, what is wrong with them, and the
 * owner's word for those that are new.
 */
#include "skills.h"

#include "api.h"
#include "cli.h"
#include "commands.h"
#include "prompt.h"
#include "runtime/skills/tree.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ERRORS 1 /* exit status of check */
#define WARNINGS 2
#define FILE_COUNT_SHOWN 50
#define LINE_COUNT_SHOWN 120 /* of SKILL.md */

/* -- showing ----------------------------------------------------------------------------------- */
static void print_field(const char *name, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    printf("  %-12s ", name);
    sma_cli_print_clean(sma_str(text));
    puts("");
}

enum sma_err sma_skills_print(const struct sma_skill *skill, int folder, const char *why_now,
                              struct sma_error *error)
{
    struct sma_buf files;
    sma_buf_init(&files, 4 * 1024 * 1024);
    enum sma_err err = sma_skill_tree_list(folder, SMA_SKILL_FILE_COUNT_MAX, &files, error);
    if (err == SMA_ERR_OK) {
        sma_cli_print_clean(sma_str(skill->id));
        printf(" (%s)\n", why_now);
        print_field("folder", skill->place);
        print_field("name", skill->front.name);
        print_field("description", skill->front.description);
        print_field("licence", skill->front.license);
        print_field("wants tools", skill->front.allowed_tools);
        if (skill->has_front_error)
            print_field("warning", skill->why);
        printf("  files (%llu bytes):\n", (unsigned long long)skill->tree.bytes);
        sma_cli_print_lines(sma_buf_str(&files), "    ", FILE_COUNT_SHOWN);
        if (skill->tree.text != NULL) {
            puts("  SKILL.md:");
            sma_cli_print_lines((struct sma_str){skill->tree.text, skill->tree.text_len}, "    | ",
                                LINE_COUNT_SHOWN);
        }
    }
    sma_buf_fini(&files);
    return err;
}

/* -- list, check ------------------------------------------------------------------------------- */
static int add_json(json_t *list, const struct sma_skill *skill)
{
    const struct sma_skill_front *front = &skill->front;
    json_t *tools = front->allowed_tools == NULL
                        ? NULL
                        : json_loads(front->allowed_tools, JSON_DECODE_ANY, NULL);
    json_t *item =
        json_pack("{ssssssssssss*ss*ss*so*}", "id", skill->id, "name", sma_skill_name(skill),
                  "state", sma_skill_state_name(skill->state), "place", skill->place, "root",
                  skill->root, "description", front->description, "license", front->license,
                  "problem", skill->why, "allowedTools", tools);
    return item == NULL ? -1 : json_array_append_new(list, item);
}

static int print_json(const struct sma_skills *skills)
{
    json_t *list = json_array();
    int status = list == NULL ? -1 : 0;
    for (size_t i = 0; status == 0 && i < skills->count; i++)
        status = add_json(list, &skills->list[i]);
    json_t *root = status == 0 ? json_pack("{sOss}", "skills", list, "notes", skills->notes) : NULL;
    SMA_AUTO(sma_freep) char *text = root == NULL ? NULL : json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    json_decref(list);
    if (text == NULL)
        return sma_cli_fail("skills: out of memory");
    puts(text);
    return 0;
}

static const char *state_of(const struct sma_skills *skills, const struct sma_skill *skill)
{
    if (!skills->has_record && skill->state == SMA_SKILL_NEW)
        return "found"; /* the first start accepts it */
    return sma_skill_state_name(skill->state);
}

static void print_table(const struct sma_skills *skills)
{
    for (size_t i = 0; i < skills->count; i++) {
        const struct sma_skill *skill = &skills->list[i];
        printf("%-9s ", state_of(skills, skill));
        sma_cli_print_clean(sma_str(skill->id));
        fputs("  ", stdout);
        sma_cli_print_clean(sma_str(skill->place));
        if (skill->why != NULL) {
            fputs("  ", stdout);
            sma_cli_print_clean(sma_str(skill->why));
        }
        puts("");
    }
}

static size_t count_held(const struct sma_skills *skills)
{
    return skills->has_record ? sma_skills_count(skills, SMA_SKILL_NEW) +
                                    sma_skills_count(skills, SMA_SKILL_CHANGED)
                              : 0;
}

static int list(const struct sma_skills *skills, const struct sma_skills_options *options)
{
    if (options->is_json)
        return print_json(skills);
    print_table(skills);
    sma_cli_print_lines(sma_str(skills->notes), "", 100);
    if (skills->count == 0)
        puts("No skills: put folders with a SKILL.md into .claude/skills, or add one with "
             "`shipmyagent skills add PATH`.");
    else if (count_held(skills) > 0)
        printf("%zu held back from the agent: look at them with `shipmyagent skills accept`.\n",
               count_held(skills));
    return 0;
}

static int check(const struct sma_skills *skills, const struct sma_skills_options *options)
{
    int status = list(skills, options);
    if (status != 0)
        return status;
    bool is_bad = sma_skills_count(skills, SMA_SKILL_BROKEN) > 0 || skills->is_record_damaged;
    bool is_doubtful = skills->notes[0] != '\0' || count_held(skills) > 0;
    for (size_t i = 0; i < skills->count; i++)
        is_doubtful |= skills->list[i].has_front_error;
    return is_bad ? ERRORS : is_doubtful ? WARNINGS : 0;
}

/* -- accept ------------------------------------------------------------------------------------ */
static bool is_wanted(const struct sma_skill *skill, const char *what)
{
    bool is_held = skill->state == SMA_SKILL_NEW || skill->state == SMA_SKILL_CHANGED;
    return is_held && (what == NULL || strcmp(what, "all") == 0 || strcmp(what, skill->id) == 0);
}

/* What is shown is read now, and its digest is what will be accepted. */
static SMA_CHECKED enum sma_err show(const struct sma_config *config, struct sma_skill *skill,
                                     struct sma_error *error)
{
    struct sma_skill_tree tree = {.text = NULL};
    SMA_TRY(sma_skill_read(config, skill, &tree, error));
    free(skill->tree.text);
    skill->tree = tree;
    sma_skill_front_fini(&skill->front);
    struct sma_error detail = {.code = SMA_ERR_OK};
    enum sma_err err =
        sma_skill_front_parse((struct sma_str){tree.text, tree.text_len}, &skill->front, &detail);
    if (err == SMA_ERR_NOMEM)
        return sma_fail(error, err, "out of memory");
    int folder = sma_skill_open(config, skill, error);
    if (folder < 0)
        return SMA_ERR_BADINPUT;
    err = sma_skills_print(skill, folder, sma_skill_state_name(skill->state), error);
    close(folder);
    return err;
}

static SMA_CHECKED enum sma_err show_all(const struct sma_config *config, struct sma_skills *skills,
                                         const char *what, const struct sma_skill **shown,
                                         size_t *ret_count, struct sma_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < skills->count; i++) {
        if (!is_wanted(&skills->list[i], what))
            continue;
        SMA_TRY(show(config, &skills->list[i], error));
        shown[count++] = &skills->list[i];
    }
    *ret_count = count;
    return SMA_ERR_OK;
}

static int accept_shown(const struct sma_config *config, struct sma_skills *skills,
                        const struct sma_skills_options *options, const struct sma_skill **shown)
{
    struct sma_error error = {.code = SMA_ERR_OK};
    size_t count = 0;
    if (show_all(config, skills, options->what, shown, &count, &error) != SMA_ERR_OK)
        return sma_cli_fail("skills: %s", error.text);
    if (count == 0 && options->what != NULL && strcmp(options->what, "all") != 0)
        return sma_cli_fail("skills: no skill %s is held back; `shipmyagent skills list` shows all",
                            options->what);
    if (count == 0) {
        puts("No skill is held back.");
        return 0;
    }
    (void)fflush(stdout);
    if (!sma_prompt_agree("skills", options->is_yes,
                          "Their words will guide the agent. Accept what is shown above?"))
        return 1;
    if (sma_skills_accept(config, shown, count, &error) != SMA_ERR_OK)
        return sma_cli_fail("skills: %s", error.text);
    printf("%zu accepted.\n", count);
    return 0;
}

static int accept_held(const struct sma_config *config, struct sma_skills *skills,
                       const struct sma_skills_options *options)
{
    const struct sma_skill **shown = calloc(skills->count + 1, sizeof(struct sma_skill *));
    int status = shown == NULL ? sma_cli_fail("skills: out of memory")
                               : accept_shown(config, skills, options, shown);
    free(shown);
    return status;
}

/* -- the command ------------------------------------------------------------------------------- */
static int carry_out(const struct sma_config *config, const struct sma_skills_options *options)
{
    struct sma_skills *skills = NULL;
    if (strcmp(options->verb, "add") == 0)
        return sma_skills_add(config, options);
    if (sma_skills_scan(config, NULL, &skills) != SMA_ERR_OK)
        return sma_cli_fail("skills: out of memory");
    int status = strcmp(options->verb, "check") == 0    ? check(skills, options)
                 : strcmp(options->verb, "accept") == 0 ? accept_held(config, skills, options)
                                                        : list(skills, options);
    sma_skills_destroy(skills);
    return status;
}

static int read_words(int argc, char **argv, struct sma_skills_options *options)
{
    static const char *const verbs[] = {"list", "check", "accept", "add"};
    int at = optind;
    for (size_t i = 0; at < argc && i < SMA_COUNT_OF(verbs); i++)
        if (strcmp(argv[at], verbs[i]) == 0)
            options->verb = verbs[i];
    at += at < argc && strcmp(argv[at], options->verb) == 0;
    bool is_add = strcmp(options->verb, "add") == 0;
    if ((is_add || strcmp(options->verb, "accept") == 0) && at < argc)
        options->what = argv[at++];
    if (at < argc)
        options->folder = argv[at++];
    if (at < argc)
        return sma_cli_fail("skills: too many words at %s; see `shipmyagent help skills`",
                            argv[at]);
    if (is_add && options->what == NULL)
        return sma_cli_fail(
            "skills: add what? Name a folder with a SKILL.md, or an archive of one");
    return 0;
}

static int sma_cli_skills(int argc, char **argv)
{
    struct sma_skills_options options = {.verb = "list", .folder = "."};
    int option;
    while ((option = sma_cli_option(&sma_cli_command_skills, argc, argv)) != -1) {
        if (option == '?')
            return 1;
        options.is_json |= option == 'j';
        options.is_yes |= option == 'y';
    }
    int status = read_words(argc, argv, &options);
    if (status != 0)
        return status;
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    struct sma_config_overrides overrides = {.provider = "offline"}; /* no model is needed here */
    if (sma_config_load(options.folder, &overrides, NULL, NULL, &config, &error) != SMA_ERR_OK)
        return sma_cli_fail("%s", error.text);
    status = carry_out(config, &options);
    sma_config_destroy(config);
    return status;
}

static const struct sma_cli_command_option SKILLS_OPTIONS[] = {
    {"json", 'j', false, SMA_VALUE_NONE, NULL, NULL, "list and check: as JSON"},
    {"yes", 'y', false, SMA_VALUE_NONE, NULL, NULL, "accept and add: without a question"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_skills = {
    .name = "skills",
    .run = sma_cli_skills,
    .place = "[FOLDER]",
    .summary = "which skills the agent has; accept or add one",
    .usage = "shipmyagent skills [list|check] [FOLDER] [--json]\n"
             "shipmyagent skills accept [ID|all] [FOLDER] [--yes]\n"
             "shipmyagent skills add PATH [FOLDER] [--yes]\n",
    .options = SKILLS_OPTIONS,
    .text = "A skill that is new or has changed is held back from the agent until `accept`, which "
            "shows it first and accepts\n"
            "only what it has shown. `add` copies a folder, or a .tar, .tar.gz, .tar.xz, .zip of "
            "one, into "
            ".claude/skills and\n"
            "accepts it. `check` ends with 0: all is well; 1: a skill is broken; 2: one is held "
            "back or has warnings.\n"
            "Otherwise 0: done; 1: not done.\n",
    .verbs = "list|check|accept|add",
    .first = SMA_VALUE_FOLDER,
    .second = SMA_VALUE_TEXT,
};
