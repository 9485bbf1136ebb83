/*
 * options_git.c — the options of git, subcommand by subcommand.
 *
 * Not described, because what they run or write cannot be told from their words: apply, am,
 * filter-branch, difftool, mergetool, send-email, daemon, notes, bundle, update-index, hook,
 * maintenance and the like. They are asked about. Subcommands that put other contents into the
 * folder (switch, checkout of a branch, merge, pull, reset --hard, stash) write files whose names
 * cannot be told; a rule that names the subcommand ("git switch") has said that this is meant.
 *
 * Source: git(1) 2.39 and the manual page of each subcommand, `git NAME -h`, `git NAME
 * --git-completion-helper-all`.
 */
#include "options_tables.h"

#include "sma/text.h"

#define GIT (OPTIONS_NEGATED | OPTIONS_DASH_IS_OPTION | OPTIONS_SIGNATURES)

#define DIFF_FLAGS                                                                                 \
    "no-index patch p u no-patch s function-context W raw patch-with-raw patch-with-stat numstat " \
    "shortstat cumulative check summary name-only name-status compact-summary binary full-index "  \
    "no-prefix default-prefix find-copies-harder irreversible-delete D no-renames rename-empty "   \
    "follow minimal ignore-all-space w ignore-space-change b ignore-space-at-eol "                 \
    "ignore-cr-at-eol ignore-blank-lines indent-heuristic patience histogram text a exit-code "    \
    "quiet q ita-invisible-in-index ita-visible-in-index pickaxe-all pickaxe-regex cached staged " \
    "merge-base z R c cc combined-all-paths t r m root no-commit-id base ours theirs 0 1 2 3 d h " \
    "help"
#define DIFF_MAYBE                                                                               \
    "dirstat X dirstat-by-file stat color abbrev break-rewrites B find-renames M find-copies C " \
    "word-diff color-words color-moved color-moved-ws relative ignore-submodules submodule "     \
    "diff-merges"
#define DIFF_TEXT                                                                           \
    "U unified stat-width stat-name-width stat-graph-width stat-count ws-error-highlight "  \
    "src-prefix dst-prefix line-prefix inter-hunk-context output-indicator-new "            \
    "output-indicator-old output-indicator-context I ignore-matching-lines diff-algorithm " \
    "anchored word-diff-regex rotate-to skip-to find-object diff-filter S G l"
#define LOG_FLAGS                                                                              \
    "source use-mailmap mailmap clear-decorations all oneline graph reverse merges no-merges " \
    "first-parent left-right cherry cherry-pick cherry-mark boundary topo-order date-order "   \
    "author-date-order parents children full-history dense sparse simplify-merges "            \
    "simplify-by-decoration show-pulls abbrev-commit relative-date walk-reflogs g "            \
    "regexp-ignore-case i extended-regexp E fixed-strings F perl-regexp P basic-regexp "       \
    "all-match invert-grep bisect stdin ignore-missing log-size left-only right-only count "   \
    "objects header unpacked standard-notes remove-empty merge reflog full-diff "              \
    "indexed-objects single-worktree not do-walk exclude-first-parent-only no-graph"
#define LOG_MAYBE                                                                               \
    "decorate branches tags remotes pretty no-walk show-notes notes expand-tabs ancestry-path " \
    "show-linear-break"
#define LOG_TEXT                                                                               \
    "n max-count skip since after until before author committer grep grep-reflog format date " \
    "encoding min-parents max-parents glob exclude since-as-filter max-age min-age L "         \
    "decorate-refs decorate-refs-exclude exclude-hidden"
#define DIFF_HARM                                                     \
    {OPTION_READ, "O"}, {OPTION_WRITE, "output"},                     \
    {                                                                 \
        OPTION_ASK, "ext-diff textconv show-signature alternate-refs" \
    }

static const struct option_row DIFF[] = {
    {OPTION_FLAG, DIFF_FLAGS}, {OPTION_MAYBE, DIFF_MAYBE}, {OPTION_TEXT, DIFF_TEXT}, DIFF_HARM};
static const struct option_row LOG[] = {
    {OPTION_FLAG, LOG_FLAGS " " DIFF_FLAGS " numbered email committer"},
    {OPTION_MAYBE, LOG_MAYBE " " DIFF_MAYBE},
    {OPTION_TEXT, LOG_TEXT " " DIFF_TEXT},
    DIFF_HARM};
static const struct option_row SHORTLOG[] = {
    {OPTION_FLAG, LOG_FLAGS " n numbered s summary e email c committer h help no-renames"},
    {OPTION_MAYBE, LOG_MAYBE " w"},
    {OPTION_TEXT, "max-count skip since after until before author grep format date group"},
    {OPTION_WRITE, "output"}};
static const struct option_row REV_LIST[] = {
    {OPTION_FLAG, LOG_FLAGS " objects-edge bisect-vars bisect-all object-names timestamp quiet "
                            "progress use-bitmap-index in-commit-order h help"},
    {OPTION_MAYBE, LOG_MAYBE " abbrev disk-usage missing filter"},
    {OPTION_TEXT, LOG_TEXT},
    {OPTION_ASK, "alternate-refs show-signature"}};

static const struct option_row ADD[] = {
    {OPTION_FLAG,
     "n dry-run v verbose p patch u update renormalize N intent-to-add A all ignore-removal "
     "refresh ignore-errors ignore-missing sparse pathspec-file-nul h help"},
    {OPTION_ASK, "f force i interactive e edit"},
    {OPTION_TEXT, "chmod"},
    {OPTION_READ, "pathspec-from-file"}};
static const struct option_row ARCHIVE[] = {
    {OPTION_FLAG, "worktree-attributes v verbose l list 0 1 2 3 4 5 6 7 8 9 h help"},
    {OPTION_TEXT, "format prefix mtime"},
    {OPTION_READ, "add-file"},
    {OPTION_WRITE, "o output"},
    {OPTION_ASK_VALUE, "remote add-virtual-file"},
    {OPTION_RUN, "exec"}};
static const struct option_row BISECT[] = {{OPTION_FLAG, "no-checkout first-parent h help"},
                                           {OPTION_TEXT, "term-old term-new term-good term-bad"}};
static const struct option_row BLAME[] = {
    {OPTION_FLAG, "incremental b root show-stats progress score-debug f show-name n show-number p "
                  "porcelain line-porcelain c t l s e show-email w color-lines color-by-age "
                  "minimal first-parent reverse h help"},
    {OPTION_MAYBE, "C M abbrev"},
    {OPTION_TEXT, "ignore-rev L date since"},
    {OPTION_READ, "ignore-revs-file S contents"}};
static const struct option_row BRANCH[] = {
    {OPTION_FLAG, "v verbose q quiet unset-upstream r remotes a all d delete D m move M c copy C l "
                  "list show-current create-reflog edit-description f force i ignore-case "
                  "recurse-submodules h help"},
    {OPTION_MAYBE, "t track color abbrev column"},
    {OPTION_TEXT, "u set-upstream-to contains no-contains merged no-merged sort points-at format"}};
static const struct option_row CAT_FILE[] = {
    {OPTION_FLAG, "e p t s allow-unknown-type use-mailmap mailmap z Z batch-all-objects buffer "
                  "follow-symlinks unordered h help"},
    {OPTION_MAYBE, "batch batch-check batch-command"},
    {OPTION_TEXT, "path"},
    {OPTION_ASK, "textconv filters"}};
static const struct option_row CHECK[] = {
    {OPTION_FLAG, "a all cached stdin z q quiet v verbose n non-matching no-index h help"},
    {OPTION_TEXT, "source"}};
static const struct option_row CHECKOUT[] = {
    {OPTION_FLAG, "l guess overlay q quiet progress m merge d detach f force overwrite-ignore "
                  "ignore-other-worktrees ours 2 theirs 3 p patch ignore-skip-worktree-bits "
                  "pathspec-file-nul discard-changes h help"},
    {OPTION_MAYBE, "recurse-submodules t track"},
    {OPTION_TEXT, "b B conflict orphan c create C force-create"},
    {OPTION_ASK_VALUE, "pathspec-from-file"}};
static const struct option_row CHERRY[] = {{OPTION_FLAG, "v verbose h help"},
                                           {OPTION_MAYBE, "abbrev"}};
static const struct option_row PICK[] = {
    {OPTION_FLAG, "quit continue abort skip n no-commit e edit s signoff rerere-autoupdate x r ff "
                  "allow-empty allow-empty-message keep-redundant-commits reference h help"},
    {OPTION_MAYBE, "S gpg-sign"},
    {OPTION_TEXT, "cleanup m mainline X strategy-option"},
    {OPTION_ASK_VALUE, "strategy"}};
static const struct option_row CLONE[] = {
    {OPTION_FLAG, "v verbose q quiet progress reject-shallow n no-checkout bare mirror l local "
                  "hardlinks s shared dissociate single-branch tags shallow-submodules 4 ipv4 6 "
                  "ipv6 also-filter-submodules remote-submodules sparse h help"},
    {OPTION_MAYBE, "recurse-submodules recursive"},
    {OPTION_TEXT, "j jobs o origin b branch depth shallow-since shallow-exclude server-option "
                  "filter"},
    {OPTION_ASK_VALUE, "template reference reference-if-able separate-git-dir c config bundle-uri"},
    {OPTION_RUN, "u upload-pack"}};
static const struct option_row COMMIT[] = {
    {OPTION_FLAG, "q quiet v verbose reset-author s signoff e edit status a all i include "
                  "interactive p patch o only n no-verify verify dry-run short branch ahead-behind "
                  "porcelain long z null amend no-post-rewrite pathspec-file-nul allow-empty "
                  "allow-empty-message h help"},
    {OPTION_MAYBE, "S gpg-sign u untracked-files"},
    {OPTION_TEXT, "author date m message c reedit-message C reuse-message fixup squash trailer "
                  "cleanup"},
    {OPTION_READ, "F file t template pathspec-from-file"}};
static const struct option_row FLAGS_ONLY[] = {
    {OPTION_FLAG, "v verbose q quiet H human-readable h help build-options a all octopus "
                  "independent is-ancestor fork-point"}};
static const struct option_row DESCRIBE_ROWS[] = {
    {OPTION_FLAG, "contains debug all tags long first-parent exact-match always h help"},
    {OPTION_MAYBE, "abbrev dirty broken"},
    {OPTION_TEXT, "candidates match exclude"}};
static const struct option_row FETCH[] = {
    {OPTION_FLAG, "v verbose q quiet all set-upstream a append atomic f force m multiple t tags n "
                  "prefetch p prune P prune-tags dry-run write-fetch-head k keep u update-head-ok "
                  "progress unshallow refetch update-shallow 4 ipv4 6 ipv6 negotiate-only "
                  "auto-maintenance auto-gc show-forced-updates write-commit-graph stdin stat "
                  "squash commit edit ff ff-only verify verify-signatures autostash "
                  "allow-unrelated-histories porcelain h help"},
    {OPTION_MAYBE, "recurse-submodules r rebase log signoff S gpg-sign"},
    {OPTION_TEXT, "j jobs depth shallow-since shallow-exclude deepen refmap o server-option "
                  "negotiation-tip filter cleanup X strategy-option"},
    {OPTION_ASK_VALUE, "s strategy"},
    {OPTION_RUN, "upload-pack"}};
static const struct option_row FOR_EACH_REF[] = {
    {OPTION_FLAG, "s shell p perl python tcl ignore-case stdin omit-empty h help"},
    {OPTION_MAYBE, "color"},
    {OPTION_TEXT, "count format sort points-at merged no-merged contains no-contains exclude"}};
static const struct option_row FORMAT_PATCH[] = {
    {OPTION_FLAG, DIFF_FLAGS " n numbered N no-numbered k keep-subject stdout cover-letter "
                             "numbered-files rfc zero-commit ignore-if-in-upstream progress "
                             "force-in-body-from signoff always"},
    {OPTION_MAYBE, DIFF_MAYBE " from attach inline thread"},
    {OPTION_TEXT, DIFF_TEXT " start-number v reroll-count filename-max-length "
                            "cover-from-description subject-prefix add-header to cc in-reply-to "
                            "signature base interdiff range-diff creation-factor max-count"},
    {OPTION_READ, "O signature-file description-file"},
    {OPTION_WRITE, "output"},
    {OPTION_BELOW, "o output-directory"},
    {OPTION_ASK, "ext-diff textconv"},
    {OPTION_ASK_VALUE, "suffix"}};
static const struct option_row FSCK[] = {
    {OPTION_FLAG, "v verbose unreachable dangling tags root cache reflogs full connectivity-only "
                  "strict lost-found progress name-objects q quiet cruft aggressive auto force "
                  "keep-largest-pack h help"},
    {OPTION_MAYBE, "prune"}};
static const struct option_row GREP[] = {
    {OPTION_FLAG, "cached no-index untracked exclude-standard recurse-submodules v invert-match i "
                  "ignore-case w word-regexp a text I r recursive E extended-regexp G basic-regexp "
                  "F fixed-strings P perl-regexp n line-number column h H full-name l "
                  "files-with-matches name-only L files-without-match z null o only-matching c "
                  "count break heading p show-function W function-context and or not q quiet "
                  "all-match help"},
    {OPTION_MAYBE, "color"},
    {OPTION_TEXT, "max-depth C context B before-context A after-context threads e m max-count"},
    {OPTION_READ, "f"},
    {OPTION_ASK, "textconv ext-grep O open-files-in-pager"}};
static const struct option_row HELP[] = {
    {OPTION_FLAG, "a all external-commands aliases m man v verbose g guides user-interfaces "
                  "developer-interfaces c config h help"},
    {OPTION_ASK, "w web i info"}};
static const struct option_row INIT[] = {{OPTION_FLAG, "bare q quiet h help"},
                                         {OPTION_MAYBE, "shared"},
                                         {OPTION_TEXT, "b initial-branch object-format"},
                                         {OPTION_ASK_VALUE, "template separate-git-dir"}};
static const struct option_row LS_FILES[] = {
    {OPTION_FLAG, "z t v f c cached d deleted m modified o others i ignored s stage k killed "
                  "directory eol empty-directory u unmerged resolve-undo exclude-standard "
                  "full-name recurse-submodules error-unmatch debug deduplicate sparse h help"},
    {OPTION_MAYBE, "abbrev"},
    {OPTION_TEXT, "x exclude exclude-per-directory with-tree format"},
    {OPTION_READ, "X exclude-from"}};
static const struct option_row LS_REMOTE[] = {
    {OPTION_FLAG, "q quiet t tags h heads refs get-url exit-code symref help"},
    {OPTION_TEXT, "sort o server-option"},
    {OPTION_RUN, "upload-pack exec"}};
static const struct option_row LS_TREE[] = {
    {OPTION_FLAG, "d r t z l long name-only name-status object-only full-name full-tree h help"},
    {OPTION_MAYBE, "abbrev"},
    {OPTION_TEXT, "format"}};
static const struct option_row MERGE[] = {
    {OPTION_FLAG, "n stat summary squash commit e edit ff ff-only rerere-autoupdate "
                  "verify-signatures v verbose q quiet abort quit continue "
                  "allow-unrelated-histories progress autostash overwrite-ignore signoff "
                  "no-verify verify h help"},
    {OPTION_MAYBE, "log S gpg-sign"},
    {OPTION_TEXT, "cleanup X strategy-option m message into-name"},
    {OPTION_READ, "F file"},
    {OPTION_ASK_VALUE, "s strategy"}};
static const struct option_row MOVE[] = {
    {OPTION_FLAG, "v verbose n dry-run f force k sparse h help"}};
static const struct option_row NAME_REV[] = {
    {OPTION_FLAG, "name-only tags all stdin annotate-stdin undefined always h help"},
    {OPTION_TEXT, "refs exclude"}};
static const struct option_row PUSH[] = {
    {OPTION_FLAG, "v verbose q quiet all mirror d delete tags n dry-run porcelain f force "
                  "force-if-includes thin u set-upstream progress prune no-verify verify "
                  "follow-tags atomic 4 ipv4 6 ipv6 h help"},
    {OPTION_MAYBE, "force-with-lease signed"},
    {OPTION_TEXT, "recurse-submodules o push-option"},
    {OPTION_ASK_VALUE, "repo"},
    {OPTION_RUN, "receive-pack exec"}};
static const struct option_row REBASE[] = {
    {OPTION_FLAG, "keep-base no-verify verify q quiet v verbose n no-stat stat signoff "
                  "committer-date-is-author-date reset-author-date ignore-date ignore-whitespace f "
                  "force-rebase no-ff ff continue skip abort quit edit-todo show-current-patch "
                  "apply m merge i interactive rerere-autoupdate autosquash update-refs autostash "
                  "fork-point root reschedule-failed-exec reapply-cherry-picks keep-empty "
                  "allow-empty-message h help"},
    {OPTION_MAYBE, "S gpg-sign r rebase-merges"},
    {OPTION_TEXT, "onto C whitespace empty X strategy-option"},
    {OPTION_ASK_VALUE, "s strategy"},
    {OPTION_RUN, "x exec"}};
static const struct option_row REMOTE[] = {{OPTION_FLAG, "v verbose n p prune push all h help"}};
static const struct option_row RESET[] = {
    {OPTION_FLAG, "q quiet refresh no-refresh mixed soft hard merge keep p patch N intent-to-add "
                  "pathspec-file-nul h help"},
    {OPTION_MAYBE, "recurse-submodules"},
    {OPTION_READ, "pathspec-from-file"}};
static const struct option_row RESTORE[] = {
    {OPTION_FLAG, "S staged W worktree ignore-unmerged overlay q quiet progress m merge ours 2 "
                  "theirs 3 p patch ignore-skip-worktree-bits pathspec-file-nul h help"},
    {OPTION_MAYBE, "recurse-submodules"},
    {OPTION_TEXT, "s source conflict"},
    {OPTION_ASK_VALUE, "pathspec-from-file"}};
static const struct option_row REV_PARSE[] = {
    {OPTION_FLAG, "verify q quiet sq symbolic symbolic-full-name all h help"}};
static const struct option_row RM_ROWS[] = {
    {OPTION_FLAG, "n dry-run q quiet cached f force r ignore-unmatch sparse pathspec-file-nul h "
                  "help"},
    {OPTION_ASK_VALUE, "pathspec-from-file"}};
static const struct option_row SHOW_REF[] = {
    {OPTION_FLAG, "tags heads branches verify head d dereference q quiet h help"},
    {OPTION_MAYBE, "s hash abbrev exclude-existing"}};
static const struct option_row STASH[] = {
    {OPTION_FLAG, DIFF_FLAGS " k keep-index S include-untracked a all index only-untracked"},
    {OPTION_MAYBE, DIFF_MAYBE},
    {OPTION_TEXT, "m message"},
    {OPTION_READ, "pathspec-from-file"},
    {OPTION_WRITE, "output"},
    {OPTION_ASK, "ext-diff textconv"}};
static const struct option_row STATUS[] = {
    {OPTION_FLAG, "v verbose s short b branch show-stash ahead-behind long z null no-renames "
                  "renames h help"},
    {OPTION_MAYBE, "porcelain u untracked-files ignored ignore-submodules column M find-renames"}};
static const struct option_row SUBMODULE[] = {
    {OPTION_FLAG, "q quiet cached recursive files h help"}, {OPTION_TEXT, "n summary-limit"}};
static const struct option_row SYMBOLIC_REF[] = {
    {OPTION_FLAG, "q quiet d delete short recurse h help"}, {OPTION_TEXT, "m"}};
static const struct option_row TAG[] = {
    {OPTION_FLAG, "l list d delete v verify a annotate e edit s sign f force create-reflog i "
                  "ignore-case omit-empty h help"},
    {OPTION_MAYBE, "n column color"},
    {OPTION_TEXT, "m message cleanup u local-user contains no-contains merged no-merged sort "
                  "points-at format"},
    {OPTION_READ, "F file"}};
static const struct option_row WORKTREE[] = {
    {OPTION_FLAG, "f force d detach checkout lock q quiet guess-remote track porcelain z v verbose "
                  "h help"},
    {OPTION_TEXT, "b B reason expire"}};
static const struct option_row CLEAN[] = {{OPTION_FLAG, "q quiet n dry-run d x X h help"},
                                          {OPTION_ASK, "f force i interactive"},
                                          {OPTION_TEXT, "e exclude"}};

/* -- operands ---------------------------------------------------------------------------------- */
static void note_operand(struct reading *reading, uint32_t index, const char *why)
{
    sma_unwrap_note(reading->shell, reading->command, index, why);
}

/* Files of the folder are written, which ones cannot be told. A rule that goes on to the subcommand
 * allows it. */
static void touch_worktree(struct reading *reading)
{
    const struct sma_shell_command *command = &reading->shell->commands[reading->command];
    const struct sma_shell_word *git = sma_shell_words(reading->shell, command);
    const struct sma_shell_word *verb = &git[reading->first - 1];
    struct sma_shell_word here = {.text = ".", .len = 1, .fixed_len = 1, .raw = git->raw};
    here.raw_len = verb->raw >= git->raw ? (uint32_t)(verb->raw + verb->raw_len - git->raw)
                                         : git->raw_len; /* people are told "git stash" */
    sma_unwrap_touch_at(reading->shell, reading->command, reading->first - 1, SMA_TOUCH_WRITE_BELOW,
                        &here);
}

/* A new branch begins where the folder is, unless a commit is named. */
static void finish_switch(struct reading *reading)
{
    bool makes_branch = sma_options_saw(reading, "c create C force-create orphan");
    if (!makes_branch || reading->operand_count > 0)
        touch_worktree(reading);
}

static void finish_reset(struct reading *reading)
{
    if (sma_options_saw(reading, "hard merge keep"))
        touch_worktree(reading);
}

/* The first operand says what the subcommand does; only the harmless ones pass. */
static bool is_verb(struct reading *reading, const char *harmless)
{
    uint32_t index = 0;
    const struct sma_shell_word *verb = sma_options_operand(reading, 0, &index);
    if (verb == NULL)
        return true;
    if (sma_shell_word_is_constant(verb) && sma_list_has(harmless, sma_shell_word_str(verb)))
        return true;
    note_operand(reading, index, "what git does is not known to be harmless");
    return false;
}

static void finish_bisect(struct reading *reading)
{
    if (is_verb(reading, "start good bad new old skip reset log next terms"))
        touch_worktree(reading);
}

static void finish_submodule(struct reading *reading)
{
    (void)is_verb(reading, "status summary"); /* it has noted */
}

static void finish_remote(struct reading *reading)
{
    (void)is_verb(reading, "show get-url update prune"); /* it has noted */
}

static void finish_stash(struct reading *reading)
{
    const struct sma_shell_word *verb = sma_options_operand(reading, 0, NULL);
    if (is_verb(reading, "push pop list show apply drop save") &&
        (verb == NULL || !sma_list_has("list show drop", sma_shell_word_str(verb))))
        touch_worktree(reading);
}

static void finish_worktree(struct reading *reading)
{
    const struct sma_shell_word *verb = sma_options_operand(reading, 0, NULL);
    if (is_verb(reading, "list add") && verb != NULL &&
        sma_str_is_equal(sma_shell_word_str(verb), SMA_STR("add")))
        sma_options_touch(reading, 1, SMA_TOUCH_WRITE_BELOW);
}

static bool is_network_address(struct sma_str text)
{
    return sma_str_starts_with(text, SMA_STR("https://")) ||
           sma_str_starts_with(text, SMA_STR("ssh://")) ||
           sma_str_starts_with(text, SMA_STR("git@"));
}

/* A repository of this machine has a configuration and hooks that may have been written here. */
static bool may_be_local(const struct sma_shell_word *word)
{
    struct sma_str text = sma_shell_word_str(word);
    return !sma_shell_word_is_constant(word) ||
           (!is_network_address(text) &&
            (text.len == 0 || text.ptr[0] == '.' || memchr(text.ptr, '/', text.len) != NULL ||
             memchr(text.ptr, ':', text.len) != NULL));
}

static void finish_push(struct reading *reading)
{
    uint32_t index = 0;
    const struct sma_shell_word *to = sma_options_operand(reading, 0, &index);
    if (to != NULL && (!sma_shell_word_is_constant(to) ||
                       !sma_list_has("origin upstream", sma_shell_word_str(to))))
        note_operand(reading, index, "it pushes to a repository that may be a folder");
}

/* fetch, pull, ls-remote: another address than a remote's name brings what nobody has agreed to. */
static void finish_fetch(struct reading *reading)
{
    uint32_t index = 0;
    const struct sma_shell_word *from = sma_options_operand(reading, 0, &index);
    if (from != NULL && (may_be_local(from) || is_network_address(sma_shell_word_str(from))))
        note_operand(reading, index, "it fetches from an address that is not a remote's name");
}

static void finish_pull(struct reading *reading)
{
    finish_fetch(reading);
    touch_worktree(reading);
}

static void finish_clone(struct reading *reading)
{
    uint32_t index = 0;
    const struct sma_shell_word *from = sma_options_operand(reading, 0, &index);
    if (from == NULL)
        return;
    if (!sma_shell_word_is_constant(from) || !is_network_address(sma_shell_word_str(from)))
        note_operand(reading, index, "it clones a repository that may be a folder");
    else if (reading->operand_count > 1)
        sma_options_touch(reading, 1, SMA_TOUCH_WRITE_BELOW);
    else
        sma_options_touch_made(reading, SMA_TOUCH_WRITE_BELOW, from, "", NULL);
}

static void finish_init(struct reading *reading)
{
    sma_options_touch(reading, 0, SMA_TOUCH_WRITE_BELOW);
}

static void finish_mv(struct reading *reading)
{
    const struct sma_shell_word *to =
        sma_options_operand(reading, reading->operand_count - 1, NULL);
    if (reading->operand_count == 0 || to == NULL)
        return;
    struct sma_shell_word target = *to;
    for (uint32_t i = 0; i < reading->operand_count; i++)
        sma_options_touch(reading, i, SMA_TOUCH_WRITE);
    for (uint32_t i = 0; i + 1 < reading->operand_count; i++)
        sma_options_touch_made(reading, SMA_TOUCH_WRITE, &target, "/",
                               sma_options_operand(reading, i, NULL));
}

/* The files behind -- (checkout), or all operands. */
static void finish_paths(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->operand_count; i++)
        sma_options_touch(reading, i, SMA_TOUCH_WRITE);
}

static void finish_checkout(struct reading *reading)
{
    const struct sma_shell_command *command = &reading->shell->commands[reading->command];
    const struct sma_shell_word *words = sma_shell_words(reading->shell, command);
    bool is_behind = false, has_paths = false;
    for (uint32_t i = reading->first; i < command->word_count; i++) {
        if (is_behind)
            sma_unwrap_touch_at(reading->shell, reading->command, i, SMA_TOUCH_WRITE, &words[i]);
        has_paths |= is_behind;
        is_behind |= sma_str_is_equal(sma_shell_word_str(&words[i]), SMA_STR("--"));
    }
    if (has_paths)
        return;
    /* one operand is a commit or a file, the first of several (git checkout HEAD~1 Makefile) may be
     * a commit */
    bool makes_branch = sma_options_saw(reading, "b B orphan");
    if (reading->operand_count > 0 || sma_options_saw(reading, "f force p patch"))
        touch_worktree(reading);
    for (uint32_t i = 1; !makes_branch && i < reading->operand_count; i++)
        sma_options_touch(reading, i, SMA_TOUCH_WRITE);
}

static void finish_restore(struct reading *reading)
{
    if (!sma_options_saw(reading, "S staged") || sma_options_saw(reading, "W worktree"))
        finish_paths(reading);
}

static void finish_rm(struct reading *reading)
{
    if (!sma_options_saw(reading, "cached n dry-run"))
        finish_paths(reading);
}

static void finish_clean(struct reading *reading)
{
    if (!sma_options_saw(reading, "n dry-run"))
        note_operand(reading, reading->first - 1, "it removes files");
}

static void finish_format_patch(struct reading *reading)
{
    struct sma_shell_word patches = {.text = "0*.patch",
                                     .raw = "0*.patch",
                                     .len = 8,
                                     .raw_len = 8,
                                     .fixed_len = 1,
                                     .flags = SMA_WORD_GLOB | SMA_WORD_SPLITS};
    if (!sma_options_saw(reading, "stdout o output-directory"))
        sma_options_touch_made(reading, SMA_TOUCH_WRITE, &patches, "", NULL);
}

static const struct description SUBCOMMANDS[] = {
    DESCRIBE("add", ADD, GIT, NULL, NULL),
    DESCRIBE("archive", ARCHIVE, GIT, NULL, NULL),
    DESCRIBE("bisect", BISECT, GIT, NULL, finish_bisect),
    DESCRIBE("blame", BLAME, GIT, NULL, NULL),
    DESCRIBE("branch", BRANCH, GIT, NULL, NULL),
    DESCRIBE("cat-file", CAT_FILE, GIT, NULL, NULL),
    DESCRIBE("check-attr check-ignore", CHECK, GIT, NULL, NULL),
    DESCRIBE("checkout", CHECKOUT, GIT, "b B orphan f force p patch", finish_checkout),
    DESCRIBE("switch", CHECKOUT, GIT, "c create C force-create orphan", finish_switch),
    DESCRIBE("cherry", CHERRY, GIT, NULL, NULL),
    DESCRIBE("cherry-pick revert", PICK, GIT, NULL, touch_worktree),
    DESCRIBE("clean", CLEAN, GIT, "n dry-run", finish_clean),
    DESCRIBE("clone", CLONE, GIT, NULL, finish_clone),
    DESCRIBE("commit", COMMIT, GIT, NULL, NULL),
    DESCRIBE("count-objects version merge-base", FLAGS_ONLY, GIT, NULL, NULL),
    DESCRIBE("describe", DESCRIBE_ROWS, GIT, NULL, NULL),
    DESCRIBE("diff diff-tree", DIFF, GIT | OPTIONS_NUMBERS, NULL, NULL),
    DESCRIBE("fetch", FETCH, GIT, NULL, finish_fetch),
    DESCRIBE("pull", FETCH, GIT, NULL, finish_pull),
    DESCRIBE("for-each-ref", FOR_EACH_REF, GIT, NULL, NULL),
    DESCRIBE("format-patch", FORMAT_PATCH, GIT | OPTIONS_NUMBERS, "stdout o output-directory",
             finish_format_patch),
    DESCRIBE("fsck gc", FSCK, GIT, NULL, NULL),
    DESCRIBE("grep", GREP, GIT | OPTIONS_NUMBERS, NULL, NULL),
    DESCRIBE("help", HELP, GIT, NULL, NULL),
    DESCRIBE("init", INIT, GIT, NULL, finish_init),
    DESCRIBE("log show reflog", LOG, GIT | OPTIONS_NUMBERS, NULL, NULL),
    DESCRIBE("ls-files", LS_FILES, GIT, NULL, NULL),
    DESCRIBE("ls-remote", LS_REMOTE, GIT, NULL, finish_fetch),
    DESCRIBE("ls-tree", LS_TREE, GIT, NULL, NULL),
    DESCRIBE("merge", MERGE, GIT, NULL, touch_worktree),
    DESCRIBE("mv", MOVE, GIT, NULL, finish_mv),
    DESCRIBE("name-rev", NAME_REV, GIT, NULL, NULL),
    DESCRIBE("push", PUSH, GIT, NULL, finish_push),
    DESCRIBE("rebase", REBASE, GIT, NULL, touch_worktree),
    DESCRIBE("remote", REMOTE, GIT, NULL, finish_remote),
    DESCRIBE("reset", RESET, GIT, "hard merge keep", finish_reset),
    DESCRIBE("restore", RESTORE, GIT, "S staged W worktree", finish_restore),
    DESCRIBE("rev-list", REV_LIST, GIT | OPTIONS_NUMBERS, NULL, NULL),
    DESCRIBE("rev-parse", REV_PARSE, GIT | OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("rm", RM_ROWS, GIT, "cached n dry-run", finish_rm),
    DESCRIBE("shortlog", SHORTLOG, GIT | OPTIONS_NUMBERS, NULL, NULL),
    DESCRIBE("show-ref", SHOW_REF, GIT, NULL, NULL),
    DESCRIBE("stash", STASH, GIT, NULL, finish_stash),
    DESCRIBE("status", STATUS, GIT, NULL, NULL),
    DESCRIBE("submodule", SUBMODULE, GIT, NULL, finish_submodule),
    DESCRIBE("symbolic-ref", SYMBOLIC_REF, GIT, NULL, NULL),
    DESCRIBE("tag", TAG, GIT, NULL, NULL),
    DESCRIBE("worktree", WORKTREE, GIT, NULL, finish_worktree),
};

const struct description *sma_options_of_git(struct sma_str subcommand)
{
    for (size_t i = 0; i < SMA_COUNT_OF(SUBCOMMANDS); i++)
        if (sma_list_has(SUBCOMMANDS[i].programs, subcommand))
            return &SUBCOMMANDS[i];
    return NULL;
}
