/*
 * programs.c — what is known about programs by name. A program that is missing here is an ordinary
 * one: it needs a rule, and a rule for it is the owner's word that its arguments are harmless.
 *
 * Source: manual pages of GNU coreutils, findutils, tar, git, and of the interpreters named.
 */
#include "shell_priv.h"

#include <stdlib.h>

/* Sorted by strcmp, for bsearch; the test of this folder checks the order. */
static const struct program PROGRAMS[] = {
    {".", PROGRAM_SHELL},
    {":", PROGRAM_NEUTRAL},
    {"R", PROGRAM_INTERPRETER},
    {"Rscript", PROGRAM_INTERPRETER},
    {"[", PROGRAM_NEUTRAL},
    {"alias", PROGRAM_OPAQUE},
    {"ash", PROGRAM_SHELL},
    {"at", PROGRAM_OPAQUE},
    {"awk", PROGRAM_AWK},
    {"basename", PROGRAM_PLAIN},
    {"bash", PROGRAM_SHELL},
    {"batch", PROGRAM_OPAQUE},
    {"bind", PROGRAM_OPAQUE},
    {"break", PROGRAM_NEUTRAL},
    {"builtin", PROGRAM_LAUNCHER},
    {"bun", PROGRAM_RUNNER},
    {"bundle", PROGRAM_RUNNER},
    {"bunx", PROGRAM_RUNNER},
    {"busybox", PROGRAM_LAUNCHER},
    {"bwrap", PROGRAM_OPAQUE},
    {"caller", PROGRAM_OPAQUE},
    {"cat", PROGRAM_PLAIN},
    {"ccache", PROGRAM_RUNNER},
    {"cd", PROGRAM_CD},
    {"chgrp", PROGRAM_WRITER},
    {"chmod", PROGRAM_WRITER},
    {"chown", PROGRAM_WRITER},
    {"chronic", PROGRAM_RUNNER},
    {"chroot", PROGRAM_LAUNCHER},
    {"chrt", PROGRAM_OPAQUE},
    {"cksum", PROGRAM_PLAIN},
    {"cmp", PROGRAM_PLAIN},
    {"comm", PROGRAM_PLAIN},
    {"command", PROGRAM_LAUNCHER},
    {"compgen", PROGRAM_OPAQUE},
    {"complete", PROGRAM_OPAQUE},
    {"compopt", PROGRAM_OPAQUE},
    {"conda", PROGRAM_RUNNER},
    {"continue", PROGRAM_NEUTRAL},
    {"cp", PROGRAM_WRITER},
    {"crontab", PROGRAM_OPAQUE},
    {"csh", PROGRAM_SHELL},
    {"csplit", PROGRAM_WRITER},
    {"cut", PROGRAM_PLAIN},
    {"daemonize", PROGRAM_RUNNER},
    {"dash", PROGRAM_SHELL},
    {"date", PROGRAM_PLAIN},
    {"dbus-run-session", PROGRAM_RUNNER},
    {"dc", PROGRAM_OPAQUE},
    {"dd", PROGRAM_WRITER},
    {"declare", PROGRAM_DECLARE},
    {"deno", PROGRAM_RUNNER},
    {"df", PROGRAM_PLAIN},
    {"diff", PROGRAM_PLAIN},
    {"direnv", PROGRAM_OPAQUE},
    {"dirname", PROGRAM_PLAIN},
    {"disown", PROGRAM_OPAQUE},
    {"doas", PROGRAM_LAUNCHER},
    {"docker", PROGRAM_RUNNER},
    {"docker-compose", PROGRAM_RUNNER},
    {"dotenv", PROGRAM_OPAQUE},
    {"du", PROGRAM_PLAIN},
    {"dumb-init", PROGRAM_RUNNER},
    {"echo", PROGRAM_PLAIN},
    {"ed", PROGRAM_OPAQUE},
    {"egrep", PROGRAM_PLAIN},
    {"emacs", PROGRAM_OPAQUE},
    {"enable", PROGRAM_OPAQUE},
    {"entr", PROGRAM_OPAQUE},
    {"env", PROGRAM_LAUNCHER},
    {"eval", PROGRAM_LAUNCHER},
    {"ex", PROGRAM_OPAQUE},
    {"exec", PROGRAM_LAUNCHER},
    {"exit", PROGRAM_NEUTRAL},
    {"expand", PROGRAM_PLAIN},
    {"expect", PROGRAM_INTERPRETER},
    {"export", PROGRAM_DECLARE},
    {"fakeroot", PROGRAM_RUNNER},
    {"false", PROGRAM_NEUTRAL},
    {"fc", PROGRAM_OPAQUE},
    {"fgrep", PROGRAM_PLAIN},
    {"file", PROGRAM_PLAIN},
    {"find", PROGRAM_FIND},
    {"firejail", PROGRAM_RUNNER},
    {"fish", PROGRAM_SHELL},
    {"flock", PROGRAM_LAUNCHER},
    {"fmt", PROGRAM_PLAIN},
    {"fold", PROGRAM_PLAIN},
    {"gawk", PROGRAM_AWK},
    {"gdb", PROGRAM_OPAQUE},
    {"getopts", PROGRAM_OPAQUE},
    {"git", PROGRAM_GIT},
    {"gnuplot", PROGRAM_INTERPRETER},
    {"gosu", PROGRAM_OPAQUE},
    {"grep", PROGRAM_PLAIN},
    {"groovy", PROGRAM_INTERPRETER},
    {"guile", PROGRAM_INTERPRETER},
    {"hash", PROGRAM_OPAQUE},
    {"head", PROGRAM_PLAIN},
    {"history", PROGRAM_OPAQUE},
    {"hostname", PROGRAM_PLAIN},
    {"hyperfine", PROGRAM_OPAQUE},
    {"id", PROGRAM_PLAIN},
    {"install", PROGRAM_WRITER},
    {"ionice", PROGRAM_LAUNCHER},
    {"irb", PROGRAM_OPAQUE},
    {"java", PROGRAM_INTERPRETER},
    {"join", PROGRAM_PLAIN},
    {"julia", PROGRAM_INTERPRETER},
    {"ksh", PROGRAM_SHELL},
    {"kubectl", PROGRAM_RUNNER},
    {"less", PROGRAM_OPAQUE},
    {"let", PROGRAM_OPAQUE},
    {"lftp", PROGRAM_OPAQUE},
    {"ln", PROGRAM_WRITER},
    {"local", PROGRAM_DECLARE},
    {"ls", PROGRAM_PLAIN},
    {"ltrace", PROGRAM_RUNNER},
    {"lua", PROGRAM_INTERPRETER},
    {"luajit", PROGRAM_INTERPRETER},
    {"m4", PROGRAM_OPAQUE},
    {"man", PROGRAM_OPAQUE},
    {"mapfile", PROGRAM_OPAQUE},
    {"mawk", PROGRAM_AWK},
    {"md5sum", PROGRAM_PLAIN},
    {"mkdir", PROGRAM_WRITER},
    {"mksh", PROGRAM_SHELL},
    {"more", PROGRAM_OPAQUE},
    {"mv", PROGRAM_WRITER},
    {"mysql", PROGRAM_OPAQUE},
    {"nano", PROGRAM_OPAQUE},
    {"nawk", PROGRAM_AWK},
    {"nc", PROGRAM_OPAQUE},
    {"ncat", PROGRAM_OPAQUE},
    {"nice", PROGRAM_LAUNCHER},
    {"nix-shell", PROGRAM_OPAQUE},
    {"nl", PROGRAM_PLAIN},
    {"node", PROGRAM_INTERPRETER},
    {"nodejs", PROGRAM_INTERPRETER},
    {"nohup", PROGRAM_LAUNCHER},
    {"npx", PROGRAM_RUNNER},
    {"nsenter", PROGRAM_OPAQUE},
    {"nvim", PROGRAM_OPAQUE},
    {"octave", PROGRAM_OPAQUE},
    {"osascript", PROGRAM_OPAQUE},
    {"parallel", PROGRAM_OPAQUE},
    {"paste", PROGRAM_PLAIN},
    {"perf", PROGRAM_OPAQUE},
    {"perl", PROGRAM_INTERPRETER},
    {"php", PROGRAM_INTERPRETER},
    {"pipenv", PROGRAM_RUNNER},
    {"pipx", PROGRAM_RUNNER},
    {"pnpx", PROGRAM_RUNNER},
    {"podman", PROGRAM_RUNNER},
    {"poetry", PROGRAM_RUNNER},
    {"popd", PROGRAM_OPAQUE},
    {"printf", PROGRAM_PLAIN},
    {"proxychains", PROGRAM_RUNNER},
    {"psql", PROGRAM_OPAQUE},
    {"pushd", PROGRAM_OPAQUE},
    {"pwd", PROGRAM_PLAIN},
    {"pwsh", PROGRAM_SHELL},
    {"pypy", PROGRAM_INTERPRETER},
    {"python", PROGRAM_INTERPRETER},
    {"rbash", PROGRAM_SHELL},
    {"read", PROGRAM_OPAQUE},
    {"readarray", PROGRAM_OPAQUE},
    {"readlink", PROGRAM_PLAIN},
    {"readonly", PROGRAM_DECLARE},
    {"realpath", PROGRAM_PLAIN},
    {"return", PROGRAM_NEUTRAL},
    {"rev", PROGRAM_PLAIN},
    {"rlwrap", PROGRAM_RUNNER},
    {"rm", PROGRAM_WRITER},
    {"rmdir", PROGRAM_WRITER},
    {"ruby", PROGRAM_INTERPRETER},
    {"runuser", PROGRAM_LAUNCHER},
    {"scala", PROGRAM_INTERPRETER},
    {"scp", PROGRAM_OPAQUE},
    {"screen", PROGRAM_OPAQUE},
    {"script", PROGRAM_OPAQUE},
    {"sed", PROGRAM_SED},
    {"seq", PROGRAM_PLAIN},
    {"set", PROGRAM_OPAQUE},
    {"setarch", PROGRAM_OPAQUE},
    {"setpriv", PROGRAM_OPAQUE},
    {"setsid", PROGRAM_LAUNCHER},
    {"sftp", PROGRAM_OPAQUE},
    {"sh", PROGRAM_SHELL},
    {"sha1sum", PROGRAM_PLAIN},
    {"sha256sum", PROGRAM_PLAIN},
    {"sha512sum", PROGRAM_PLAIN},
    {"shift", PROGRAM_NEUTRAL},
    {"shopt", PROGRAM_OPAQUE},
    {"sleep", PROGRAM_PLAIN},
    {"socat", PROGRAM_OPAQUE},
    {"sort", PROGRAM_PLAIN},
    {"source", PROGRAM_SHELL},
    {"split", PROGRAM_WRITER},
    {"sqlite3", PROGRAM_OPAQUE},
    {"ssh", PROGRAM_LAUNCHER},
    {"start-stop-daemon", PROGRAM_OPAQUE},
    {"stat", PROGRAM_PLAIN},
    {"stdbuf", PROGRAM_LAUNCHER},
    {"strace", PROGRAM_RUNNER},
    {"su", PROGRAM_LAUNCHER},
    {"sudo", PROGRAM_LAUNCHER},
    {"suspend", PROGRAM_OPAQUE},
    {"systemd-run", PROGRAM_OPAQUE},
    {"tac", PROGRAM_PLAIN},
    {"tail", PROGRAM_PLAIN},
    {"taskset", PROGRAM_OPAQUE},
    {"tclsh", PROGRAM_INTERPRETER},
    {"tcsh", PROGRAM_SHELL},
    {"tee", PROGRAM_WRITER},
    {"telnet", PROGRAM_OPAQUE},
    {"test", PROGRAM_NEUTRAL},
    {"time", PROGRAM_LAUNCHER},
    {"timeout", PROGRAM_LAUNCHER},
    {"tini", PROGRAM_RUNNER},
    {"tmux", PROGRAM_OPAQUE},
    {"torsocks", PROGRAM_RUNNER},
    {"touch", PROGRAM_WRITER},
    {"toybox", PROGRAM_LAUNCHER},
    {"tr", PROGRAM_PLAIN},
    {"trap", PROGRAM_OPAQUE},
    {"true", PROGRAM_NEUTRAL},
    {"truncate", PROGRAM_WRITER},
    {"type", PROGRAM_PLAIN},
    {"typeset", PROGRAM_DECLARE},
    {"umask", PROGRAM_OPAQUE},
    {"unalias", PROGRAM_OPAQUE},
    {"uname", PROGRAM_PLAIN},
    {"unbuffer", PROGRAM_RUNNER},
    {"uniq", PROGRAM_WRITER},
    {"unlink", PROGRAM_WRITER},
    {"unset", PROGRAM_OPAQUE},
    {"unshare", PROGRAM_LAUNCHER},
    {"uv", PROGRAM_RUNNER},
    {"uvx", PROGRAM_RUNNER},
    {"valgrind", PROGRAM_RUNNER},
    {"vi", PROGRAM_OPAQUE},
    {"view", PROGRAM_OPAQUE},
    {"vim", PROGRAM_OPAQUE},
    {"wait", PROGRAM_NEUTRAL},
    {"watch", PROGRAM_LAUNCHER},
    {"wc", PROGRAM_PLAIN},
    {"which", PROGRAM_PLAIN},
    {"whoami", PROGRAM_PLAIN},
    {"wish", PROGRAM_INTERPRETER},
    {"xargs", PROGRAM_LAUNCHER},
    {"xvfb-run", PROGRAM_RUNNER},
    {"yash", PROGRAM_SHELL},
    {"zsh", PROGRAM_SHELL},
};

/* An option that is not listed makes the launcher not understood. */
static const struct launcher LAUNCHERS[] = {
    {"env", "i0v", "u", "ignore-environment null debug", "unset", 0,
     LAUNCHER_ADDS_NOTHING | LAUNCHER_ASSIGNS},
    {"timeout", "fpv", "ks", "foreground preserve-status verbose", "kill-after signal", 1,
     LAUNCHER_ADDS_NOTHING},
    {"nice", "", "n", "", "adjustment", 0, LAUNCHER_ADDS_NOTHING},
    {"ionice", "t", "cn", "ignore", "class classdata", 0, LAUNCHER_ADDS_NOTHING},
    {"nohup", "", "", "", "", 0, LAUNCHER_ADDS_NOTHING},
    {"setsid", "cfw", "", "ctty fork wait", "", 0, LAUNCHER_ADDS_NOTHING},
    {"stdbuf", "", "ioe", "", "input output error", 0, LAUNCHER_ADDS_NOTHING},
    {"time", "pv", "f", "portability verbose", "format", 0,
     LAUNCHER_ADDS_NOTHING | LAUNCHER_ASSIGNS},
    {"command", "p", "", "", "", 0, LAUNCHER_ADDS_NOTHING},
    {"builtin", "", "", "", "", 0, LAUNCHER_ADDS_NOTHING},
    /* not -l nor -a: a name that begins with a dash makes a login shell, which runs profiles
     * first */
    {"exec", "c", "", "", "", 0, LAUNCHER_ADDS_NOTHING},
    {"eval", "", "", "", "", 0, LAUNCHER_ADDS_NOTHING | LAUNCHER_EVALUATES},
    {"busybox", "", "", "", "", 0, LAUNCHER_ADDS_NOTHING},
    {"toybox", "", "", "", "", 0, LAUNCHER_ADDS_NOTHING},
    {"xargs", "0rtx", "InPLsdE", "null no-run-if-empty verbose exit",
     "replace max-lines max-args max-procs max-chars delimiter", 0,
     LAUNCHER_ADDS_NOTHING | LAUNCHER_APPENDS},
    {"watch", "bcdegtwx", "n", "beep color differences errexit chgexit no-title no-wrap",
     "interval", 0, LAUNCHER_ADDS_NOTHING | LAUNCHER_JOINS},
    {"flock", "sxenuoF", "wE", "shared exclusive nonblock unlock close no-fork",
     "timeout conflict-exit-code", 1, LAUNCHER_MAKES_FILE},
    {"sudo", "AbEHknPS", "ugpChDRrtTU", "preserve-env set-home non-interactive stdin",
     "user group host chdir", 0, LAUNCHER_ASSIGNS},
    {"doas", "Ln", "uC", "", "", 0, 0},
    {"su", "", "", "", "", 0, 0},
    {"runuser", "", "ugG", "", "user group", 0, 0},
    {"chroot", "", "", "skip-chdir", "userspec groups", 1, 0},
    {"unshare", "muinpUCTrfc", "SG", "mount uts ipc net pid user cgroup time fork map-root-user",
     "setuid setgid", 0, 0},
    {"ssh", "46AaCfGgKkMNnqsTtVvXxYy", "BbcDEIiJLlmOpQRSWw", "", "", 1, LAUNCHER_JOINS},
};

/* Files that say what a program runs, by name: whoever may write one may run anything where a rule
 * allows the program. Test files and the like are not among them: an allowed `npm test` runs the
 * project, whatever it is. A star begins a suffix. */
static const struct
{
    const char *programs, *files;
} RECIPES[] = {
    {"make gmake", "Makefile makefile GNUmakefile *.mk *.mak"},
    {"cmake ctest", "CMakeLists.txt CMakePresets.json CMakeUserPresets.json CTestTestfile.cmake "
                    "CTestCustom.cmake *.cmake"},
    {"ninja", "build.ninja *.ninja"},
    {"npm npx pnpm yarn node nodejs bun bunx deno tsc jest vitest eslint prettier gulp grunt karma",
     "package.json deno.json deno.jsonc import_map.json bunfig.toml pnpm-workspace.yaml "
     "pnpmfile.cjs *.config.js *.config.cjs *.config.mjs *.config.ts *.config.mts *.config.cts "
     "babel.config.json jest.config.json vitest.workspace.ts tsconfig.json turbo.json nx.json "
     "lerna.json binding.gyp gulpfile.js gulpfile.mjs gulpfile.cjs gulpfile.ts Gruntfile.js "
     "Gruntfile.cjs Gruntfile.coffee karma.conf.js karma.conf.cjs karma.conf.ts"},
    {"pytest python python3 pip pip3 pipx pipenv poetry uv uvx tox nox mypy pylint",
     "conftest.py setup.py setup.cfg pyproject.toml tox.ini pytest.ini noxfile.py tox.toml uv.toml "
     "sitecustomize.py usercustomize.py Pipfile pip.conf mypy.ini pylintrc pylintrc.toml"},
    {"cargo rustc rustup", "Cargo.toml build.rs rust-toolchain rust-toolchain.toml"},
    {"go", "go.work go.mod"},
    {"rake bundle ruby rspec",
     "Rakefile rakefile Rakefile.rb rakefile.rb *.rake Gemfile gems.rb *.gemspec"},
    {"gradle gradlew mvn ant", "*.gradle *.gradle.kts gradle.properties gradle-wrapper.properties "
                               "gradlew mvnw pom.xml build.xml"},
    {"composer php", "composer.json"},
    {"just", "justfile Justfile *.just"},
    {"task", "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml Taskfile.dist.yml "
             "Taskfile.dist.yaml taskfile.dist.yml taskfile.dist.yaml"},
    {"docker docker-compose podman",
     "Dockerfile Containerfile *.dockerfile *.Dockerfile compose.yml compose.yaml "
     "compose.override.yml compose.override.yaml docker-compose.yml docker-compose.yaml "
     "docker-compose.override.yml docker-compose.override.yaml docker-bake.hcl docker-bake.json"},
    {"meson", "meson.build meson_options.txt meson.options"},
    {"bazel", "BUILD BUILD.bazel WORKSPACE WORKSPACE.bazel MODULE.bazel *.bzl"},
    {"vagrant", "Vagrantfile"},
    {"tilt skaffold earthly foreman overmind",
     "Tiltfile skaffold.yaml skaffold.yml Earthfile Procfile"},
    {"nix nix-build nix-shell nixos-rebuild", "flake.nix shell.nix default.nix"},
    {"mage zig xmake premake5", "magefile.go build.zig xmake.lua premake5.lua"},
    {"mix rebar3", "mix.exs rebar.config rebar.config.script"},
    {"sbt swift dart flutter", "*.sbt build.properties Package.swift pubspec.yaml"},
    {"dotnet msbuild", "*.csproj *.fsproj *.vbproj Directory.Build.props Directory.Build.targets"},
    {"scons", "SConstruct Sconstruct sconstruct SConscript"},
    {"autoconf autoreconf automake aclocal configure", "configure.ac configure.in Makefile.am "
                                                       "aclocal.m4"},
};

static bool is_listed_file(const char *list, struct sma_str file)
{
    while (*list != '\0') {
        const char *end = strchrnul(list, ' ');
        struct sma_str name = {list, (size_t)(end - list)};
        if (name.ptr[0] == '*') {
            name = (struct sma_str){name.ptr + 1, name.len - 1};
            if (file.len > name.len &&
                memcmp(file.ptr + file.len - name.len, name.ptr, name.len) == 0)
                return true;
        } else if (sma_str_is_equal(file, name)) {
            return true;
        }
        list = *end == '\0' ? end : end + 1;
    }
    return false;
}

uint32_t sma_program_recipes(struct sma_str file)
{
    _Static_assert(SMA_COUNT_OF(RECIPES) <= 32, "a bit each");
    uint32_t recipes = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(RECIPES); i++)
        if (is_listed_file(RECIPES[i].files, file))
            recipes |= UINT32_C(1) << i;
    return recipes;
}

bool sma_program_may_be_recipe(struct sma_str pattern)
{
    for (size_t i = 0; i < SMA_COUNT_OF(RECIPES); i++)
        for (const char *at = RECIPES[i].files; *at != '\0';) {
            size_t len = strcspn(at, " ");
            char name[64];
            SMA_ASSERT(len < sizeof name);
            memcpy(name, at, len);
            name[len] = '\0';
            if (sma_pattern_may_be(pattern, name))
                return true;
            at += len + (at[len] == ' ');
        }
    return false;
}

bool sma_program_has_recipes(struct sma_str program)
{
    return sma_program_reads(program, UINT32_MAX >> (32 - SMA_COUNT_OF(RECIPES)));
}

bool sma_program_reads(struct sma_str program, uint32_t recipes)
{
    program = sma_program_base(program);
    for (size_t i = 0; recipes != 0; i++, recipes >>= 1)
        if ((recipes & 1) != 0 && sma_list_has(RECIPES[i].programs, program))
            return true;
    return false;
}

struct sma_str sma_program_base(struct sma_str path)
{
    for (size_t i = path.len; i > 0; i--)
        if (path.ptr[i - 1] == '/')
            return (struct sma_str){path.ptr + i, path.len - i};
    return path;
}

static int compare(const void *key, const void *row)
{
    const struct sma_str *name = key;
    const struct program *program = row;
    int order = strncmp(name->ptr, program->name, name->len);
    return order != 0 ? order : -(program->name[name->len] != '\0');
}

static const struct program *find_program(struct sma_str name)
{
    if (name.len == 0 || memchr(name.ptr, '\0', name.len) != NULL)
        return NULL;
    return bsearch(&name, PROGRAMS, SMA_COUNT_OF(PROGRAMS), sizeof PROGRAMS[0], compare);
}

enum program_kind sma_program_kind(struct sma_str base)
{
    const struct program *program = find_program(base);
    if (program != NULL)
        return program->kind;
    /* python3.11, perl5, bash-5.2: a version changes nothing about what it is */
    size_t len = base.len;
    while (len > 0 && strchr("0123456789.-", base.ptr[len - 1]) != NULL)
        len--;
    program = len == base.len ? NULL : find_program((struct sma_str){base.ptr, len});
    if (program == NULL || (program->kind != PROGRAM_SHELL &&
                            program->kind != PROGRAM_INTERPRETER && program->kind != PROGRAM_AWK))
        return PROGRAM_OTHER;
    return program->kind;
}

bool sma_programs_are_sorted(void)
{
    for (size_t i = 1; i < SMA_COUNT_OF(PROGRAMS); i++) {
        bool needs_launcher = PROGRAMS[i].kind == PROGRAM_LAUNCHER;
        if (strcmp(PROGRAMS[i - 1].name, PROGRAMS[i].name) >= 0 ||
            (needs_launcher && sma_program_launcher(sma_str(PROGRAMS[i].name)) == NULL))
            return false;
    }
    return true;
}

const struct launcher *sma_program_launcher(struct sma_str base)
{
    for (size_t i = 0; i < SMA_COUNT_OF(LAUNCHERS); i++)
        if (sma_str_is_equal(base, sma_str(LAUNCHERS[i].name)))
            return &LAUNCHERS[i];
    return NULL;
}

bool sma_list_has(const char *list, struct sma_str word)
{
    while (*list != '\0') {
        const char *end = strchrnul(list, ' ');
        if (sma_str_is_equal((struct sma_str){list, (size_t)(end - list)}, word))
            return true;
        list = *end == '\0' ? end : end + 1;
    }
    return false;
}
