/*
 * Aim: what a command writes is judged, however it says so: what only owners may change and what
 * rules run is asked about, a plain file is as free as the caller says, and what cannot be told is
 * asked.
 * Method: tables of commands against an allow list under which each program runs without a
 * question.
 */
#include "runtime/policy/owner_files.h"
#include "runtime/policy/policy.h"
#include "runtime/policy/shell.h"
#include "support/check.h"

static struct sma_shell *shell;

static const char RULES[] =
    "{\"exec_shell\":{\"deny\":[],\"allow\":[\"find\",\"git\",\"cat\",\"ls\","
    "\"echo\",\"printf\",\"cp\",\"mv\",\"tee\","
    "\"sed\",\"split\",\"tar\",\"touch\",\"mkdir\",\"ln\",\"install\","
    "\"dd\",\"truncate\",\"rm\",\"chmod\",\"sort\","
    "\"make\",\"npm test\",\"python3 scripts/report.py\",\"cd\"]}}";

static enum sma_policy_write say(void *user, struct sma_str path)
{
    const enum sma_policy_write *answer = user;
    CHECK(path.len > 0 && path.ptr[0] != '/' && memmem(path.ptr, path.len, "../", 3) == NULL);
    return *answer;
}

static struct sma_policy_decision decide(const char *command, enum sma_policy_write answer,
                                         bool has_answer)
{
    struct sma_policy *policy = NULL;
    struct sma_error error = {0};
    CHECK_OK(sma_policy_load(RULES, &policy, &error));
    struct sma_policy_query query = {.command = sma_str(command),
                                     .project_dir = SMA_STR("/project"),
                                     .may_write = has_answer ? say : NULL,
                                     .user = &answer};
    struct sma_policy_decision decision;
    sma_policy_decide(policy, shell, &query, &decision);
    sma_policy_destroy(policy);
    return decision;
}

static struct sma_policy_decision decide_free(const char *command)
{
    return decide(command, SMA_POLICY_WRITE_FREE, true);
}

/* Each of them was allowed, and the next `make`, `npm test` or script ran what it had written. */
CASE(what_rules_run_is_never_written_unasked)
{
    static const char *const commands[] = {
        "cp m.txt Makefile",
        "cp m.txt Makefil?",
        "cp m.txt Makefil[e]",
        "cp m.txt [M]akefile",
        "printf x | tee Makefil[e]",
        "printf x | tee sub/GNUmakefil*",
        "sed -i s/a/b/ packag?.json",
        "sed -i s/a/b/ packag?.js*",
        "sed -i s/a/b/ scripts/*.py",
        "sed -i s/a/b/ *.json",
        "printf x > Makefile.sh",
        "printf x > Makefile,v",
        "printf x > s.Makefile",
        "printf x > makefile.c",
        "printf x > scripts/json.py",
        "printf x > scripts/json/__init__.py",
        "printf x > scripts/report.py",
        "printf x > scripts/data.csv",
        "mv scripts other",
        "mv -f other scripts",
        "printf x > Agent.md",
        "cat a.txt >> ship.json",
        "cat a.txt > ./Agent.md",
        "cat a.txt > /project/Agent.md",
        "cat a.txt > AGENT.md",
        "cd src && cat a.txt > Makefile",
        "printf x > .env",
        "printf x > .env.local",
        "printf x > .ship/skills/a.md",
        "printf x > .claude/skills/a.md",
        "printf x > .github/workflows/a.yml",
        "printf x > .gitlab-ci.yml",
        "printf x > Jenkinsfile",
        "printf x > azure-pipelines.yml",
        "printf x > .husky/pre-commit",
        "printf x > .git/hooks/pre-commit",
        "printf x > .git/config",
        "printf x > evil/config",
        "printf x > evil/hooks/update",
        "printf x > .npmrc",
        "printf x > .cargo/config.toml",
        "dd of=Makefile",
        "touch package.json",
        "truncate -s 0 Cargo.toml",
        "ln -f a.txt Makefile",
        "ln -s Makefile a.txt",
        "install a.txt Makefile",
        "chmod +x .husky/pre-commit",
        "ls > \"Makefile\"",
        "ls > Make''file",
        "ls >| Makefile",
        "ls 2> Makefile",
        "ls &> Makefile",
        "ls <> Makefile",
        "(cd sub; ls > Makefile)",
        "f() { ls > Makefile; }; f",
        "> Makefile",
        "ls > sub/package.json",
        "mkdir -p Makefile/x",
        "mv Makefile m.txt",
        "rm Makefile",
        "git mv -f m.txt Makefile",
        "git checkout HEAD~1 -- Makefile",
        "git checkout HEAD~2",
        "git checkout v1 --",
        "git checkout -b x v1",
        "git checkout -f",
        "git checkout Makefile",
        "git restore --source=x Makefile",
        "git apply m.patch",
        "split -a1 --additional-suffix=kefile m.txt M",
        "cp -b -S file a.txt Make",
        "cp -bSfile a.txt Make",
        "mv -b -Sfile a.txt Make",
        "tar cf m.tar --transform=s/m.txt/Makefile/ m.txt; tar xf m.tar",
        "tar xf m.tar",
        "tar -xvC.git -f a.tar",
        "cp -t.cargo config.toml",
        "cp -rt.git config",
        "cp -vt.ship f",
        "mv -vt.git f",
        "cp Makefile.new/Makefile .",
        "cp sub/Makefile ./",
        "cp sub/package.json /project",
        "cp -r evil/. .",
        "tee -a Makefil[e]",
        "printf Makefile | xargs -I% -n2 touch",
        "printf Makefile | xargs --replace=% --max-lines=2 touch",
        "printf Makefile | xargs -I% --max-args=2 tee",
        "printf -- '-delete' | xargs -I% -L3 find .",
        "npm test -C src",
        "npm test --prefix=src",
    };
    int bad = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        struct sma_policy_decision decision = decide_free(commands[i]);
        if (decision.verdict == SMA_POLICY_ASK)
            continue;
        fprintf(stderr, "%s: %s\n", sma_policy_verdict_name(decision.verdict), commands[i]);
        bad++;
    }
    CHECK_INT(0, bad);
}

CASE(plain_files_are_as_free_as_the_caller_says)
{
    static const char *const commands[] = {
        "cat a.txt > b.txt", "cat a.txt >> out/b.txt", "cat a.txt | tee b.txt",
        "cp a.txt b.txt",    "mv a.txt b.txt",         "touch a.txt out/b",
        "mkdir -p out/a",    "sed -i s/a/b/ a.txt",    "sed -i s/a/b/ src/*.c",
        "dd of=out.bin",     "ls > /project/out.txt",  "cd src && ls > a",
        "ls > scripts.txt",  "ls > src/json.py",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        struct sma_policy_decision decision = decide_free(commands[i]);
        if (decision.verdict != SMA_POLICY_ALLOW)
            fprintf(stderr, "%s: %s: %s\n", commands[i], decision.program, decision.reason);
        CHECK_INT(SMA_POLICY_ALLOW, decision.verdict);
        CHECK_INT(SMA_POLICY_ASK, decide(commands[i], SMA_POLICY_WRITE_ASKED, true).verdict);
        CHECK_INT(SMA_POLICY_ASK, decide(commands[i], SMA_POLICY_WRITE_FREE, false).verdict);
        decision = decide(commands[i], SMA_POLICY_WRITE_OWNER, true);
        CHECK(decision.verdict == SMA_POLICY_ASK && decision.is_owner_only);
        CHECK(decide(commands[i], SMA_POLICY_WRITE_REFUSED, true).verdict != SMA_POLICY_ALLOW);
    }
    CHECK_INT(SMA_POLICY_REFUSE, decide("ls > a", SMA_POLICY_WRITE_REFUSED, true).verdict);
    CHECK_INT(SMA_POLICY_ALLOW, decide("ls > /dev/null", SMA_POLICY_WRITE_REFUSED, true).verdict);
    CHECK_TEXT("permissions.write_repo", decide("ls > a", SMA_POLICY_WRITE_ASKED, true).rule);
}

CASE(what_cannot_be_told_is_asked)
{
    static const char *const commands[] = {
        "ls > $x",        "ls > \"$x\"",  "ls > out-$x",  "ls > ~/a", "ls > a{b,c}",
        "ls > ../a",      "ls > a/../b",  "ls > /etc/a",  "ls > ''",  "sed -i s/a/b/ *",
        "cp a.txt [^x]*", "cp a .[^e]nv", "tee */config",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        if (decide_free(commands[i]).verdict != SMA_POLICY_ASK)
            fprintf(stderr, "%s\n", commands[i]);
        CHECK_INT(SMA_POLICY_ASK, decide_free(commands[i]).verdict);
    }
}

/* What a pattern may stand for, however shells read it. */
CASE(patterns_and_braces_read_no_secret)
{
    static const char *const commands[] = {
        "cat .[^e]nv",         "cat .[!x]nv",        "cat .e*.staging",  "cat .?nv*",
        "cat .env[.]local",    "cat src/../.e{nv,}", "cat src/.e{nv,x}", "cat src/{.e,x}nv",
        "cat src/{a,}.env",    "cat .s[^x]ip/a",     "cat [^a]hip.json", "cat sh*.json",
        "cat src/{x,../.en}v",
    };
    static const char *const fine[] = {"cat src/{a,b}.c", "cat *.c", "cat .giti*", "ls .e*",
                                       "cat [!a]*.txt"};
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        if (decide_free(commands[i]).verdict != SMA_POLICY_ASK)
            fprintf(stderr, "%s\n", commands[i]);
        CHECK_INT(SMA_POLICY_ASK, decide_free(commands[i]).verdict);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(fine); i++) {
        if (decide_free(fine[i]).verdict != SMA_POLICY_ALLOW)
            fprintf(stderr, "asked: %s\n", fine[i]);
        CHECK_INT(SMA_POLICY_ALLOW, decide_free(fine[i]).verdict);
    }
}

CASE(files_of_owners_are_known_by_name)
{
    static const char *const owners[] = {"Agent.md",
                                         "agent.MD",
                                         "ship.json",
                                         "sub/ship.json",
                                         ".env",
                                         ".ENV.local",
                                         ".envrc",
                                         ".ship/a",
                                         ".git/config",
                                         ".git",
                                         "a/.github/b/c",
                                         ".gitlab-ci.yml",
                                         ".circleci/config.yml",
                                         "Jenkinsfile",
                                         ".husky/_/x",
                                         "Makefile",
                                         "a/b/Makefile",
                                         "Makefile.am",
                                         "GNUmakefile",
                                         "x.mk",
                                         "package.json",
                                         "package.json.bak",
                                         "setup.py",
                                         "Dockerfile.dev",
                                         "./Makefile",
                                         "a//Makefile",
                                         "/project/Makefile",
                                         "repo/hooks/post-receive",
                                         "config",
                                         ".npmrc",
                                         "CLAUDE.md",
                                         "sub/claude.md",
                                         "AGENTS.md",
                                         "GEMINI.md",
                                         ".cursorrules",
                                         ".cursor/rules/a.mdc",
                                         ".windsurfrules",
                                         ".github/copilot-instructions.md",
                                         "a/b.instructions.md",
                                         ".mcp.json",
                                         "mise.toml",
                                         "mise.local.toml",
                                         "x.env",
                                         "deploy/prod.ENV",
                                         "lib/evil.pth",
                                         "sitecustomize.py",
                                         "conftest.py",
                                         "justfile",
                                         "my.code-workspace",
                                         ".zshenv"};
    static const char *const plain[] = {"a.txt",
                                        "src/a.c",
                                        ".env.example",
                                        ".gitignore",
                                        "src/hooks/useAuth.ts",
                                        "config.yml",
                                        "config/app.yml",
                                        "Agent.md.d",
                                        "docs/claude.txt",
                                        "environment.yml",
                                        "a.environment",
                                        "prompt.md",
                                        "environment",
                                        "docs/ship.md",
                                        "",
                                        "."};
    for (size_t i = 0; i < SMA_COUNT_OF(owners); i++) {
        if (!sma_file_is_owner_only(sma_str(owners[i])))
            fprintf(stderr, "plain: %s\n", owners[i]);
        CHECK(sma_file_is_owner_only(sma_str(owners[i])));
        CHECK(sma_pattern_is_owner_only(sma_str(owners[i])));
    }
    for (size_t i = 0; i < SMA_COUNT_OF(plain); i++) {
        if (sma_file_is_owner_only(sma_str(plain[i])))
            fprintf(stderr, "an owner's: %s\n", plain[i]);
        CHECK(!sma_file_is_owner_only(sma_str(plain[i])));
    }
    static const char *const patterns[] = {"*",
                                           "M*",
                                           "*file",
                                           "*.json",
                                           "Makefile.*",
                                           ".*",
                                           ".g*",
                                           "*/config",
                                           "a/?akefile",
                                           "[M]akefile",
                                           "[[:upper:]]akefile",
                                           "[!a]*",
                                           "*.m?",
                                           "*.[mx]k",
                                           "Agen?.md",
                                           ".h[!x]sky/a",
                                           "mirror.git/?ooks/update",
                                           "a.git/hooks/up*",
                                           "*/hook[s]/post-*",
                                           "*.md",
                                           "docs/CLAU*",
                                           "docs/*NTS.md",
                                           "*.p?h",
                                           "*.e*"};
    static const char *const harmless[] = {"*.csv", "*.c", "src/*.md", "logs/*.log",
                                           "src/hooks/*.css"};
    for (size_t i = 0; i < SMA_COUNT_OF(patterns); i++) {
        if (!sma_pattern_is_owner_only(sma_str(patterns[i])))
            fprintf(stderr, "plain: %s\n", patterns[i]);
        CHECK(sma_pattern_is_owner_only(sma_str(patterns[i])));
    }
    for (size_t i = 0; i < SMA_COUNT_OF(harmless); i++) {
        if (sma_pattern_is_owner_only(sma_str(harmless[i])))
            fprintf(stderr, "an owner's: %s\n", harmless[i]);
        CHECK(!sma_pattern_is_owner_only(sma_str(harmless[i])));
    }
}

/* Blank-separated names, each looked at as it stands and below two folders. */
static int count_wrong(const char *names, bool is_owners)
{
    int bad = 0;
    for (const char *at = names; *at != '\0';) {
        char plain[128], below[160];
        int len = (int)strcspn(at, " ");
        (void)snprintf(plain, sizeof plain, "%.*s", len, at);
        (void)snprintf(below, sizeof below, "apps/web/%s", plain);
        at += len + (at[len] == ' ');
        if (sma_file_is_owner_only(sma_str(plain)) == is_owners &&
            sma_file_is_owner_only(sma_str(below)) == is_owners)
            continue;
        fprintf(stderr, "%s: %s\n", is_owners ? "free" : "an owner's", plain);
        bad++;
    }
    return bad;
}

/* What other programs run and other agents follow by its name alone. */
CASE(names_that_steer_other_programs_are_the_owners)
{
    static const char *const owners[] = {
        /* agents */
        "CONVENTIONS.md CODEBUDDY.md SOUL.md SKILL.md skill.md Claude.local.md AGENTS.override.md "
        ".aider.conf.yml .clinerules .windsurfrules .cursorrules .codebuddy/rules.md .goosehints "
        ".copilot/mcp.json HEARTBEAT.md copilot-instructions.md plan.prompt.md opencode.json",
        /* builds and tasks */
        "Rakefile Brewfile Procfile Procfile.dev Vagrantfile Jenkinsfile Jenkinsfile.groovy "
        "Fastfile "
        "Podfile Guardfile Capfile Caddyfile Snakefile Berksfile Earthfile Tiltfile Appraisalfile "
        "Xyzzyfile justfile .justfile Makefile makefile Makefile.win GNUmakefile CMakeLists.txt "
        "CMakePresets.json x.cmake meson.build BUILD BUILD.bazel WORKSPACE WORKSPACE.bazel "
        "rules.bzl "
        "build.ninja x.mk configure configure.ac Makefile.am aclocal.m4 SConstruct wscript "
        "conanfile.py vcpkg.json build.gradle build.gradle.kts settings.gradle gradle.properties "
        "gradlew pom.xml build.xml build.sbt a.csproj a.vcxproj Directory.Build.props x.targets "
        "nuget.config global.json project.clj deps.edn stack.yaml a.cabal mix.exs rebar.config "
        "dune-project Package.swift pubspec.yaml build.zig flake.nix home.nix default.nix "
        "Cargo.toml "
        "build.rs rust-toolchain.toml go.mod go.work magefile.go composer.json phpunit.xml.dist "
        "phpstan.neon Gemfile config.ru a.gemspec",
        /* Python */
        "setup.py setup.cfg pyproject.toml tox.ini noxfile.py conftest.py conf.py fabfile.py "
        "sitecustomize.py usercustomize.py evil.pth requirements.txt requirements-dev.txt "
        "dev-requirements.txt constraints.txt Pipfile pytest.ini mypy.ini mkdocs.yml mkdocs.yaml "
        "gunicorn.conf.py alembic.ini .coveragerc .pylintrc .flake8 .pdbrc "
        ".ipython/profile_default/a.py",
        /* JavaScript */
        "package.json tsconfig.json tsconfig.build.json jsconfig.json deno.json deno.jsonc "
        "bunfig.toml "
        ".npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs webpack.config.js vite.config.ts "
        "eslint.config.mjs "
        "babel.config.cjs jest.config.js prettier.config.js foo.config.kts .eslintrc .eslintrc.cjs "
        ".prettierrc.toml .swcrc .xyzzyrc .xyzzyrc.js .mocharc.yml karma.conf.js webpack.common.js "
        "gulpfile.js Gruntfile.js nodemon.json turbo.json nx.json angular.json biome.json",
        /* containers, hosts, the cloud */
        "Dockerfile Dockerfile.dev Dockerfile-prod web.dockerfile Containerfile docker-compose.yml "
        "docker-compose.override.yml docker-compose.dev.yaml compose.yaml compose.prod.yaml "
        ".devcontainer/devcontainer.json devcontainer.config.json skaffold.yaml Chart.yaml "
        "Pulumi.yaml "
        "Pulumi.dev.yaml main.tf prod.tfvars terragrunt.hcl ansible.cfg playbook.yml "
        "serverless.yml "
        "fly.toml wrangler.toml netlify.toml vercel.json firebase.json render.yaml app.yaml "
        "bot.service bot.timer a.desktop com.x.plist nginx.conf supervisord.conf crontab",
        /* hooks, CI */
        ".github/workflows/a.yml .gitlab-ci.yml .circleci/config.yml .travis.yml .drone.yml "
        "azure-pipelines.yml bitbucket-pipelines.yml cloudbuild.yaml buildspec.yml appveyor.yml "
        ".pre-commit-config.yaml lefthook.yml .lefthook-local.yml .husky/pre-push .gitattributes "
        ".gitmodules renovate.json",
        /* editors, shells, interpreters */
        ".vscode/tasks.json .idea/workspace.xml x.code-workspace .vimrc .exrc .nvimrc .nvim.lua "
        "_vimrc .emacs .dir-locals.el .gdbinit .lldbinit .Rprofile .irbrc .pryrc .ghci .bashrc "
        ".bash_aliases .zshenv .zlogout .profile .xprofile .tmux.conf .inputrc .psqlrc .config/a/b "
        ".envrc .tool-versions mise.toml mise.prod.toml .mise.toml devbox.json .golangci.yml "
        ".goreleaser.yaml .readthedocs.yaml .rubocop.yml .htaccess .user.ini"};
    static const char *const plain[] = {
        "README.md CHANGELOG.md CONTRIBUTING.md LICENSE NOTICE NEWS.md notes.md notes/monday.md "
        "docs/configuration.md docs/build.md docs/makefile.md docs/dockerfile.md BUILDING.md "
        "rules.md agents.txt skills.md profile.md Conventions.txt",
        "src/main.c src/file.c src/profile.c src/config.h src/config.py src/app.py src/index.js "
        "src/index.ts src/App.tsx src/Profile.tsx src/UserProfile.java src/hero.service.ts "
        "src/build/out.o lib/util.rb lib/a.lua cmd/main.go src/lib.rs include/a.hpp "
        "tests/test_a.py "
        "tests/a.spec.ts a.test.js a.sh a.pl a.php a.sql a.cs a.swift a.kt a.ex a.hs a.scala",
        "data.json data/package-data.json config.yml config/app.yml settings.json locale/de.json "
        "report.csv report.html index.html style.css logo.svg photo.png a.pdf a.txt a.xml a.toml "
        "a.yaml a.ipynb a.bin a.zip a.log out/b build/index.html workspace/a.txt targets/a.csv "
        "inventory/items.json configure/a.md file files/a.txt profile logfile outfile myfile.txt "
        "a.environment environment hooks/useAuth.ts service/a.ts desktop/a.ts deps/a.c nix/a.md",
        ".env.example .gitignore .gitkeep .dockerignore .npmignore .editorconfig .nojekyll "
        ".prettierignore .cache/a .well-known/security.txt invoice.2024.csv v1.2.3.md"};
    for (size_t i = 0; i < SMA_COUNT_OF(owners); i++)
        CHECK_INT(0, count_wrong(owners[i], true));
    for (size_t i = 0; i < SMA_COUNT_OF(plain); i++)
        CHECK_INT(0, count_wrong(plain[i], false));
    static const char *const asked[] = {"tee apps/web/eslint.config.?js",
                                        "cp a.js *.config.[cm]js",
                                        "tee Rakefil?",
                                        "tee .x*rc",
                                        "tee docker-compose.*.yml",
                                        "touch requirements-*.txt",
                                        "tee [A-Z]rocfile",
                                        "tee a.t[f]"};
    for (size_t i = 0; i < SMA_COUNT_OF(asked); i++)
        CHECK(decide_free(asked[i]).verdict == SMA_POLICY_ASK &&
              decide_free(asked[i]).is_owner_only);
    CHECK_TEXT("build servers run what it says", sma_file_owner_reason(SMA_STR("a/.travis.yml")));
    CHECK(sma_file_owner_reason(SMA_STR("a/b.txt")) == NULL);
}

CASE(the_decision_says_when_only_an_owner_may_agree)
{
    static const char *const owners[] = {"ls > Agent.md", "unknown > ship.json", "cp a Makefil?",
                                         "mv a .github/x", "ls > scripts/json.py"};
    static const char *const others[] = {"unknown", "ls > $x", "ls > a", "cat Makefile",
                                         "unknown Agent.md"};
    for (size_t i = 0; i < SMA_COUNT_OF(owners); i++) {
        struct sma_policy_decision decision = decide_free(owners[i]);
        if (decision.verdict != SMA_POLICY_ASK || !decision.is_owner_only)
            fprintf(stderr, "%s\n", owners[i]);
        CHECK(decision.verdict == SMA_POLICY_ASK && decision.is_owner_only);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++) {
        if (decide_free(others[i]).is_owner_only)
            fprintf(stderr, "%s\n", others[i]);
        CHECK(!decide_free(others[i]).is_owner_only);
    }
}

/* The owner's rule is his word for what `git pull` brings, but for nothing that runs beside it. */
CASE(a_rule_for_a_writer_opens_his_files)
{
    static const struct
    {
        const char *command;
        bool is_ruled;
    } rows[] = {{"git pull", true},
                {"git pull --ff-only", true},
                {"git pull && git status", false},
                {"git status", false},
                {"ls > a", false},
                {"touch a", false},
                {"cp a.txt b.txt", false},
                {"git pull | cat", false}};
    struct sma_policy *policy = NULL;
    struct sma_error error = {0};
    enum sma_policy_write answer = SMA_POLICY_WRITE_FREE;
    CHECK_OK(sma_policy_load("{\"exec_shell\":{\"allow\":[\"git pull\",\"git "
                             "status\",\"ls\",\"touch\",\"cp\",\"cat\"]}}",
                             &policy, &error));
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_policy_query query = {.command = sma_str(rows[i].command),
                                         .project_dir = SMA_STR("/project"),
                                         .may_write = say,
                                         .user = &answer};
        struct sma_policy_decision decision;
        sma_policy_decide(policy, shell, &query, &decision);
        if (decision.verdict != SMA_POLICY_ALLOW || decision.is_owner_ruled != rows[i].is_ruled)
            fprintf(stderr, "%s: %s\n", rows[i].command, decision.reason);
        CHECK(decision.verdict == SMA_POLICY_ALLOW && decision.is_owner_ruled == rows[i].is_ruled);
    }
    sma_policy_destroy(policy);
}

/* No rule may be `flock` alone, but where everything understood runs it made any file, empty. */
CASE(the_file_of_a_lock_is_written)
{
    static const struct
    {
        const char *command;
        enum sma_policy_verdict verdict;
    } rows[] = {
        {"flock a.lock cat a.txt", SMA_POLICY_ALLOW},
        {"flock rust-toolchain cat a.txt", SMA_POLICY_ASK},
        {"flock -n .git/hooks/update cat a.txt", SMA_POLICY_ASK},
        {"flock -w 1 ../x cat a.txt", SMA_POLICY_ASK},
    };
    enum sma_policy_write answer = SMA_POLICY_WRITE_FREE;
    struct sma_policy *policy = NULL;
    struct sma_error error = {0};
    CHECK_OK(sma_policy_load("{\"exec_shell\":true}", &policy, &error));
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_policy_query query = {.command = sma_str(rows[i].command),
                                         .project_dir = SMA_STR("/project"),
                                         .may_write = say,
                                         .user = &answer};
        struct sma_policy_decision decision;
        sma_policy_decide(policy, shell, &query, &decision);
        if (decision.verdict != rows[i].verdict)
            fprintf(stderr, "%s: %s\n", rows[i].command, decision.reason);
        CHECK_INT(rows[i].verdict, decision.verdict);
    }
    sma_policy_destroy(policy);
}

int main(void)
{
    shell = sma_shell_create();
    CHECK(shell != NULL);
    check_run_cases(NULL);
    sma_shell_destroy(shell);
    return check_summary();
}
