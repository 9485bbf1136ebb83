/* check.c — may this call be done, and what exactly would be agreed to? See check.h. */
#include "runtime/files/check_priv.h"

#include "runtime/approval/card.h"
#include "runtime/approval/request.h"
#include "runtime/files/write_judge.h"
#include "runtime/policy/owner_files.h"
#include "runtime/policy/policy_mcp.h"
#include "runtime/policy/shell.h"
#include "runtime/tools/card_check.h"
#include "sma/chats.h"
#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_BYTES_MAX \
    (16 * 1024) /* of arguments that go into a request; longer ones are named, not shown */
#define DETAIL_BYTES_MAX (64 * 1024) /* of a diff or text in details_json */
#define ITEM_BYTES_MAX (1024 * 1024)

enum sma_err sma_tool_rules_create(const struct sma_config *config,
                                   struct sma_tool_rules **ret_rules, struct sma_error *error)
{
    struct sma_tool_rules *rules = calloc(1, sizeof *rules);
    if (rules == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    rules->config = config;
    rules->project_dir = strdup(config->project_dir);
    enum sma_err err =
        rules->project_dir == NULL ? sma_fail(error, SMA_ERR_NOMEM, "out of memory") : SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        err = sma_policy_load(config->permissions_json, &rules->policy, error);
    struct sma_mcp_policy *mcp = NULL; /* the agent decides by it; here it is told what is wrong */
    if (err == SMA_ERR_OK)
        err = sma_mcp_policy_load(config->permissions_json, &mcp, error);
    sma_mcp_policy_destroy(mcp);
    if (err == SMA_ERR_OK)
        err = sma_file_tools_create(config, &rules->files, error);
    if (err == SMA_ERR_OK)
        err = sma_web_rules_parse(config->permissions_json, config->web.json, &rules->web, error);
    if (err != SMA_ERR_OK) {
        sma_tool_rules_destroy(rules);
        return err;
    }
    *ret_rules = rules;
    return SMA_ERR_OK;
}

void sma_tool_rules_destroy(struct sma_tool_rules *rules)
{
    if (rules == NULL)
        return;
    sma_policy_destroy(rules->policy);
    sma_file_tools_destroy(rules->files);
    sma_web_rules_destroy(rules->web);
    free(rules->project_dir);
    free(rules);
}

void sma_tool_rules_set_sandbox(struct sma_tool_rules *rules, const char *walls)
{
    rules->walls = walls;
}

void sma_tool_rules_set_unhidden(struct sma_tool_rules *rules, bool is_unhidden)
{
    atomic_store(&rules->is_unhidden, is_unhidden);
}

const struct sma_policy *sma_tool_rules_policy(const struct sma_tool_rules *rules)
{
    return rules->policy;
}

void sma_tool_rules_describe(const struct sma_tool_rules *rules, struct sma_buf *buf)
{
    sma_buf_put_text(buf, "commands: ");
    sma_policy_describe(rules->policy, buf);
    sma_buf_put_text(buf, "\nfiles: ");
    sma_file_rules_describe(rules->files->rules, buf);
    sma_buf_put_char(buf, '\n');
}

/* -- commands and files ------------------------------------------------------------------------ */
static struct sma_write_rules write_rules(const struct checking *checking)
{
    return (struct sma_write_rules){.config = checking->rules->config,
                                    .policy = checking->rules->policy,
                                    .files = checking->rules->files->rules,
                                    .grants = checking->ask->grants,
                                    .grant_count = checking->ask->grant_count,
                                    .wall_ms = checking->wall_ms};
}

static bool stays(void *user, struct sma_str path)
{
    const struct checking *checking = user;
    return sma_guard_stays(checking->rules->files->guard, path);
}

/* Through a link it is another file's verdict that counts; asked about in any case. */
static enum sma_policy_write judge_another(const struct sma_write_rules *rules,
                                           const char *project_dir, const char *path,
                                           enum sma_policy_write verdict)
{
    char full[PATH_MAX], real[PATH_MAX];
    size_t len = strlen(project_dir);
    verdict = verdict == SMA_POLICY_WRITE_FREE ? SMA_POLICY_WRITE_ASKED : verdict;
    if (snprintf(full, sizeof full, "%s/%s", project_dir, path) >= PATH_MAX ||
        realpath(full, real) == NULL || strncmp(real, project_dir, len) != 0 || real[len] != '/')
        return verdict;
    enum sma_policy_write found = sma_write_judge(rules, sma_str(real + len + 1)).verdict;
    return found > verdict ? found : verdict;
}

/* The verdict that write_file gets. A link or a file of several names may be any other file. */
static enum sma_policy_write may_write(void *user, struct sma_str path)
{
    const struct checking *checking = user;
    const struct sma_guard *guard = checking->rules->files->guard;
    struct sma_write_rules rules = write_rules(checking);
    struct sma_buf clean, why;
    sma_buf_init(&clean, SMA_GUARD_PATH_BYTES_MAX + 1);
    sma_buf_init(&why, 4000);
    enum sma_policy_write verdict = SMA_POLICY_WRITE_ASKED;
    if (sma_guard_clean(guard, path, &clean, &why) == SMA_ERR_OK && clean.len > 0) {
        enum sma_guard_place place = sma_guard_look(guard, sma_buf_str(&clean));
        verdict = sma_write_judge(&rules, sma_buf_str(&clean)).verdict;
        if (place == SMA_GUARD_NOWHERE)
            verdict = SMA_POLICY_WRITE_FREE; /* cp a b, where b is a file: b/a is not written */
        else if (place == SMA_GUARD_ANOTHER)
            verdict = judge_another(&rules, checking->rules->project_dir, clean.ptr, verdict);
    }
    sma_buf_fini(&clean);
    sma_buf_fini(&why);
    return verdict;
}

static struct sma_policy_query make_query(struct checking *checking, struct sma_str command)
{
    return (struct sma_policy_query){.command = command,
                                     .project_dir = sma_str(checking->rules->project_dir),
                                     .stays = stays,
                                     .may_write = may_write,
                                     .user = checking};
}

void sma_tool_rules_decide(const struct sma_tool_rules *rules, struct sma_shell *shell,
                           struct sma_str command, struct sma_policy_decision *ret_decision)
{
    struct sma_tool_ask ask = {.name = SMA_STR("exec_shell")};
    struct checking checking = {.rules = rules, .ask = &ask, .shell = shell};
    struct sma_policy_query query = make_query(&checking, command);
    sma_policy_decide(rules->policy, shell, &query, ret_decision);
}

/* -- what all share ---------------------------------------------------------------------------- */
void check_set_text(char *to, size_t size, struct sma_str text)
{
    size_t len = sma_utf8_cut(text, size - 1);
    if (len > 0)
        memcpy(to, text.ptr, len);
    to[len] = '\0';
}

void check_decide(struct checking *checking, enum sma_tool_verdict verdict, const char *rule,
                  const char *reason)
{
    static const enum sma_policy_verdict verdicts[] = {[SMA_TOOL_ALLOWED] = SMA_POLICY_ALLOW,
                                                       [SMA_TOOL_ASKS] = SMA_POLICY_ASK,
                                                       [SMA_TOOL_REFUSED] = SMA_POLICY_REFUSE};
    struct sma_policy_decision *decision = &checking->check.decision;
    checking->check.verdict = verdict;
    decision->verdict = verdicts[verdict];
    check_set_text(decision->rule, sizeof decision->rule, sma_str(rule));
    check_set_text(decision->reason, sizeof decision->reason, sma_str(reason));
}

bool check_holds_now(const struct checking *checking, const struct sma_grant *grant)
{
    return grant->until_ms == 0 || grant->until_ms > checking->wall_ms;
}

void check_put_line(const struct checking *checking, struct sma_buf *buf, struct sma_str text,
                    size_t max)
{
    struct sma_buf clean;
    sma_buf_init(&clean, text.len * 2 + 64);
    sma_secrets_put(checking->rules->files->secrets, &clean, text);
    struct sma_buf line; /* each byte may become an escape; what does not fit is cut anyway */
    struct sma_str head = sma_buf_str(&clean);
    head.len = sma_utf8_cut(head, max + 1);
    sma_buf_init(&line, (max + 1) * 8 + 64);
    sma_card_put_line(&line, head);
    struct sma_str shown = sma_buf_str(&line);
    bool is_long = shown.len > max;
    shown.len = is_long ? sma_utf8_cut(shown, max - 3) : shown.len;
    sma_buf_put_str(buf, shown);
    if (is_long)
        sma_buf_put_text(buf, "...");
    if (line.err != SMA_ERR_OK && buf->err == SMA_ERR_OK)
        buf->err = line.err;
    sma_buf_fini(&line);
    sma_buf_fini(&clean);
}

void check_put_details(const struct checking *checking, struct sma_buf *buf, const char *name,
                       struct sma_str value, const char *other_name, struct sma_str other)
{
    struct sma_buf clean;
    sma_buf_init(&clean, (value.len + DETAIL_BYTES_MAX) * 2 + 64);
    sma_secrets_put(checking->rules->files->secrets, &clean, value);
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, name);
    sma_buf_put_json_string(buf, sma_buf_str(&clean));
    if (other_name != NULL) {
        bool is_long = other.len > DETAIL_BYTES_MAX;
        sma_buf_clear(&clean);
        sma_secrets_put(checking->rules->files->secrets, &clean,
                        (struct sma_str){other.ptr, sma_utf8_cut(other, DETAIL_BYTES_MAX)});
        if (is_long)
            sma_buf_put_text(&clean, "\n...");
        sma_buf_put_json_key(buf, other_name);
        sma_buf_put_json_string(buf, sma_buf_str(&clean));
    }
    sma_buf_put_char(buf, '}');
    if (clean.err != SMA_ERR_OK)
        buf->err = clean.err;
    sma_buf_fini(&clean);
}

void check_init_texts(struct check_texts *texts)
{
    sma_buf_init(&texts->title, CHECK_TITLE_BYTES_MAX + 16);
    sma_buf_init(&texts->input, INPUT_BYTES_MAX * 2 + 64);
    sma_buf_init(&texts->details, ITEM_BYTES_MAX);
    sma_buf_init(&texts->diff, SMA_APPROVAL_DIFF_BYTES_MAX * 2 + 4096);
    sma_buf_init(&texts->grant_rule, SMA_POLICY_RULE_BYTES_MAX);
}

void check_fini_texts(struct check_texts *texts)
{
    sma_buf_fini(&texts->title);
    sma_buf_fini(&texts->input);
    sma_buf_fini(&texts->details);
    sma_buf_fini(&texts->diff);
    sma_buf_fini(&texts->grant_rule);
}

enum sma_err check_put_item(struct checking *checking, struct check_texts *texts, const char *type,
                            bool is_admin_only)
{
    const struct sma_policy_decision *decision = &checking->check.decision;
    struct sma_str input = checking->ask->arguments;
    if (input.len > INPUT_BYTES_MAX)
        input = SMA_STR("{}"); /* details and diff say what it is */
    sma_secrets_put(checking->rules->files->secrets, &texts->input, input);
    struct sma_request_item item = {
        .type = sma_str(type),
        .tool = checking->ask->name,
        .title = sma_buf_str(&texts->title),
        .input_json = sma_buf_str(&texts->input),
        .details_json = sma_buf_str(&texts->details),
        .diff = sma_buf_str(&texts->diff),
        .rule = sma_str(decision->rule),
        .program = sma_str(decision->program),
        .reason = sma_str(decision->reason),
        .grant_rule = sma_buf_str(&texts->grant_rule),
        .program_rule = sma_str(checking->program_rule),
        .is_admin_only = is_admin_only,
        .is_owner_only = checking->is_owner_only,
    };
    memcpy(item.digest, checking->check.digest, sizeof item.digest);
    sma_request_put_item(checking->item, &item);
    const enum sma_err errs[] = {texts->title.err, texts->input.err, texts->details.err,
                                 texts->diff.err, checking->item->err};
    for (size_t i = 0; i < SMA_COUNT_OF(errs); i++)
        if (errs[i] != SMA_ERR_OK)
            return SMA_ERR_NOMEM;
    return SMA_ERR_OK;
}

/* -- exec_shell -------------------------------------------------------------------------------- */
/* The bytes of a script; a pipe or a device is not waited for. */
static enum sma_err read_script(void *user, const char *path, size_t max, char **ret_bytes,
                                size_t *ret_len)
{
    (void)user;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat stat;
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? SMA_ERR_NOTFOUND : SMA_ERR_IO;
    enum sma_err err = SMA_ERR_OK;
    char *bytes = NULL;
    size_t len = 0;
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode))
        err = SMA_ERR_IO;
    else if ((uint64_t)stat.st_size > max)
        err = SMA_ERR_TOOBIG;
    else if ((bytes = malloc((size_t)stat.st_size + 1)) == NULL)
        err = SMA_ERR_NOMEM;
    while (err == SMA_ERR_OK && len < (size_t)stat.st_size) {
        ssize_t got = read(fd, bytes + len, (size_t)stat.st_size - len);
        if (got < 0 && errno != EINTR)
            err = SMA_ERR_IO;
        if (got == 0)
            break; /* it became shorter just now */
        len += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    if (err != SMA_ERR_OK) {
        free(bytes);
        return err;
    }
    *ret_bytes = bytes;
    *ret_len = len;
    return SMA_ERR_OK;
}

static enum sma_err look_at(void *user, const char *path, struct sma_policy_file_facts *ret_facts)
{
    (void)user;
    struct stat stat_buf;
    if (stat(path, &stat_buf) != 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ? SMA_ERR_NOTFOUND
                                                                            : SMA_ERR_IO;
    const int64_t parts[7] = {
        (int64_t)stat_buf.st_dev,          (int64_t)stat_buf.st_ino,
        (int64_t)stat_buf.st_size,         (int64_t)stat_buf.st_mtim.tv_sec,
        (int64_t)stat_buf.st_mtim.tv_nsec, (int64_t)stat_buf.st_ctim.tv_sec,
        (int64_t)stat_buf.st_ctim.tv_nsec,
    };
    *ret_facts = (struct sma_policy_file_facts){.is_folder = S_ISDIR(stat_buf.st_mode),
                                                .is_plain = S_ISREG(stat_buf.st_mode),
                                                .size = (uint64_t)stat_buf.st_size};
    _Static_assert(sizeof parts == sizeof ret_facts->identity, "what is compared is what is kept");
    memcpy(ret_facts->identity, parts, sizeof parts);
    return SMA_ERR_OK;
}

/* The names of a folder, folders with a slash. */
static enum sma_err list_folder(void *user, const char *path, size_t max, char **ret_names)
{
    (void)user;
    DIR *dir = opendir(path);
    struct sma_buf names;
    size_t count = 0;
    if (dir == NULL)
        return errno == ENOENT || errno == ENOTDIR ? SMA_ERR_NOTFOUND : SMA_ERR_IO;
    sma_buf_init(&names, max * 260);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL && count <= max;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        sma_buf_put_text(&names, entry->d_name);
        if (entry->d_type == DT_DIR)
            sma_buf_put_char(&names, '/');
        sma_buf_put_char(&names, '\0');
    }
    closedir(dir);
    sma_buf_put_char(&names, '\0');
    enum sma_err err = count > max ? SMA_ERR_TOOBIG : names.err;
    char *copy = err == SMA_ERR_OK ? malloc(names.len) : NULL;
    if (copy != NULL)
        memcpy(copy, names.ptr, names.len);
    else if (err == SMA_ERR_OK)
        err = SMA_ERR_NOMEM;
    sma_buf_fini(&names);
    if (err == SMA_ERR_OK)
        *ret_names = copy;
    return err;
}

static void tell_refused(struct checking *checking)
{
    const struct sma_policy_decision *decision = &checking->check.decision;
    sma_buf_printf(checking->why, "The command was refused and not run: %s", decision->reason);
    if (decision->program[0] != '\0')
        sma_buf_printf(checking->why, " (program: %s", decision->program);
    if (decision->rule[0] != '\0')
        sma_buf_printf(checking->why, "%srule: %s", decision->program[0] == '\0' ? " (" : ", ",
                       decision->rule);
    sma_buf_put_text(checking->why,
                     decision->program[0] != '\0' || decision->rule[0] != '\0' ? ")." : ".");
}

/* The rule that would have allowed it, if there is one that is enough. */
static void put_command_grant(struct checking *checking, const struct sma_policy_query *query,
                              struct sma_buf *rule)
{
    struct sma_policy_decision decision;
    if (sma_policy_put_grant(checking->shell, rule) != SMA_ERR_OK) {
        sma_buf_clear(rule);
        return;
    }
    struct sma_str grant = sma_buf_str(rule);
    sma_policy_decide_granted(checking->rules->policy, checking->shell, query, &grant, 1,
                              &decision);
    if (decision.verdict != SMA_POLICY_ALLOW)
        sma_buf_clear(rule);
}

static size_t collect_rules(const struct checking *checking, struct sma_str *ret_rules)
{
    size_t count = 0;
    for (uint32_t i = 0;
         i < checking->ask->grant_count && count < SMA_GRANT_COUNT_MAX + SMA_SKILL_RULE_COUNT_MAX;
         i++) {
        const struct sma_grant *grant = &checking->ask->grants[i];
        if (sma_str_is_equal(grant->tool, SMA_STR("exec_shell")) &&
            check_holds_now(checking, grant))
            ret_rules[count++] = grant->rule;
    }
    return count;
}

/* Would it run if this rule for its program were there besides? */
struct proposal
{
    struct checking *checking;
    const struct sma_policy_query *query;
    struct sma_str *grants; /* with room for one more */
    size_t grant_count;
};

static bool would_run(void *user, struct sma_str rule)
{
    struct proposal *proposal = user;
    struct sma_policy_decision decision;
    proposal->grants[proposal->grant_count] = rule;
    sma_policy_decide_granted(proposal->checking->rules->policy, proposal->checking->shell,
                              proposal->query, proposal->grants, proposal->grant_count + 1,
                              &decision);
    return decision.verdict == SMA_POLICY_ALLOW;
}

static enum sma_err check_command(struct checking *checking)
{
    const struct sma_tool_rules *rules = checking->rules;
    struct sma_policy_query query = make_query(checking, checking->args.command);
    struct sma_str grants[SMA_GRANT_COUNT_MAX + SMA_SKILL_RULE_COUNT_MAX + 1];
    size_t grant_count = collect_rules(checking, grants);
    sma_policy_decide_granted(rules->policy, checking->shell, &query, grants, grant_count,
                              &checking->check.decision);
    if (checking->check.decision.verdict == SMA_POLICY_ALLOW && atomic_load(&rules->is_unhidden))
        check_decide(checking, SMA_TOOL_ASKS, "",
                     "the project has too many files to hide all of its secrets from commands");
    enum sma_policy_verdict verdict = checking->check.decision.verdict;
    checking->check.verdict = verdict == SMA_POLICY_ALLOW ? SMA_TOOL_ALLOWED
                              : verdict == SMA_POLICY_ASK ? SMA_TOOL_ASKS
                                                          : SMA_TOOL_REFUSED;
    if (verdict == SMA_POLICY_REFUSE) {
        tell_refused(checking);
        return SMA_ERR_OK;
    }
    struct sma_policy_binding binding;
    const struct sma_policy_files files = {
        .read = read_script, .list = list_folder, .look = look_at};
    enum sma_err err = sma_policy_bind(checking->shell, query.project_dir, &files, &binding);
    if (err != SMA_ERR_OK)
        return err;
    memcpy(checking->check.digest, binding.digest, sizeof binding.digest);
    checking->check.is_complete = binding.is_complete;
    if (verdict == SMA_POLICY_ALLOW)
        return SMA_ERR_OK;
    struct check_texts texts;
    check_init_texts(&texts);
    check_put_line(checking, &texts.title, checking->args.command, CHECK_TITLE_BYTES_MAX);
    check_put_details(checking, &texts.details, "command", checking->args.command,
                      rules->walls == NULL ? NULL : "sandbox", sma_str(rules->walls));
    if ((binding.reads_unnamed || binding.loads_beside) && texts.details.len > 0) {
        texts.details.len--; /* one more member of the object */
        sma_buf_put_json_member(
            &texts.details, "binding",
            sma_str(binding.reads_unnamed ? SMA_REQUEST_BINDING_OPEN : SMA_REQUEST_BINDING_BESIDE));
        sma_buf_put_char(&texts.details, '}');
    }
    checking->is_owner_only = checking->check.decision.is_owner_only;
    if (!checking->is_owner_only)
        put_command_grant(checking, &query, &texts.grant_rule);
    struct proposal proposal = {checking, &query, grants, grant_count};
    if (!checking->is_owner_only)
        checking->program_rule =
            sma_policy_find_read_rule(checking->args.command, would_run, &proposal);
    err = check_put_item(checking, &texts, "exec_shell", true);
    check_fini_texts(&texts);
    return err;
}

/* -- write_file, edit_file --------------------------------------------------------------------- */
static void decide_write(struct checking *checking, struct sma_str path)
{
    static const enum sma_tool_verdict verdicts[] = {[SMA_POLICY_WRITE_FREE] = SMA_TOOL_ALLOWED,
                                                     [SMA_POLICY_WRITE_ASKED] = SMA_TOOL_ASKS,
                                                     [SMA_POLICY_WRITE_OWNER] = SMA_TOOL_ASKS,
                                                     [SMA_POLICY_WRITE_REFUSED] = SMA_TOOL_REFUSED};
    struct sma_write_rules rules = write_rules(checking);
    struct sma_write_judgement judgement = sma_write_judge(&rules, path);
    check_decide(checking, verdicts[judgement.verdict], judgement.rule, judgement.reason);
    checking->is_owner_only = judgement.verdict == SMA_POLICY_WRITE_OWNER;
    check_set_text(checking->check.decision.program, sizeof checking->check.decision.program, path);
}

static bool is_plain_rule(struct sma_str path)
{
    for (size_t i = 0; i < path.len; i++)
        if ((unsigned char)path.ptr[i] < 0x20 || strchr("*?{}[]", path.ptr[i]) != NULL)
            return false;
    return true;
}

static enum sma_err put_write_item(struct checking *checking, struct sma_str path,
                                   const struct file_change *change)
{
    struct check_texts texts;
    struct sma_buf diff;
    check_init_texts(&texts);
    sma_buf_init(&diff, DETAIL_BYTES_MAX + 64);
    bool is_text =
        change->before == NULL || memchr(change->before, '\0', change->before_len) == NULL;
    if (is_text)
        sma_file_tools_put_diff(&diff, path, change->before, change->after, DETAIL_BYTES_MAX);
    else
        sma_buf_printf(&diff, "a binary file of %zu bytes is replaced by a text\n",
                       change->before_len);
    struct sma_str shown = sma_buf_str(&diff);
    if (shown.len >= DETAIL_BYTES_MAX - 8) { /* then it was cut */
        struct sma_policy_decision *decision = &checking->check.decision;
        size_t len = strlen(decision->reason);
        snprintf(decision->reason + len, sizeof decision->reason - len,
                 "; it is too long to be shown whole");
    }
    if (shown.len > SMA_APPROVAL_DIFF_BYTES_MAX)
        shown.len = sma_utf8_cut(shown, SMA_APPROVAL_DIFF_BYTES_MAX - 4);
    sma_secrets_put(checking->rules->files->secrets, &texts.diff, shown);
    if (shown.len < diff.len)
        sma_buf_put_text(&texts.diff, "\n...");
    check_put_line(checking, &texts.title, path, CHECK_TITLE_BYTES_MAX);
    check_put_details(checking, &texts.details, "filePath", path, "content", sma_buf_str(&diff));
    struct sma_write_rules rules = write_rules(checking);
    if (!checking->is_owner_only && is_plain_rule(path) &&
        sma_policy_judge_script(rules.policy, path) == SMA_POLICY_WRITE_FREE)
        sma_buf_put_str(&texts.grant_rule, path);
    enum sma_err err =
        diff.err == SMA_ERR_OK ? check_put_item(checking, &texts, "write_repo", true) : diff.err;
    sma_buf_fini(&diff);
    check_fini_texts(&texts);
    return err;
}

static enum sma_err check_write(struct checking *checking)
{
    const struct sma_file_tools *files = checking->rules->files;
    struct sma_buf path;
    struct file_change change = {0};
    enum sma_file_verdict verdict;
    sma_buf_init(&path, SMA_GUARD_PATH_BYTES_MAX + 1);
    enum sma_err err =
        file_tools_clean_write(files, checking->args.path, &path, &verdict, checking->why);
    if (err == SMA_ERR_BADINPUT) {
        check_decide(checking, SMA_TOOL_REFUSED, "permissions.write_repo", "it may not be written");
        sma_buf_fini(&path);
        return SMA_ERR_OK;
    }
    if (err == SMA_ERR_OK)
        err = file_tools_change(files, checking->tool, &checking->args, sma_buf_str(&path), &change,
                                checking->why);
    if (err == SMA_ERR_OK) {
        bool is_good = file_change_digest(checking->tool, &checking->args, sma_buf_str(&path),
                                          &change, checking->check.digest);
        err = is_good ? SMA_ERR_OK : SMA_ERR_NOMEM;
    } else if (err != SMA_ERR_NOMEM) {
        err = SMA_ERR_BADINPUT; /* why says what was expected */
    }
    if (err == SMA_ERR_OK) {
        checking->check.is_complete = true;
        decide_write(checking, sma_buf_str(&path));
        if (checking->check.verdict == SMA_TOOL_ASKS)
            err = put_write_item(checking, sma_buf_str(&path), &change);
    }
    file_change_fini(&change);
    sma_buf_fini(&path);
    return err;
}

/* -- sends ------------------------------------------------------------------------------------- */
static enum sma_err check_send(struct checking *checking, const char *what, struct sma_str text);

/* "document report.pdf | for you": what people read of it when it goes to another chat. */
static enum sma_err check_file_elsewhere(struct checking *checking)
{
    struct sma_buf line;
    sma_buf_init(&line, SMA_TEXT_BYTES_MAX);
    sma_buf_put_str(&line, checking->args.kind);
    sma_buf_put_char(&line, ' ');
    sma_buf_put_str(&line, checking->args.path);
    if (checking->args.caption.len > 0)
        sma_buf_put_text(&line, " | ");
    sma_buf_put_str(&line, checking->args.caption);
    enum sma_err err =
        line.err == SMA_ERR_OK ? check_send(checking, "send file 1", sma_buf_str(&line)) : line.err;
    sma_buf_fini(&line);
    return err;
}

/* A member a line: what people read of a card when it goes to another chat. */
static enum sma_err check_card_elsewhere(struct checking *checking)
{
    char *lines = sma_card_lines(checking->args.content);
    enum sma_err err =
        lines == NULL ? SMA_ERR_NOMEM : check_send(checking, "send card 1", sma_str(lines));
    free(lines);
    return err;
}

static enum sma_err check_send_file(struct checking *checking)
{
    int fd;
    enum sma_err err =
        sma_file_tools_open(checking->rules->files, checking->args.path, &fd, checking->why);
    if (err == SMA_ERR_NOMEM)
        return err;
    if (err == SMA_ERR_OK)
        close(fd);
    bool is_good = err == SMA_ERR_OK;
    if (is_good && checking->ask->receiver.len > 0)
        return check_file_elsewhere(checking);
    check_decide(checking, is_good ? SMA_TOOL_ALLOWED : SMA_TOOL_REFUSED, "",
                 is_good ? "a file of the project, to the chat that asks" : "it may not be sent");
    const struct sma_str fields[] = {SMA_STR("file sent 1"), checking->args.path,
                                     checking->args.kind, checking->args.caption};
    checking->check.is_complete = true;
    return file_tools_hash(fields, SMA_COUNT_OF(fields), checking->check.digest) ? SMA_ERR_OK
                                                                                 : SMA_ERR_NOMEM;
}

static void decide_send(struct checking *checking, struct sma_str chat_key)
{
    enum sma_file_verdict verdict = sma_file_rules_send(checking->rules->files->rules);
    if (verdict == SMA_FILE_REFUSE) {
        check_decide(checking, SMA_TOOL_REFUSED, "permissions.send_elsewhere: refuse",
                     "sending to other chats is switched off");
        sma_buf_put_text(checking->why,
                         "Sending to other chats is switched off (permissions.send_elsewhere in "
                         "ship.json): nothing was sent.");
        return;
    }
    bool is_doubtful = checking->ask->is_receiver_doubtful;
    if (verdict == SMA_FILE_ALLOW && !is_doubtful) {
        check_decide(checking, SMA_TOOL_ALLOWED, "permissions.send_elsewhere: allow",
                     "sending to other chats is allowed");
        return;
    }
    if (chat_key.len > 0 && sma_str_is_equal(chat_key, checking->ask->chat_key)) {
        check_decide(checking, SMA_TOOL_ALLOWED, "", "it is the chat that asks");
        return;
    }
    for (uint32_t i = 0; i < checking->ask->grant_count; i++) {
        const struct sma_grant *grant = &checking->ask->grants[i];
        if (chat_key.len > 0 && sma_str_is_equal(grant->tool, checking->ask->name) &&
            check_holds_now(checking, grant) && sma_str_is_equal(grant->rule, chat_key)) {
            check_decide(checking, SMA_TOOL_ALLOWED, "", "sending there was allowed by a person");
            return;
        }
    }
    check_decide(checking, SMA_TOOL_ASKS, "permissions.send_elsewhere",
                 is_doubtful ? "the receiver is a stranger, or has another name by now"
                             : "sending to another chat must be agreed to");
}

static enum sma_err check_send(struct checking *checking, const char *what, struct sma_str text)
{
    struct sma_str receiver = checking->ask->receiver;
    const char *blank = receiver.len == 0 ? NULL : memchr(receiver.ptr, ' ', receiver.len);
    struct sma_str chat_key = receiver, name = SMA_STR("");
    if (blank != NULL) {
        chat_key.len = (size_t)(blank - receiver.ptr);
        name = (struct sma_str){blank + 1, receiver.len - chat_key.len - 1};
    }
    const struct sma_str fields[] = {sma_str(what), chat_key, text};
    if (!file_tools_hash(fields, SMA_COUNT_OF(fields), checking->check.digest))
        return SMA_ERR_NOMEM;
    checking->check.is_complete = true;
    if (sma_secrets_has(checking->rules->files->secrets, text)) { /* a request does not show it */
        check_decide(checking, SMA_TOOL_REFUSED, "", "it holds a key of this project");
        sma_buf_put_text(checking->why, "It holds a key or token of this project: nothing was "
                                        "sent. Leave it out.");
        return SMA_ERR_OK;
    }
    decide_send(checking, chat_key);
    if (checking->check.verdict != SMA_TOOL_ASKS)
        return SMA_ERR_OK;
    struct check_texts texts;
    check_init_texts(&texts);
    check_put_line(checking, &texts.title, name.len > 0 ? name : chat_key, CHECK_TITLE_BYTES_MAX);
    check_put_details(checking, &texts.details, "receiver", receiver, "text", text);
    sma_buf_put_str(&texts.grant_rule, chat_key);
    enum sma_err err = check_put_item(checking, &texts, "send", false);
    check_fini_texts(&texts);
    return err;
}

/* -- all of them ------------------------------------------------------------------------------- */
static enum sma_err check_tool(struct checking *checking)
{
    switch (checking->tool) {
    case SMA_TOOL_EXEC_SHELL:
        return check_command(checking);
    case SMA_TOOL_WRITE_FILE:
    case SMA_TOOL_EDIT_FILE:
        return check_write(checking);
    case SMA_TOOL_SEND_FILE:
    case SMA_TOOL_SEND_VOICE:
        return check_send_file(checking);
    case SMA_TOOL_CONTACT_SEND:
        return check_send(checking, "send 1", checking->args.text);
    case SMA_TOOL_SEND:
    case SMA_TOOL_SEND_CARD:
        if (checking->ask->receiver.len > 0)
            return checking->tool == SMA_TOOL_SEND
                       ? check_send(checking, "send 1", checking->args.text)
                       : check_card_elsewhere(checking);
        check_decide(checking, SMA_TOOL_ALLOWED, "", "it is the chat that asks");
        checking->check.is_complete = true;
        return SMA_ERR_OK;
    case SMA_TOOL_MEMORY_UPSERT:
        return check_memory(checking);
    case SMA_TOOL_WEB_FETCH:
        return check_web_fetch(checking);
    case SMA_TOOL_WEB_SEARCH:
        return check_web_search(checking);
    /* reading asks its own rules when it is done; a reaction is none of anybody else's business */
    default:
        check_decide(checking, SMA_TOOL_ALLOWED, "", "it changes nothing outside of this chat");
        checking->check.is_complete = true;
        return SMA_ERR_OK;
    }
}

/* The run does not ask for what it was not offered; what the configuration says holds here, too. */
static bool is_taken_away(const struct checking *checking)
{
    const struct sma_tool_ask *ask = checking->ask;
    struct sma_chat_rules rules =
        sma_chat_rules_find(checking->rules->config, ask->chat_key, ask->is_group);
    return rules.tools != NULL && (rules.tools->refused_tools >> checking->tool & 1) != 0;
}

enum sma_err sma_tool_check(const struct sma_tool_rules *rules, const struct sma_tool_ask *ask,
                            int64_t wall_ms, struct sma_shell *shell,
                            struct sma_tool_check *ret_check, struct sma_buf *item,
                            struct sma_buf *why)
{
    struct checking checking = {.rules = rules,
                                .ask = ask,
                                .tool = sma_tool_find(ask->name),
                                .wall_ms = wall_ms,
                                .shell = shell,
                                .item = item,
                                .why = why};
    if (checking.tool == SMA_TOOL_UNKNOWN) {
        sma_buf_put_text(why, "There is no such tool.");
        return SMA_ERR_BADINPUT;
    }
    if (ask->standing <= SMA_STANDING_STRANGER) {
        check_decide(&checking, SMA_TOOL_REFUSED, "", "whom it is done for is a stranger");
        sma_buf_put_text(why, "Not done: the person this is done for is not known to this agent, "
                              "and strangers get no tools. Tell them to ask its owner.");
        *ret_check = checking.check;
        return SMA_ERR_OK;
    }
    if (is_taken_away(&checking)) {
        check_decide(&checking, SMA_TOOL_REFUSED, "",
                     "`chats` of ship.json takes it from this chat");
        sma_buf_put_text(why, "Not done: this tool is not available in this chat.");
        *ret_check = checking.check;
        return SMA_ERR_OK;
    }
    enum sma_err err = sma_tool_args_parse(checking.tool, ask->arguments, &checking.args, why);
    if (err == SMA_ERR_OK)
        err = check_tool(&checking);
    sma_tool_args_fini(&checking.args);
    if (err != SMA_ERR_OK)
        return err;
    *ret_check = checking.check;
    return SMA_ERR_OK;
}
