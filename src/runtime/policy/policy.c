/*
 * policy.c — reading `permissions`, and what one rule says about one command.
 */
#include "shell_priv.h"

#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>

const char *sma_policy_verdict_name(enum sma_policy_verdict verdict)
{
    static const char *const names[] = {"allow", "ask", "refuse"};
    SMA_ASSERT((size_t)verdict < SMA_COUNT_OF(names));
    return names[verdict];
}

/* -- rules ------------------------------------------------------------------------------------- */
void sma_rule_fini(struct rule *rule)
{
    free(rule->text);
    free(rule->words);
    free(rule->storage);
    free(rule->script);
    *rule = (struct rule){0};
}

void sma_rules_free(struct rules *rules)
{
    for (size_t i = 0; i < rules->count; i++)
        sma_rule_fini(&rules->items[i]);
    free(rules->items);
    *rules = (struct rules){0};
}

static enum sma_err copy_words(const struct sma_shell *shell, struct rule *rule)
{
    const struct sma_shell_command *command = &shell->commands[0];
    const struct sma_shell_word *words = sma_shell_words(shell, command);
    size_t bytes = 1;
    for (uint32_t i = 0; i < command->word_count; i++)
        bytes += words[i].len;
    rule->words = calloc(command->word_count, sizeof *rule->words);
    rule->storage = malloc(bytes);
    if (rule->words == NULL || rule->storage == NULL)
        return SMA_ERR_NOMEM;
    char *at = rule->storage;
    for (uint32_t i = 0; i < command->word_count; i++) {
        memcpy(at, words[i].text, words[i].len);
        rule->words[i] = (struct sma_str){at, words[i].len};
        at += words[i].len;
    }
    rule->word_count = command->word_count;
    rule->base = sma_program_base(rule->words[0]);
    return SMA_ERR_OK;
}

/* Does an allow rule leave open what is run? Then the whole machine is behind it. */
static const char *find_opening(const struct sma_shell *shell, const struct rule *rule)
{
    uint32_t covers[SMA_SHELL_COMMAND_COUNT_MAX];
    for (uint32_t i = 0; i < shell->command_count; i++)
        covers[i] = i == 0 ? (rule->is_exact ? UINT32_MAX : rule->word_count)
                    : shell->commands[i].parent < 0
                        ? 0
                        : sma_rule_inherit(covers[shell->commands[i].parent], &shell->commands[i]);
    for (uint32_t i = 0; i < shell->note_count; i++)
        if (covers[shell->notes[i].command] <= shell->notes[i].origin)
            return shell->notes[i].why;
    for (uint32_t i = 0; i < shell->command_count; i++)
        if (covers[i] == 0)
            return "it runs a command that the rule does not fix";
    return NULL;
}

/* A rule for a file of the project makes that file one that may not be written without asking. */
static enum sma_err keep_script(const struct sma_shell *shell, struct rule *rule)
{
    struct sma_str script = {0}, program = {0};
    for (uint32_t i = 0; i < shell->command_count; i++) {
        struct sma_str name = sma_shell_word_str(sma_shell_words(shell, &shell->commands[i]));
        if (shell->commands[i].word_count > 0 && memchr(name.ptr, '/', name.len) != NULL)
            script = program = name;
    }
    for (uint32_t i = 0; i < shell->note_count; i++) {
        const struct sma_shell_command *command = &shell->commands[shell->notes[i].command];
        const struct sma_shell_word *words = sma_shell_words(shell, command);
        if (shell->notes[i].is_script && shell->notes[i].origin < command->word_count) {
            script = sma_shell_word_str(&words[shell->notes[i].origin]);
            program = sma_shell_word_str(&words[0]);
        }
    }
    if (script.len == 0)
        return SMA_ERR_OK;
    for (uint32_t i = 0; i < rule->word_count; i++)
        if (sma_str_is_equal(rule->words[i], program))
            rule->script_program = i;
    rule->script = strndup(script.ptr, script.len);
    return rule->script == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

enum sma_err sma_rule_parse(struct sma_shell *shell, const char *text, const char *where,
                            bool is_allow, struct rule *rule, struct sma_error *error)
{
    struct sma_str body = sma_str_trim(sma_str(text));
    rule->is_exact = body.len > 0 && body.ptr[0] == '=';
    if (rule->is_exact)
        body = sma_str_trim((struct sma_str){body.ptr + 1, body.len - 1});
    else if (body.len > 2 && memcmp(body.ptr + body.len - 2, " *", 2) == 0)
        body = sma_str_trim((struct sma_str){body.ptr, body.len - 2});
    if (body.len == 0 || body.len > SMA_POLICY_RULE_BYTES_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "%s: a rule must have 1 to %d bytes; write the first words of a command",
                        where, SMA_POLICY_RULE_BYTES_MAX);
    sma_shell_parse(shell, body);
    bool is_simple = !shell->is_uncertain && shell->command_count == 1 &&
                     shell->redirect_count == 0 && shell->assign_count == 0 &&
                     shell->commands[0].word_count > 0;
    for (uint32_t i = 0; is_simple && i < shell->word_count; i++)
        is_simple = sma_shell_word_is_constant(&shell->words[i]);
    if (!is_simple)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "%s: \"%.120s\" is not the beginning of one command; write plain words, "
                        "a star only as the last one",
                        where, text);
    enum sma_err err = copy_words(shell, rule);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "out of memory");
    sma_shell_unwrap(shell);
    const char *opening = is_allow ? find_opening(shell, rule) : NULL;
    if (opening != NULL || (is_allow && shell->is_uncertain))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "%s: \"%.120s\" would allow any program (%s); name the script or the "
                        "program it may run",
                        where, text, opening == NULL ? shell->why : opening);
    rule->text = strdup(text);
    if (is_allow && keep_script(shell, rule) != SMA_ERR_OK)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    return rule->text == NULL ? sma_fail(error, SMA_ERR_NOMEM, "out of memory") : SMA_ERR_OK;
}

static enum sma_err load_rules(struct sma_shell *shell, const json_t *list, bool is_allow,
                               struct rules *rules, struct sma_error *error)
{
    const char *name = is_allow ? "allow" : "deny";
    const char *where = is_allow ? "permissions.exec_shell.allow" : "permissions.exec_shell.deny";
    if (list != NULL && !json_is_array(list))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.exec_shell.%s must be a list of rules, like [\"git status\"]",
                        name);
    size_t count = list == NULL ? 0 : json_array_size(list);
    if (count > SMA_POLICY_RULE_COUNT_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.exec_shell.%s has %zu rules; at most %d are possible", name,
                        count, SMA_POLICY_RULE_COUNT_MAX);
    if (count == 0)
        return SMA_ERR_OK;
    rules->items = calloc(count, sizeof *rules->items);
    if (rules->items == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_string(item))
            return sma_fail(error, SMA_ERR_BADINPUT,
                            "permissions.exec_shell.%s[%zu] must be a text, like \"git status\"",
                            name, i);
        rules->count++;
        SMA_TRY(sma_rule_parse(shell, json_string_value(item), where, is_allow, &rules->items[i],
                               error));
    }
    return SMA_ERR_OK;
}

/* -- permissions ------------------------------------------------------------------------------- */
static enum sma_err read_flag(const json_t *object, const char *name, bool *ret_value,
                              struct sma_error *error)
{
    const json_t *value = json_object_get(object, name);
    if (value == NULL)
        return SMA_ERR_OK;
    if (!json_is_boolean(value))
        return sma_fail(error, SMA_ERR_BADINPUT, "permissions.exec_shell.%s must be true or false",
                        name);
    *ret_value = json_is_true(value);
    return SMA_ERR_OK;
}

static enum sma_err load_object(struct sma_policy *policy, const json_t *object,
                                struct sma_error *error)
{
    struct sma_shell *shell = sma_shell_create();
    json_t *usual =
        json_pack("[s]", "rm"); /* protocols/project.md §10.1: an object without `deny` denies rm */
    const json_t *deny = json_object_get(object, "deny");
    bool must_ask = true;
    enum sma_err err = shell == NULL || usual == NULL
                           ? sma_fail(error, SMA_ERR_NOMEM, "out of memory")
                           : SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        err = load_rules(shell, deny == NULL ? usual : deny, false, &policy->deny, error);
    if (err == SMA_ERR_OK)
        err = load_rules(shell, json_object_get(object, "allow"), true, &policy->allow, error);
    if (err == SMA_ERR_OK)
        err = read_flag(object, "requiresApproval", &must_ask, error);
    if (err == SMA_ERR_OK)
        err = read_flag(object, "denyRequiresApproval", &policy->deny_is_question, error);
    policy->allows_the_rest = !must_ask && policy->allow.count == 0;
    policy->asks_always = must_ask && json_object_get(object, "requiresApproval") != NULL;
    json_decref(usual);
    sma_shell_destroy(shell);
    return err;
}

static enum sma_err load_permissions(struct sma_policy *policy, const char *text,
                                     struct sma_error *error)
{
    json_error_t detail;
    json_t *root = text == NULL || *text == '\0' ? json_object() : json_loads(text, 0, &detail);
    const json_t *exec_shell = json_object_get(root, "exec_shell");
    enum sma_err err = SMA_ERR_OK;
    if (!json_is_object(root)) {
        err = sma_fail(error, SMA_ERR_BADINPUT, "permissions must be an object");
    } else if (exec_shell == NULL) {
        json_t *empty = json_object();
        err = empty == NULL ? sma_fail(error, SMA_ERR_NOMEM, "out of memory")
                            : load_object(policy, empty, error);
        json_decref(empty);
    } else if (json_is_boolean(exec_shell)) {
        policy->is_off = json_is_false(exec_shell);
        policy->allows_the_rest = json_is_true(exec_shell);
    } else if (json_is_object(exec_shell)) {
        err = load_object(policy, exec_shell, error);
    } else {
        err =
            sma_fail(error, SMA_ERR_BADINPUT,
                     "permissions.exec_shell must be true, false or an object with deny and allow");
    }
    json_decref(root);
    return err;
}

enum sma_err sma_policy_load(const char *permissions_json, struct sma_policy **ret_policy,
                             struct sma_error *error)
{
    struct sma_policy *policy = calloc(1, sizeof *policy);
    if (policy == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    enum sma_err err = load_permissions(policy, permissions_json, error);
    if (err != SMA_ERR_OK) {
        sma_policy_destroy(policy);
        return err;
    }
    *ret_policy = policy;
    return SMA_ERR_OK;
}

#define RULES_SHOWN 5

static void describe_deny(const struct sma_policy *policy, struct sma_buf *buf)
{
    if (policy->deny.count == 0) {
        sma_buf_put_text(buf, "; no program is refused");
        return;
    }
    sma_buf_put_text(buf, policy->deny_is_question ? "; always asked: " : "; refused: ");
    for (size_t i = 0; i < policy->deny.count && i < RULES_SHOWN; i++)
        sma_buf_printf(buf, "%s%s", i == 0 ? "" : ", ", policy->deny.items[i].text);
    if (policy->deny.count > RULES_SHOWN)
        sma_buf_printf(buf, " and %zu more", policy->deny.count - RULES_SHOWN);
}

void sma_policy_describe(const struct sma_policy *policy, struct sma_buf *buf)
{
    if (policy->is_off) {
        sma_buf_put_text(buf, "all refused");
        return;
    }
    if (policy->allows_the_rest)
        sma_buf_put_text(buf, "run WITHOUT a question where they are understood, else asked");
    else if (policy->asks_always || policy->allow.count == 0)
        sma_buf_put_text(buf, "each one is asked");
    else
        sma_buf_printf(buf, "asked, but for %zu allow rule%s", policy->allow.count,
                       policy->allow.count == 1 ? "" : "s");
    describe_deny(policy, buf);
}

void sma_policy_destroy(struct sma_policy *policy)
{
    if (policy == NULL)
        return;
    sma_rules_free(&policy->deny);
    sma_rules_free(&policy->allow);
    free(policy);
}

/* -- one rule, one command --------------------------------------------------------------------- */
/* A name without a path stands for the program in the folders of the system, never for ./name. */
static bool names_program(const struct rule *rule, struct sma_str program)
{
    static const char *const folders[] = {"/usr/bin/", "/bin/", "/usr/local/bin/", "/usr/sbin/",
                                          "/sbin/"};
    if (program.len < rule->base.len ||
        memcmp(program.ptr + program.len - rule->base.len, rule->base.ptr, rule->base.len) != 0)
        return false; /* most rules end here */
    if (sma_str_is_equal(rule->words[0], program))
        return true;
    struct sma_str folder = {program.ptr, program.len - rule->base.len};
    for (size_t i = 0; rule->base.len == rule->words[0].len && i < SMA_COUNT_OF(folders); i++)
        if (sma_str_is_equal(folder, sma_str(folders[i])))
            return true;
    return false;
}

/* git -P log is git log: options before the subcommand that only leave the pager out. */
static uint32_t count_leading(const struct rule *rule, const struct sma_shell *shell,
                              const struct sma_shell_command *command)
{
    const struct sma_shell_word *words = sma_shell_words(shell, command);
    uint32_t count = 0;
    if (rule->word_count < 2 || rule->words[1].ptr[0] == '-' ||
        !sma_str_is_equal(rule->base, SMA_STR("git")))
        return 0;
    while (count + 1 < command->word_count && sma_shell_word_is_constant(&words[count + 1]) &&
           sma_list_has("--no-pager -P", sma_shell_word_str(&words[count + 1])))
        count++;
    return count;
}

uint32_t sma_rule_cover(const struct rule *rule, const struct sma_shell *shell,
                        const struct sma_shell_command *command)
{
    const struct sma_shell_word *words = sma_shell_words(shell, command);
    if (command->word_count == 0 || !names_program(rule, sma_shell_word_str(&words[0])))
        return 0;
    uint32_t skip = count_leading(rule, shell, command), count = rule->word_count + skip;
    if (command->word_count < count ||
        (rule->is_exact && (command->word_count != count || command->has_more_words)))
        return 0;
    for (uint32_t i = 0; i < rule->word_count; i++) {
        const struct sma_shell_word *word = &words[i == 0 ? 0 : i + skip];
        if (!sma_shell_word_is_constant(word) ||
            (i > 0 && !sma_str_is_equal(rule->words[i], sma_shell_word_str(word))))
            return 0;
    }
    return rule->is_exact ? UINT32_MAX : count;
}

uint32_t sma_rule_inherit(uint32_t cover, const struct sma_shell_command *child)
{
    if (cover <= child->origin)
        return 0;
    return child->is_from_text || cover == UINT32_MAX ? UINT32_MAX : cover - child->origin;
}
