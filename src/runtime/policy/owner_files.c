/* owner_files.c — see owner_files.h. */
#include "owner_files.h"

#include "shell_priv.h"
#include "sma/text.h"

#define NAME_BYTES_MAX 255 /* a longer part of a path cannot exist */

/* Names, blank-separated, wherever they stand in a path, with what they are to those who are asked.
 * A row is a class: a file that nobody has named here falls in by its form (.*rc, *.config.*,
 * Fooxfile). Stars stand for anything; a name that begins with a star has something before it; one
 * with ^ begins with a capital letter; one with = is as written, others are without case.
 * Sources: the manuals of the programs named. */
static const struct owner_row
{
    const char *reason;
    bool is_of_top; /* as a pattern it means this in the project's own folder only */
    bool is_guide;  /* *.md below a folder is rather documents than such a file */
    bool is_file;   /* a folder of this name is a folder */
    const char *names;
} ROWS[] = {
    {"it changes what this agent is and may do", true, true, false, "Agent.md ship.json"},
    {"it guides agents that work here", false, true, false,
     "CLAUDE*.md AGENT.md AGENTS*.md GEMINI.md QWEN.md CRUSH.md WARP.md JULES.md CODEBUDDY.md "
     "CONVENTIONS.md SOUL.md IDENTITY.md HEARTBEAT.md SKILL.md CODEX.md CURSOR.md COPILOT.md "
     "DEVIN.md CLINE.md KIRO.md JUNIE.md OPENCODE.md replit.md copilot-*.md *.instructions.md "
     "*.prompt.md *.chatmode.md *.agent.md"},
    {"it guides agents that work here, and names what they run", false, false, false,
     ".claude* .agent .agents .cursor* .windsurf* .cline* .roo* .rules .continue* .aider* "
     ".codex* .gemini* .qwen* .opencode* opencode.json* .kiro* .junie* .augment* .amazonq* "
     ".goose* .trae* .crush* crush.json .mcp* mcp.json *.mdc .kilocode* .factory* .openhands* "
     ".codebuddy* .qoder* .lingma* .copilot* .specify .serena .zencoder* .iflow*"},
    {"programs take their settings and keys from it", false, false, false, ".env* *.env .ship"},
    {"git and its hooks run what it says", false, false, false,
     ".git .githooks .gitattributes .gitmodules .gitconfig .husky* lefthook*.y*ml lefthook*.toml "
     "lefthook*.json .pre-commit-* .overcommit.yml captainhook.json grumphp.y*ml"},
    {"build servers run what it says", false, false, false,
     ".github .gitlab* .gitea .forgejo .circleci .buildkite .woodpecker* .drone* .travis* "
     ".cirrus* .semaphore .appveyor* appveyor*.y*ml .azure* azure-pipelines*.y*ml "
     "bitbucket-pipelines*.y*ml cloudbuild*.y*ml buildspec*.y*ml wercker*.y*ml codefresh*.y*ml "
     "codemagic*.y*ml bitrise*.y*ml screwdriver*.y*ml .teamcity .tekton .zuul* zuul*.y*ml "
     ".harness .dagger dagger.json .vela* renovate.json* .renovate* dependabot.y*ml"},
    {"an editor may run what it says", false, false, false,
     ".devcontainer* .vscode .idea .zed .fleet .vs .nova .helix .lapce .settings .project "
     ".metadata *.code-workspace *.sublime-* *.iml coc-settings.json .vim* .nvim* .exrc _vimrc "
     ".emacs* .dir-locals* .spacemacs* .ycm_extra_conf* .clangd .ccls .gitpod* .replit "
     "devfile.y*ml .obsidian .jupyter .ipython"},
    {"programs read it before they begin, and run what it names", false, false, false,
     ".*rc .*rc.* .*profile .*login .*logout .*environ .zshenv .*init .*file .*.conf .*.cfg "
     ".*.ini .*.toml .*.yml .*.yaml .*.json .*.json5 .*.jsonc .*.js .*.cjs .*.mjs .*.ts .*.cts "
     ".*.mts .*.xml .*.exs .*.lua .*.hcl .bash* .zsh* .tmux* .direnv* .mise* .config .local .ssh "
     ".gnupg .htaccess .yarn* .pnp* .cargo .mvn .gradle .bundle .bazel* .storybook .rubocop* "
     ".solargraph* .php-cs-fixer* .php_cs* .busted .flake8 .rspec .yardopts .ghci .tool-versions "
     ".babel* .swc* .sdkman* mise.toml mise.*.toml devbox.json pyvenv.cfg _netrc *.conf *.cfg "
     "*.ini *.config crontab *.crontab authorized_keys rc.local"},
    {"an interpreter runs it by itself", false, false, true,
     "*.pth *.pyc sitecustomize.py usercustomize.py startup.jl"},
    {"builds and tools run what it says", false, false, true,
     "^*file *.config.* *.conf.* requirements*.txt *-requirements.txt constraints*.txt "
     "pylock*.toml tsconfig*.json jsconfig*.json package.json5 package.y*ml Dockerfile* "
     "Containerfile* Jenkinsfile* Makefile* Vagrantfile* *.am *.m4 configure "
     "docker-compose*.y*ml compose*.y*ml docker-bake* *.compose.y*ml pipfile* conf.py fabfile.py "
     "dodo.py wscript conanfile.* vcpkg*.json *.props *.targets *.proj *.*proj *.sln *.slnx "
     "global.json dotnet-tools.json launchSettings.json *.gradle* *.kts gradlew* mvnw* build.sc "
     "build.mill build.boot deps.edn bb.edn shadow-cljs.edn project.clj ivy*.xml config.ru "
     "*.gemspec *.podspec *.rockspec *.spec *.cabal cabal.project* stack.y*ml hie.y*ml *.nimble "
     "*.opam dune dune-project *.neon phpunit*.xml* phpcs*.xml* psalm*.xml* rector.php "
     "infection.json* angular.json workspace.json project.json nest-cli.json ng-package.json "
     "nodemon.json pm2.json ecosystem.json biome.json* dprint.json* rome.json importmap.json "
     "tslint.json rush.json moon.y*ml gulpfile* gruntfile* jakefile jakefile.js webpack.*.js "
     "rollup.*.js vitest.workspace.* gatsby-*.js ember-cli-build.js truffle*.js "
     "pyrightconfig.json hatch.toml pdm.toml poetry.toml pixi.toml ruff.toml rustfmt.toml "
     "clippy.toml deny.toml Cross.toml Trunk.toml bacon.toml book.toml foundry.toml hugo.toml "
     "gleam.toml Project.toml analysis_options.yaml mkdocs*.y*ml _config.y*ml typedoc.json "
     "sonar-project.properties gradle*.properties build.zig* config.nims *.cmake CMake*.json "
     "meson.build meson.options meson_options.txt *.mk *.mak *.ninja *.nix *.gn *.gni *.bzl "
     "*.bazel guix.scm manifest.scm =BUILD =WORKSPACE =WORKSPACE.* =BUCK =TARGETS =DEPS Kbuild "
     "Kconfig *.just process-compose.y*ml devenv.y*ml artisan noxfile.* tox.toml snapcraft.y*ml"},
    {"what runs as a service is made from it", false, false, true,
     "*.service *.socket *.timer *.desktop *.plist *.tf *.tf.json *.tfvars *.hcl *.bicep "
     "Pulumi*.y*ml serverless*.y*ml serverless.json serverless.js serverless.ts samconfig.toml "
     "cdk.json fly*.toml wrangler.toml wrangler.json* netlify.toml vercel.json now.json "
     "firebase.json render.y*ml railway.toml railway.json app.yaml heroku.yml kustomization.y*ml "
     "helmfile*.y*ml Chart.y*ml skaffold*.y*ml devspace.y*ml okteto.y*ml garden.y*ml "
     "tilt_config.json playbook*.y*ml galaxy.yml *.nomad apprunner.yaml"},
};

/* Of git, in a folder `hooks` of any repository, also a bare one. */
static const char HOOKS[] = "applypatch-msg pre-applypatch post-applypatch pre-commit "
                            "pre-merge-commit prepare-commit-msg commit-msg post-commit "
                            "pre-rebase post-checkout post-merge pre-push pre-receive update "
                            "proc-receive post-receive post-update reference-transaction "
                            "push-to-checkout pre-auto-gc post-rewrite sendemail-validate "
                            "fsmonitor-watchman post-index-change";

static unsigned char to_lower(char byte)
{
    return (unsigned char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
}

/* One of the names above as a small automaton; its places are bits: at place i the byte i of it is
 * next. */
#define WANTED_BYTES_MAX 62
struct wanted
{
    const char *text;
    size_t len;
    bool is_exact, is_capital;
};

static struct wanted read_wanted(struct sma_str name)
{
    struct wanted wanted = {.text = name.ptr, .len = name.len};
    wanted.is_exact = name.ptr[0] == '=';
    wanted.is_capital = name.ptr[0] == '^';
    wanted.text += wanted.is_exact || wanted.is_capital;
    wanted.len -= wanted.is_exact || wanted.is_capital;
    SMA_ASSERT(wanted.len > 0 && wanted.len <= WANTED_BYTES_MAX);
    return wanted;
}

/* A star may stand for nothing. */
static uint64_t skip_stars(const struct wanted *wanted, uint64_t places)
{
    for (size_t i = 0; i < wanted->len; i++)
        if ((places >> i & 1) != 0 && wanted->text[i] == '*')
            places |= UINT64_C(2) << i;
    return places;
}

/* Behind one more byte; 0 of it: whatever it is. */
static uint64_t step(const struct wanted *wanted, uint64_t places, char byte)
{
    uint64_t next = 0;
    for (size_t i = 0; places >> i != 0 && i < wanted->len; i++) {
        char own = wanted->text[i];
        bool is_same =
            byte == '\0' || byte == own || (!wanted->is_exact && to_lower(byte) == to_lower(own));
        if ((places >> i & 1) == 0)
            continue;
        if (own == '*')
            next |= UINT64_C(1) << i;
        else if (is_same)
            next |= UINT64_C(2) << i;
    }
    return skip_stars(wanted, next);
}

static uint64_t begin_match(const struct wanted *wanted)
{
    return wanted->text[0] == '*' ? 1 : skip_stars(wanted, 1); /* something stands before it */
}

/* Most names have no star, or one at an end. @return whether that is so, with the answer */
static bool fits_plainly(struct sma_str name, const struct wanted *wanted, bool *ret_fits)
{
    const char *star = memchr(wanted->text, '*', wanted->len);
    size_t len = wanted->len - (star != NULL);
    bool is_head = star == wanted->text + len, is_tail = star == wanted->text;
    if (wanted->is_exact || wanted->is_capital || (star != NULL && !is_head && !is_tail) ||
        (is_tail && memchr(star + 1, '*', len) != NULL))
        return false;
    *ret_fits = star == NULL ? name.len == len : name.len >= len + is_tail;
    if (!*ret_fits)
        return true;
    const char *own = is_tail ? name.ptr + name.len - len : name.ptr,
               *text = wanted->text + is_tail;
    for (size_t i = 0; i < len && *ret_fits; i++)
        *ret_fits = to_lower(own[i]) == to_lower(text[i]);
    return true;
}

bool sma_name_fits(struct sma_str name, struct sma_str wanted_name)
{
    struct wanted wanted = read_wanted(wanted_name);
    bool fits;
    if (fits_plainly(name, &wanted, &fits))
        return fits;
    uint64_t places = begin_match(&wanted);
    if (name.len == 0 || (wanted.is_capital && (name.ptr[0] < 'A' || name.ptr[0] > 'Z')))
        return false;
    for (size_t i = 0; i < name.len && places != 0; i++)
        places = step(&wanted, places, name.ptr[i] == '\0' ? '\1' : name.ptr[i]);
    return (places >> wanted.len & 1) != 0 &&
           (!wanted.is_capital || memchr(name.ptr, '.', name.len) == NULL);
}

static bool next_name(const char **at, struct sma_str *ret_name)
{
    size_t len = (size_t)(strchrnul(*at, ' ') - *at);
    *ret_name = (struct sma_str){*at, len};
    *at += len + ((*at)[len] == ' ');
    return len > 0;
}

bool sma_name_is_example(struct sma_str name)
{
    return sma_list_fits(".env.example .env.sample .env.template .env.dist", name);
}

/* Names are many: most are told apart by one byte. */
static bool may_fit_at_all(struct sma_str name, struct sma_str wanted)
{
    char first = wanted.ptr[0], last = wanted.ptr[wanted.len - 1];
    if (first == '*')
        return last == '*' || to_lower(last) == to_lower(name.ptr[name.len - 1]);
    return first == '^' || first == '=' || to_lower(first) == to_lower(name.ptr[0]);
}

bool sma_list_fits(const char *list, struct sma_str name)
{
    struct sma_str wanted;
    while (name.len > 0 && next_name(&list, &wanted))
        if (may_fit_at_all(name, wanted) && sma_name_fits(name, wanted))
            return true;
    return false;
}

/* docs/makefile.md tells of one. */
static bool is_document(struct sma_str name)
{
    return sma_name_fits(name, SMA_STR("*.md")) || sma_name_fits(name, SMA_STR("*.rst")) ||
           sma_name_fits(name, SMA_STR("*.adoc"));
}

static const struct owner_row *find_row(struct sma_str name, bool is_file)
{
    for (size_t i = 0; i < SMA_COUNT_OF(ROWS); i++)
        if (ROWS[i].is_file == is_file && sma_list_fits(ROWS[i].names, name))
            return sma_name_is_example(name) ? NULL : &ROWS[i];
    return NULL;
}

uint32_t sma_file_recipes(struct sma_str base)
{
    uint32_t recipes = sma_program_recipes(base);
    for (size_t len = base.len; recipes == 0 && len > 0; len--) /* Makefile.sh, Makefile,v */
        if (base.ptr[len - 1] == '.' || base.ptr[len - 1] == ',')
            recipes = sma_program_recipes((struct sma_str){base.ptr, len - 1});
    if (recipes == 0 && sma_str_starts_with(base, SMA_STR("s.")))
        recipes = sma_program_recipes((struct sma_str){base.ptr + 2, base.len - 2}); /* SCCS */
    return recipes;
}

/* `config`: of a repository that lies anywhere. */
static bool is_of_repository(struct sma_str folder, struct sma_str base)
{
    return sma_name_fits(base, SMA_STR("config")) ||
           sma_name_fits(base, SMA_STR("config.worktree")) ||
           (sma_str_is_equal(folder, SMA_STR("hooks")) && sma_list_has(HOOKS, base));
}

/* The next part of a path that is none of "" and "."; false at the end. */
static bool next_part(struct sma_str path, size_t *at, struct sma_str *ret_part)
{
    while (*at < path.len) {
        const char *slash = memchr(path.ptr + *at, '/', path.len - *at);
        size_t end = slash == NULL ? path.len : (size_t)(slash - path.ptr);
        *ret_part = (struct sma_str){path.ptr + *at, end - *at};
        *at = end + 1;
        if (ret_part->len > 0 && !sma_str_is_equal(*ret_part, SMA_STR(".")))
            return true;
    }
    return false;
}

const char *sma_file_owner_reason(struct sma_str path)
{
    static const char of_recipes[] = "builds and tools run what it says";
    struct sma_str part, folder = SMA_STR(""), base = SMA_STR("");
    const struct owner_row *row;
    for (size_t at = 0; next_part(path, &at, &part);) {
        if ((row = find_row(part, false)) != NULL)
            return row->reason;
        if (sma_program_recipes(part) != 0)
            return of_recipes; /* mkdir -p Makefile/x replaces one, too */
        folder = base;
        base = part;
    }
    if (base.len == 0 || is_document(base))
        return NULL;
    if ((row = find_row(base, true)) != NULL)
        return row->reason;
    return sma_file_recipes(base) != 0      ? of_recipes
           : is_of_repository(folder, base) ? "git and its hooks run what it says"
                                            : NULL;
}

bool sma_file_is_owner_only(struct sma_str path)
{
    return sma_file_owner_reason(path) != NULL;
}

/* -- patterns ---------------------------------------------------------------------------------- */
/* The next thing of a pattern: a byte, 0 for any one (of a class, too: shells and fnmatch differ
 * about [^x] and ranges; what is escaped), '*' for any number. */
static char next_of_pattern(struct sma_str pattern, size_t *at)
{
    char byte = pattern.ptr[(*at)++];
    if (byte == '?' || (byte == '\\' && *at < pattern.len)) {
        *at += byte == '\\';
        return '\0';
    }
    if (byte != '[')
        return byte;
    if (*at < pattern.len && pattern.ptr[*at] == '[') { /* [[:alpha:]]: whatever follows */
        *at = pattern.len;
        return '*';
    }
    const char *end =
        *at + 1 >= pattern.len ? NULL : memchr(pattern.ptr + *at + 1, ']', pattern.len - *at - 1);
    if (end == NULL)
        return byte;
    *at = (size_t)(end - pattern.ptr) + 1;
    return '\0';
}

static bool may_fit(struct sma_str pattern, struct wanted wanted)
{
    uint64_t places = begin_match(&wanted);
    if (pattern.len > NAME_BYTES_MAX)
        return true;
    if (wanted.text[0] == '.' && pattern.len > 0 && memchr("*?[\\", pattern.ptr[0], 4) != NULL)
        return false; /* no wildcard stands for the dot that hides a file */
    for (size_t at = 0; at < pattern.len && places != 0;) {
        bool is_first = at == 0;
        char byte = next_of_pattern(pattern, &at);
        if (is_first && wanted.is_capital && byte >= 'a' && byte <= 'z')
            return false;
        if (byte == '*') /* every place from the first on */
            places |= ~(places - 1);
        else
            places = step(&wanted, places, byte);
    }
    return (places >> wanted.len & 1) != 0;
}

bool sma_pattern_may_be(struct sma_str pattern, const char *name)
{
    size_t len = strlen(name);
    return len > WANTED_BYTES_MAX || may_fit(pattern, (struct wanted){.text = name, .len = len});
}

static bool pattern_may_be(struct sma_str pattern, struct sma_str name)
{
    return may_fit(pattern, read_wanted(name));
}

static bool may_be_of_repository(struct sma_str folder, struct sma_str base)
{
    struct sma_str name;
    if (pattern_may_be(base, SMA_STR("config")))
        return true;
    if (folder.len == 0 || !pattern_may_be(folder, SMA_STR("hooks")))
        return false;
    for (const char *at = HOOKS; next_name(&at, &name);) /* mirror.git/?ooks/update, hooks/up* */
        if (pattern_may_be(base, name))
            return true;
    return false;
}

/* What a name says before its last star: *.css is no *.config.*, *.log no Dockerfile*. A name that
 * begins with a dot keeps its star. */
static struct sma_str without_open_end(struct sma_str name)
{
    while (name.len > 1 && name.ptr[0] != '.' && name.ptr[name.len - 1] == '*')
        name.len--;
    if (name.len > 1 && name.ptr[name.len - 1] == '.')
        name.len--;
    return name;
}

bool sma_pattern_may_be_in(struct sma_str pattern, const char *list, bool counts_suffixes)
{
    struct sma_str name;
    while (next_name(&list, &name))
        if ((counts_suffixes || name.ptr[name.ptr[0] == '.' && name.len > 1] != '*') &&
            pattern_may_be(pattern, without_open_end(name)))
            return true;
    return false;
}

static bool may_be_in_rows(struct sma_str pattern, bool is_below, bool is_file)
{
    bool is_bare = pattern.len > 1 && pattern.ptr[0] == '*' && pattern.ptr[1] == '.';
    for (const struct owner_row *row = ROWS; row < ROWS + SMA_COUNT_OF(ROWS); row++) {
        /* docs and a star may match another Agent.md than the agent's own */
        bool is_other = is_below && (row->is_of_top || (row->is_guide && is_bare));
        if (row->is_file == is_file && !is_other &&
            sma_pattern_may_be_in(pattern, row->names, true))
            return true;
    }
    return false;
}

bool sma_pattern_is_owner_only(struct sma_str pattern)
{
    struct sma_str part, folder = SMA_STR(""), base = SMA_STR("");
    if (sma_file_is_owner_only(pattern))
        return true;
    for (size_t at = 0; next_part(pattern, &at, &part); folder = base, base = part)
        if (may_be_in_rows(part, base.len > 0, false))
            return true;
    if (base.len == 0)
        return false;
    if (may_be_in_rows(base, folder.len > 0, true))
        return true;
    size_t literal = 0; /* Makefile.*: what stands before the wildcard is a recipe's name already */
    while (literal < base.len && memchr("*?[\\", base.ptr[literal], 4) == NULL)
        literal++;
    return sma_program_may_be_recipe(base) ||
           sma_file_recipes((struct sma_str){base.ptr, literal}) != 0 ||
           may_be_of_repository(folder, base);
}
