/*
 * options_build.c — the options of programs that build and test: what they run is the project,
 * which a rule has allowed; here are the ways to make them run or write something else.
 *
 * Source: make(1) GNU make 4.3; npm(1) 11 `npm config ls -l`; pnpm(1) and yarn(1), the options that
 * run something; cargo(1)
 * 1.95 `cargo NAME --help`; `go help build`, `go help testflag` of go 1.22; `pip NAME --help` of
 * pip 24; docker(1) 24; gcc(1), clang(1), rg(1), tree(1), cpio(1), systemctl(1), date(1),
 * hostname(1), file(1), test(1), printf(1) and wait of bash(1), the options that run or write
 * something.
 */
#include "options_tables.h"

#include "sma/text.h"

static struct sma_str operand_text(const struct reading *reading, uint32_t n, uint32_t *ret_index)
{
    const struct sma_shell_word *word = sma_options_operand(reading, n, ret_index);
    return word == NULL ? SMA_STR("") : sma_shell_word_str(word);
}

static void note_at(struct reading *reading, uint32_t index, const char *why)
{
    sma_unwrap_note(reading->shell, reading->command, index, why);
}

/* -- make -------------------------------------------------------------------------------------- */
static const struct option_row MAKE[] = {
    {OPTION_FLAG,
     "b m B always-make d e environment-overrides h help i ignore-errors k keep-going L "
     "check-symlink-times n just-print dry-run recon p print-data-base q question r "
     "no-builtin-rules R no-builtin-variables s silent quiet no-silent S no-keep-going stop t "
     "touch trace v version w print-directory no-print-directory warn-undefined-variables"},
    {OPTION_MAYBE, "j jobs l load-average max-load O output-sync debug"},
    {OPTION_TEXT, "o old-file assume-old"},
    {OPTION_ASK_VALUE, "C directory E eval f file makefile I include-dir W what-if new-file "
                       "assume-new"},
};

/* Makes of what a built-in rule runs: make expands patterns and hands names to a shell,
 * unquoted. */
static bool is_plain_target(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.ptr[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                         (byte >= '0' && byte <= '9');
        bool begins_name = i == 0 || text.ptr[i - 1] == '/';
        if (!is_letter && (memchr("_./+:@-", byte, 7) == NULL || (byte == '.' && begins_name)))
            return false;
    }
    return true;
}

/* NAME=value changes what the recipes run; a hidden target may be made by a built-in rule. */
static void finish_make(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->operand_count; i++) {
        uint32_t index = 0;
        struct sma_str text = operand_text(reading, i, &index);
        if (is_plain_target(text)) {
            if (!sma_str_is_equal(text, SMA_STR("config"))) /* a task of many projects */
                sma_options_touch(reading, i, SMA_TOUCH_MAKE);
            continue;
        }
        note_at(reading, index, "a variable of make, or a target that is no plain name");
        const char *equals = memchr(text.ptr, '=', text.len);
        if (equals != NULL)
            sma_shell_parse_child(
                reading->shell,
                (struct sma_str){equals + 1, text.len - (size_t)(equals + 1 - text.ptr)},
                reading->command, index);
    }
}

/* -- npm and relatives ------------------------------------------------------------------------- */
static const struct option_row NPM[] = {
    {OPTION_FLAG,
     "long json omit-lockfile-registry-resolved fund audit update-notifier yes y all a "
     "allow-same-version bin-links color commit-hooks description dev diff-ignore-all-space "
     "diff-name-only diff-no-prefix diff-text dry-run engine-strict force f foreground-scripts "
     "format-package-lock git-tag-version if-present ignore-scripts include-staged "
     "include-attestations init-private install-links legacy-bundling "
     "legacy-peer-deps offline package-lock package-lock-only parseable p prefer-dedupe "
     "prefer-offline prefer-online progress provenance read-only rebuild-bundle save S save-bundle "
     "B save-dev D save-exact E save-optional O save-peer save-prod P shrinkwrap sign-git-commit "
     "sign-git-tag strict-peer-deps strict-allow-scripts strict-ssl timing unicode usage help h "
     "version v versions workspaces-update silent s quiet q verbose production d l"},
    {OPTION_TEXT,
     "access also audit-level auth-type before cidr cpu depth diff diff-dst-prefix "
     "diff-src-prefix diff-unified expect-result-count expect-results expires fetch-retries "
     "fetch-retry-factor fetch-retry-maxtimeout fetch-retry-mintimeout fetch-timeout heading "
     "https-proxy include install-strategy libc local-address loglevel logs-max maxsockets "
     "message m min-release-age noproxy omit only optional os otp package preid proxy "
     "save-prefix sbom-format sbom-type scope searchexclude searchlimit searchopts "
     "searchstaleness tag tag-version-prefix umask user-agent which"},
    {OPTION_READ, "cafile provenance-file"},
    {OPTION_BELOW, "pack-destination"},
    /* a rule for `npm test` means the package here, not one that a word names */
    {OPTION_ASK, "ws workspaces include-workspace-root"},
    {OPTION_ASK_VALUE, "workspace w"},
    {OPTION_ASK, "global g global-style link allow-scripts-pending allow-scripts-pin "
                 "dangerously-allow-all-scripts"},
    {OPTION_ASK_VALUE, "prefix C globalconfig userconfig node-options cache logs-dir location "
                       "registry replace-registry-host init-module nodedir allow-scripts key cert "
                       "ca"},
    {OPTION_RUN, "call c script-shell shell editor git browser viewer node-gyp"},
};
static const struct option_row PNPM[] = {
    {OPTION_ASK, "g global shell-mode r recursive w workspace-root top-level"},
    {OPTION_ASK_VALUE, "F filter filter-prod workspace workspace-dir dir C prefix cwd config-dir "
                       "global-dir store-dir modules-folder "
                       "global-folder cache-folder use-yarnrc registry config userconfig "
                       "globalconfig node-options"},
    {OPTION_RUN, "script-shell call c editor git browser viewer"},
};

static void finish_npm(struct reading *reading)
{
    uint32_t index = 0;
    const struct sma_shell_word *verb = sma_options_operand(reading, 0, &index);
    if (verb == NULL)
        return;
    struct sma_str text = sma_shell_word_str(verb);
    if (!sma_shell_word_is_constant(verb))
        note_at(reading, index, "a word that says what it does is not constant");
    if (sma_list_has("workspace workspaces", text))
        note_at(reading, index + 1, "it runs scripts of another package");
    else if (sma_list_has("exec x dlx node", text))
        note_at(reading, index + 1, "a subcommand that runs something else");
    else if (sma_list_has("explore edit config c set init create innit pkg link ln publish login "
                          "adduser add-user logout docs home repo bugs issues owner access token "
                          "profile hook team org star unstar unpublish deprecate dist-tag cache "
                          "patch-commit self-update setup env server store plugin policies import",
                          text))
        note_at(reading, index, "a subcommand that is not known to be harmless");
}

/* Which folder's recipes are run, or which file is the recipe, another way to run a shell. Source:
 * the --help of just 1.25, go-task 3.35, ninja 1.11, meson 1.0, rake 13, composer 2.5, maven 3.8,
 * gradle 8, tox 4, nox 2023, bun 1.1. */
static const struct option_row JUST[] = {
    {OPTION_ASK, "g global-justfile"},
    {OPTION_ASK_VALUE, "f justfile d working-directory set dotenv-path dotenv-filename E"},
    {OPTION_RUN, "shell shell-arg chooser c command"},
};
static const struct option_row TASK[] = {{OPTION_ASK, "g global"},
                                         {OPTION_ASK_VALUE, "d dir t taskfile"}};
static const struct option_row NINJA[] = {{OPTION_ASK_VALUE, "C f t"}};
static const struct option_row MESON[] = {{OPTION_ASK_VALUE, "C wrapper wrap gdb-path"}};
static const struct option_row RAKE[] = {
    {OPTION_ASK, "g system"},
    {OPTION_ASK_VALUE, "f rakefile C directory r require R rakelibdir I libdir e execute p "
                       "execute-print E execute-continue"},
};
static const struct option_row COMPOSER[] = {{OPTION_ASK_VALUE, "d working-dir"}};
static const struct option_row MAVEN[] = {
    {OPTION_ASK_VALUE, "f file s settings gs global-settings t toolchains pl projects p "
                       "project-dir b build-file c settings-file I init-script include-build "
                       "project-cache-dir g gradle-user-home"},
};
static const struct option_row TOX[] = {{OPTION_ASK_VALUE, "c conf root workdir x override f "
                                                           "noxfile"}};
static const struct option_row BUN[] = {
    {OPTION_ASK_VALUE, "cwd filter F c config preload r require import e eval p print shell "
                       "env-file tsconfig-override"},
};

/* -- cargo ------------------------------------------------------------------------------------- */
static const struct option_row CARGO[] = {
    {OPTION_FLAG,
     "all all-features all-targets benches bins build default-features dev doc "
     "document-private-items examples fix frozen future-incompat-report ignore-rust-version "
     "keep-going lib locked no-dedupe no-default-features no-deps no-fail-fast no-optional "
     "no-public no-run offline optional public recursive tests timings unit-graph version "
     "workspace V b breaking d duplicates h help n dry-run q quiet r release v verbose w check "
     "allow-dirty allow-staged all-targets list no-verify"},
    {OPTION_TEXT,
     "A allow D deny W warn forbid base bench bin branch charset color depth e edges exclude "
     "example explain filter-platform "
     "format f F features format-version i invert j jobs message-format p package precise prefix "
     "profile prune rename rev tag target test"},
    {OPTION_BELOW, "artifact-dir out-dir target-dir"},
    {OPTION_ASK, "open"},
    {OPTION_ASK_VALUE, "config manifest-path C Z git path registry lockfile-path"},
};

static void finish_cargo(struct reading *reading)
{
    uint32_t index = 0;
    const struct sma_shell_word *verb = sma_options_operand(reading, 0, &index);
    if (verb == NULL)
        return;
    struct sma_str text = sma_shell_word_str(verb);
    bool is_tame =
        sma_list_has("build b test t check c clippy fmt doc d run r bench clean tree "
                     "update metadata add remove rm search fetch version help pkgid "
                     "locate-project verify-project generate-lockfile fix package report "
                     "info nextest",
                     text);
    if (!sma_shell_word_is_constant(verb) || !is_tame)
        note_at(reading, index, "a subcommand that is not known to be harmless");
    /* cargo clippy -- -C linker=x: words for the compiler */
    for (uint32_t i = 1; sma_list_has("clippy fix", text) && i < reading->operand_count; i++) {
        struct sma_str word = operand_text(reading, i, &index);
        bool is_lint =
            word.len >= 2 && word.ptr[0] == '-' && memchr("DWAF", word.ptr[1], 4) != NULL;
        if (word.len > 0 && word.ptr[0] == '-' && !is_lint)
            note_at(reading, index, "an option for the compiler");
    }
}

/* -- go ---------------------------------------------------------------------------------------- */
static const struct option_row GO[] = {
    {OPTION_FLAG,
     "a n race msan asan cover v work x linkshared modcacherw trimpath json short failfast "
     "benchmem fullpath i m u versions deps e export find test compiled retracted t fix h help "
     "c cgo all src cmd d diff compat V"},
    {OPTION_MAYBE, "mod buildvcs artifacts"},
    {OPTION_TEXT,
     "p covermode coverpkg buildmode installsuffix tags run bench benchtime count cpu parallel "
     "timeout shuffle skip vet fuzz fuzztime fuzzminimizetime list blockprofilerate "
     "memprofilerate mutexprofilefraction f reuse"},
    {OPTION_WRITE, "o coverprofile cpuprofile memprofile blockprofile mutexprofile trace"},
    {OPTION_BELOW, "outputdir pkgdir test.fuzzcachedir"},
    {OPTION_ASK_VALUE, "C asmflags gcflags gccgoflags compiler ldflags modfile overlay pgo args"},
    {OPTION_RUN, "exec toolexec vettool"},
};

static void finish_go(struct reading *reading)
{
    uint32_t index = 0;
    const struct sma_shell_word *verb = sma_options_operand(reading, 0, &index);
    if (verb == NULL)
        return;
    struct sma_str text = sma_shell_word_str(verb);
    struct sma_str second = operand_text(reading, 1, NULL);
    bool is_tame = sma_list_has("build test vet fmt list doc version clean help fix", text) ||
                   (sma_str_is_equal(text, SMA_STR("mod")) &&
                    sma_list_has("tidy download verify graph why", second)) ||
                   sma_str_is_equal(text, SMA_STR("env"));
    if (!sma_shell_word_is_constant(verb) || !is_tame)
        note_at(reading, index, "a subcommand that runs something else");
}

/* -- pip --------------------------------------------------------------------------------------- */
static const struct option_row PIP[] = {
    {OPTION_FLAG,
     "h help debug isolated require-virtualenv v verbose V version q quiet no-input no-cache-dir "
     "disable-pip-version-check no-color no-python-version-warning no-deps pre dry-run user U "
     "upgrade force-reinstall I ignore-installed ignore-requires-python no-build-isolation "
     "use-pep517 check-build-dependencies break-system-packages compile no-compile "
     "no-warn-script-location no-warn-conflicts prefer-binary require-hashes no-clean no-index y "
     "yes all exclude-editable include-editable l local not-required o outdated u uptodate files "
     "no-verify"},
    {OPTION_TEXT,
     "keyring-provider proxy retries timeout exists-action use-feature use-deprecated platform "
     "python-version implementation abi upgrade-strategy no-binary only-binary progress-bar "
     "root-user-action exclude format"},
    {OPTION_READ, "r requirement c constraint cert client-cert path"},
    {OPTION_WRITE, "log report"},
    {OPTION_BELOW, "t target root prefix src cache-dir d dest w wheel-dir"},
    {OPTION_ASK_VALUE, "e editable i index-url extra-index-url f find-links trusted-host C "
                       "config-settings global-option build-option install-option"},
    {OPTION_RUN, "python"},
};

/* -- docker ------------------------------------------------------------------------------------ */
/* What it starts is unwrap.c's matter; here are the files it writes and the machine it means. */
static const struct option_row DOCKER[] = {
    {OPTION_WRITE, "iidfile metadata-file cidfile"},
    {OPTION_ASK, "privileged"},
    {OPTION_ASK_VALUE, "o output H host config context v volume mount device cap-add security-opt "
                       "secret ssh build-context project-directory"},
};

static void finish_docker(struct reading *reading)
{
    uint32_t index = 0;
    struct sma_str verb = operand_text(reading, 0, &index);
    if (sma_str_is_equal(verb, SMA_STR("cp")))
        sma_options_touch(reading, 2, SMA_TOUCH_WRITE_BELOW);
}

/* -- one option here and there ----------------------------------------------------------------- */
static const struct option_row TEST[] = {{OPTION_ASK, "v R"}};
static const struct option_row PRINTF[] = {{OPTION_ASK_VALUE, "v"}};
static const struct option_row WAIT[] = {{OPTION_ASK_VALUE, "p"}};
static const struct option_row DATE[] = {
    {OPTION_FLAG, "debug R rfc-email u utc universal help version"},
    {OPTION_MAYBE, "I iso-8601 resolution"},
    {OPTION_TEXT, "d date rfc-3339"},
    {OPTION_READ, "f file r reference"},
    {OPTION_ASK_VALUE, "s set"},
};
static const struct option_row HOSTNAME[] = {
    {OPTION_FLAG,
     "a alias d domain f fqdn long A all-fqdns i ip-address I all-ip-addresses s short y "
     "yp nis V version h help"},
    {OPTION_ASK, "b boot"},
    {OPTION_ASK_VALUE, "F file"},
};
static const struct option_row FILE_ROWS[] = {{OPTION_ASK, "C compile z Z uncompress "
                                                           "uncompress-noreport"}};
static const struct option_row RG[] = {
    {OPTION_ASK, "z search-zip"},
    {OPTION_RUN, "pre hostname-bin"},
};
static const struct option_row TREE[] = {{OPTION_ASK, "R"}, {OPTION_WRITE, "o output"}};
static const struct option_row CPIO[] = {
    {OPTION_ASK, "i extract o create p pass-through"},
    {OPTION_ASK_VALUE, "F file O I E D directory"},
    {OPTION_RUN, "rsh-command"},
};
static const struct option_row SYSTEMCTL[] = {{OPTION_ASK_VALUE, "H host M machine root image"}};
static const struct option_row CC[] = {
    {OPTION_WRITE, "o MF MJ aux-info dumpbase serialize-diagnostics"},
    {OPTION_BELOW, "dumpdir"},
    {OPTION_ASK_VALUE, "wrapper specs B Xclang Xlinker Xassembler Xpreprocessor T load"},
    {OPTION_ASK, "save-temps"},
};

static void finish_systemctl(struct reading *reading)
{
    uint32_t index = 0;
    if (sma_str_is_equal(operand_text(reading, 0, &index), SMA_STR("edit")))
        note_at(reading, index, "it starts an editor");
}

/* A date without + sets the clock, a name sets the name of the machine. */
static void finish_date(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->operand_count; i++) {
        uint32_t index = 0;
        struct sma_str text = operand_text(reading, i, &index);
        if (text.len == 0 || text.ptr[0] != '+')
            note_at(reading, index, "it sets something of the machine");
    }
}

/* -Wl,... and -fplugin=...: names that go on, which a table of whole names does not see. */
static void finish_compiler(struct reading *reading)
{
    static const char *const beginnings[] = {
        "-fplugin",    "-fuse-ld", "-specs",        "--specs",  "-B",   "-Wl,",      "-Wp,",
        "-Wa,",        "-fdump",   "-fpass-plugin", "-o",       "-MF",  "-fprofile", "-ftest",
        "-save-temps", "--config", "-mllvm",        "-fmodule", "-ivfs"};
    const struct sma_shell_command *command = &reading->shell->commands[reading->command];
    for (uint32_t i = 1; i < command->word_count; i++) {
        struct sma_str text = sma_shell_word_str(&sma_shell_words(reading->shell, command)[i]);
        bool is_odd = text.len > 0 && text.ptr[0] == '@';
        for (size_t k = 0; k < SMA_COUNT_OF(beginnings); k++)
            is_odd |= sma_str_starts_with(text, sma_str(beginnings[k])) &&
                      text.len > strlen(beginnings[k]);
        if (is_odd)
            note_at(reading, i, "an option that runs a command or writes a file");
    }
}

/* Source: pytest(1), pytest --help 7.2 and of pytest-cov, -html, -json-report. What is not listed
 * selects or prints. */
static const struct option_row PYTEST[] = {
    {OPTION_FLAG, "x v q s l h verbose quiet exitfirst help version cov"},
    {OPTION_TEXT, "k m p n r W deselect maxfail tb durations"},
    {OPTION_READ, "c config-file rootdir confcutdir cov-config"},
    {OPTION_WRITE, "junitxml junit-xml log-file html json-report-file report-log resultlog"},
    {OPTION_BELOW, "basetemp cache-dir alluredir"},
    {OPTION_MAYBE, "report"},
    {OPTION_ASK_VALUE, "o override-ini debug"},
    {OPTION_JUDGED, "cov-report"},
};

/* --cov-report=term, html:FOLDER */
static void judge_pytest(struct reading *reading, struct sma_str name, uint32_t index,
                         const struct sma_shell_word *value)
{
    (void)name;
    if (!sma_shell_word_is_constant(value) || memchr(value->text, ':', value->len) != NULL)
        note_at(reading, index, "it writes files of names that cannot be told");
}

/* @file: more options */
static void finish_pytest(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->operand_count; i++) {
        uint32_t index = 0;
        struct sma_str text = operand_text(reading, i, &index);
        if (text.len > 0 && text.ptr[0] == '@')
            note_at(reading, index, "options that stand in a file");
    }
}

const struct description SMA_OPTIONS_BUILD[] = {
    DESCRIBE_JUDGED("pytest py.test", PYTEST, OPTIONS_PARTIAL | OPTIONS_DASH_IS_OPTION, NULL,
                    finish_pytest, judge_pytest),
    DESCRIBE("make gmake", MAKE, OPTIONS_CONSTANT, NULL, finish_make),
    DESCRIBE("npm", NPM, OPTIONS_NEGATED | OPTIONS_DASH_IS_OPTION, NULL, finish_npm),
    DESCRIBE("pnpm yarn", PNPM, OPTIONS_PARTIAL, NULL, finish_npm),
    DESCRIBE("just", JUST, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("task go-task", TASK, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("ninja", NINJA, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("meson", MESON, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("rake", RAKE, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("composer", COMPOSER, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("mvn gradle gradlew mvnw", MAVEN, OPTIONS_PARTIAL | OPTIONS_SINGLE_DASH, NULL, NULL),
    DESCRIBE("tox nox", TOX, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("bun", BUN, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("cargo", CARGO, OPTIONS_NO_SHORTENING | OPTIONS_DASH_IS_OPTION, NULL, finish_cargo),
    DESCRIBE("go", GO, OPTIONS_SINGLE_DASH | OPTIONS_NO_SHORTENING | OPTIONS_DASH_IS_OPTION, NULL,
             finish_go),
    DESCRIBE("pip pip3", PIP, OPTIONS_DASH_IS_OPTION, NULL, NULL),
    DESCRIBE("docker podman docker-compose", DOCKER, OPTIONS_PARTIAL | OPTIONS_NO_SHORTENING, NULL,
             finish_docker),
    DESCRIBE("test [", TEST, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("printf", PRINTF, OPTIONS_PARTIAL | OPTIONS_STOP, NULL, NULL),
    DESCRIBE("wait", WAIT, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("date", DATE, 0, NULL, finish_date),
    DESCRIBE("hostname", HOSTNAME, 0, NULL, finish_date),
    DESCRIBE("file", FILE_ROWS, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("rg", RG, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("tree", TREE, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("cpio", CPIO, OPTIONS_PARTIAL, NULL, NULL),
    DESCRIBE("systemctl", SYSTEMCTL, OPTIONS_PARTIAL, NULL, finish_systemctl),
    DESCRIBE("gcc g++ cc c++ clang clang++", CC,
             OPTIONS_PARTIAL | OPTIONS_SINGLE_DASH | OPTIONS_NO_SHORTENING, NULL, finish_compiler),
};
const size_t SMA_OPTIONS_BUILD_COUNT = SMA_COUNT_OF(SMA_OPTIONS_BUILD);
