/*
 * program_files.c — what an entry of mcp.json runs, as files and folders of the project.
 *
 * The words are read as the policy reads a command (shell.h), so that `sh -c`, `env`, `timeout` and
 * the like are looked through. A word counts as code by where it stands (the program, the script of
 * an interpreter, the value of an option of the tables below) or, where it names a file that is
 * there, unless its name says that it is data. Not known: what a recipe (make, npm run) starts in
 * turn, but for the scripts of package.json; the recipe itself is the owner's by its name.
 * Source: manual pages of the programs named.
 */
#include "decisive_priv.h"
#include "runtime/mcp/mcp_config.h"
#include "runtime/policy/programs.h"
#include "runtime/policy/shell.h"
#include "sma/beneath.h"
#include "sma/text.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASE_COUNT_MAX 8 /* folders in which the program may be started */
#define NODE_PACKAGES "node_modules"
#define RECIPE_DEPTH_MAX 3       /* a script of package.json that runs another */
#define RECIPE_BYTES_MAX 1048576 /* of package.json */

/* A file of these is not what a program runs, unless an option of the next table says so. */
static const char DATA_SUFFIXES[] = "db sqlite sqlite3 db3 duckdb csv tsv json jsonl ndjson log "
                                    "txt md rst html htm xml pdf png jpg "
                                    "jpeg gif webp svg mp3 mp4 wav ogg parquet arrow feather lance "
                                    "faiss idx index bin dat tmp lock "
                                    "pid sock pem crt cer key pub gz xz zst tar";

/* Options whose value is code or steers it, whatever the program; without their dashes. */
static const char CODE_OPTIONS[] =
    "config config-file conf configuration settings tools-file env-file plugin plugins script "
    "init-file rcfile preload require import loader experimental-loader import-map";

/* Options whose value is a folder of code, or the folder where the program begins. */
static const struct
{
    const char *programs, *options;
} FOLDER_OPTIONS[] = {
    {"uv uvx poetry", "directory project C"},
    {"npm npx pnpm yarn bun bunx", "prefix C dir cwd"},
    {"make gmake ninja go cargo just task", "C directory manifest-path working-directory dir"},
    {"java", "cp classpath class-path p module-path jar"},
    {"node nodejs deno", "r require import loader experimental-loader c config"},
    {"ruby perl", "I r M"},
    {"php lua luajit", "c d l"},
    {"dotnet", "project"},
    {"env", "C chdir"},
    {"docker podman docker-compose", "f file"},
};

/* Programs that make what they run from all files of a kind, in the folder where they begin. */
static const struct
{
    const char *programs, *suffixes;
} BUILDERS[] = {
    {"go", "go mod sum"},
    {"cargo", "rs toml"},
    {"dotnet", "cs fs vb csproj fsproj vbproj"},
    {"gradle gradlew mvn mvnw", "java kt kts groovy scala"},
    {"mix elixir", "ex exs"},
    {"swift", "swift"},
    {"zig", "zig"},
    {"uv poetry hatch pdm rye pipenv", "py pyi pyd so pth"},
};

/* Where programs look for packages before they fetch any, in the folder where they begin and (node)
 * in those above their script, and the settings that say how: what comes to lie there runs. */
static const struct
{
    const char *programs, *name;
    bool is_file;
} AWAITED[] = {
    {"npx npm pnpm pnpx yarn bun bunx deno node nodejs tsx ts-node", NODE_PACKAGES, false},
    {"uv poetry pipenv pdm rye", SMA_DECISIVE_VENV, false},
    {"pipx pdm", "__pypackages__", false},
    {"npx npm pnpm pnpx yarn bun bunx deno", "package.json", true},
    {"npx npm pnpm pnpx bun bunx deno", ".npmrc", true},
    {"bun bunx", "bunfig.toml", true},
    {"yarn", ".yarnrc.yml", true},
};

/* Variables that name code: lists of paths, or words with options. */
static const char CODE_VARIABLES[] =
    "PATH PYTHONPATH PYTHONSTARTUP PYTHONHOME NODE_PATH NODE_OPTIONS RUBYLIB RUBYOPT PERL5LIB "
    "PERL5OPT PERLLIB LD_PRELOAD LD_LIBRARY_PATH CLASSPATH JAVA_TOOL_OPTIONS BASH_ENV ENV LUA_PATH "
    "LUA_CPATH LUA_INIT PHPRC PHP_INI_SCAN_DIR GOFLAGS VIRTUAL_ENV UV_PROJECT "
    "UV_PROJECT_ENVIRONMENT "
    "BUN_CONFIG DENO_CONFIG NPM_CONFIG_PREFIX SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS";

struct finding
{
    struct sma_decisive_list *list;
    const char *project_dir;
    const struct sma_mcp_config_server *server;
    char bases[BASE_COUNT_MAX][PATH_MAX]; /* absolute; the first is the project */
    size_t base_count;
    unsigned depth;   /* of recipes */
    bool is_held_off; /* from packages that come later */
};

enum weight
{
    BY_LOOK, /* where it names a file that is there and looks like no data */
    IS_CODE, /* a file that is there, whatever it is called, or a folder of code */
    IS_RUN,  /* the program itself, or its script: also what is not there yet */
};

/* -- places ------------------------------------------------------------------------------------ */
static void add_item(struct finding *finding, const char *path, const char *suffixes,
                     bool is_library, bool is_awaited)
{
    struct sma_decisive item = {.path = path,
                                .suffixes = suffixes,
                                .server = finding->server->name,
                                .is_library = is_library,
                                .is_awaited = is_awaited && !finding->server->is_sandboxed,
                                /* it stays between walls itself */
                                .is_unwalled = is_library && finding->server->is_sandboxed};
    (void)sma_decisive_add(finding->list, finding->project_dir,
                           &item); /* outside: not its matter */
}

static void add(struct finding *finding, const char *path, const char *suffixes, bool is_library)
{
    add_item(finding, path, suffixes, is_library, false);
}

/* And what a link of that name leads to. */
static void add_awaited(struct finding *finding, const char *path, bool is_file)
{
    const char *suffixes = is_file ? NULL : SMA_DECISIVE_ALL;
    char real[PATH_MAX];
    add_item(finding, path, suffixes, !is_file, true);
    if (realpath(path, real) != NULL)
        add_item(finding, real, suffixes, !is_file, true);
}

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_MAX && access(path, F_OK) == 0;
}

/* Packages: a venv in whose bin it lies; node_modules beside it and above. */
static void add_libraries(struct finding *finding, const char *file, const char *suffixes)
{
    char folder[PATH_MAX], modules[PATH_MAX];
    bool is_node = suffixes != NULL && sma_list_has(suffixes, SMA_STR("mjs"));
    (void)snprintf(folder, sizeof folder, "%s", file);
    for (char *slash; (slash = strrchr(folder, '/')) != NULL && slash != folder;) {
        *slash = '\0';
        if (!decisive_is_inside(folder, finding->project_dir))
            return;
        if (is_there(folder, "pyvenv.cfg"))
            add(finding, folder, SMA_DECISIVE_ALL, true);
        if (is_node && (finding->is_held_off || is_there(folder, NODE_PACKAGES)) &&
            snprintf(modules, sizeof modules, "%s/" NODE_PACKAGES, folder) < PATH_MAX)
            add_awaited(finding, modules, false);
    }
}

/* A file of code, and the folder from which it loads others. */
static void add_file(struct finding *finding, const char *path, struct sma_str program)
{
    char folder[PATH_MAX];
    struct sma_str suffix = sma_path_suffix(sma_str(path));
    const char *suffixes = sma_script_suffixes(program, sma_str(path));
    bool is_language = sma_list_has(suffixes, suffix) || suffix.len == 0;
    add(finding, path, NULL, false);
    add_libraries(finding, path, suffixes);
    (void)snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder || !is_language)
        return;
    *slash = '\0';
    if (decisive_is_inside(folder, finding->project_dir))
        add(finding, folder, suffixes, false);
}

static void add_base(struct finding *finding, const char *path)
{
    for (size_t i = 0; i < finding->base_count; i++)
        if (strcmp(finding->bases[i], path) == 0)
            return;
    if (finding->base_count < BASE_COUNT_MAX)
        (void)snprintf(finding->bases[finding->base_count++], PATH_MAX, "%s", path);
}

/* No suffix, no data: what may be executed or says what executes it is code. */
static bool looks_like_code(const char *path, const struct stat *facts)
{
    struct sma_str suffix = sma_path_suffix(sma_str(path));
    if (suffix.len > 0)
        return !sma_list_has(DATA_SUFFIXES, suffix);
    return (facts->st_mode & 0111) != 0;
}

/* What lies at `path`, and, where that is a link or behind one, what it leads to. */
static bool take_place(struct finding *finding, const char *path, struct sma_str program,
                       enum weight weight)
{
    struct stat facts;
    char real[PATH_MAX];
    bool is_real = stat(path, &facts) == 0;
    if (!decisive_is_inside(path, finding->project_dir))
        return is_real;
    bool is_folder = is_real && S_ISDIR(facts.st_mode);
    if (is_folder ? weight == BY_LOOK
                  : !is_real || (weight == BY_LOOK && !looks_like_code(path, &facts)))
        return is_real;
    for (int i = 0; i < 2; i++) {
        const char *at = i == 0 ? path : real;
        if (i > 0 && (realpath(path, real) == NULL || strcmp(real, path) == 0 ||
                      !decisive_is_inside(real, finding->project_dir)))
            break;
        if (is_folder && strcmp(at, finding->project_dir) != 0) {
            add(finding, at, SMA_DECISIVE_ALL, false);
            add_libraries(finding, at, NULL);
        } else if (!is_folder) {
            add_file(finding, at, program);
        }
        if (is_folder)
            add_base(finding, at);
    }
    return true;
}

/* A word that may name a place, from every folder in which the program may begin. */
static void take_word(struct finding *finding, struct sma_str word, struct sma_str program,
                      enum weight weight)
{
    static const char *const endings[] = {"", ".js", ".py", ".mjs", ".cjs", ".ts"};
    bool is_found = false, is_absolute = word.len > 0 && word.ptr[0] == '/';
    char path[PATH_MAX];
    if (word.len == 0 || word.len >= PATH_MAX / 2)
        return;
    size_t count = finding->base_count; /* a folder that is found now is one for the next words */
    for (size_t i = 0; i < (is_absolute ? 1 : count); i++)
        for (size_t k = 0; k < (weight == BY_LOOK ? 1 : SMA_COUNT_OF(endings)); k++)
            if (snprintf(path, sizeof path, "%s%s%.*s%s", is_absolute ? "" : finding->bases[i],
                         is_absolute ? "" : "/", (int)word.len, word.ptr, endings[k]) < PATH_MAX)
                is_found |= take_place(finding, path, program, weight);
    if (is_found || weight != IS_RUN)
        return;
    if (snprintf(path, sizeof path, "%s%s%.*s", is_absolute ? "" : finding->bases[0],
                 is_absolute ? "" : "/", (int)word.len, word.ptr) < PATH_MAX)
        add_file(finding, path, program);
}

/* cd folder: what follows begins there. */
static void take_start(struct finding *finding, struct sma_str word)
{
    char path[PATH_MAX];
    struct stat facts;
    bool is_absolute = word.len > 0 && word.ptr[0] == '/';
    if (snprintf(path, sizeof path, "%s%s%.*s", is_absolute ? "" : finding->bases[0],
                 is_absolute ? "" : "/", (int)word.len, word.ptr) < PATH_MAX &&
        decisive_is_inside(path, finding->project_dir) && stat(path, &facts) == 0 &&
        S_ISDIR(facts.st_mode))
        add_base(finding, path);
}

/* python3 -m tools.server: tools/server.py or the package tools. */
static void take_module(struct finding *finding, struct sma_str module, struct sma_str program)
{
    char path[NAME_MAX + 1];
    if (module.len == 0 || module.len >= sizeof path)
        return;
    memcpy(path, module.ptr, module.len);
    path[module.len] = '\0';
    for (char *at = path; *at != '\0'; at++)
        *at = *at == '.' ? '/' : *at;
    take_word(finding, sma_str(path), program, IS_CODE);
    path[strcspn(path, "/")] = '\0'; /* its packages run first */
    take_word(finding, sma_str(path), program, IS_CODE);
}

/* -- words ------------------------------------------------------------------------------------- */
static bool is_folder_option(struct sma_str program, struct sma_str option)
{
    for (size_t i = 0; i < SMA_COUNT_OF(FOLDER_OPTIONS); i++)
        if (sma_list_has(FOLDER_OPTIONS[i].programs, program) &&
            sma_list_has(FOLDER_OPTIONS[i].options, option))
            return true;
    return false;
}

static enum weight weigh(struct sma_str program, struct sma_str option)
{
    bool is_code =
        is_folder_option(program, option) || (option.len > 1 && sma_list_has(CODE_OPTIONS, option));
    return is_code ? IS_CODE : BY_LOOK;
}

static struct sma_str without_dashes(struct sma_str word)
{
    while (word.len > 0 && word.ptr[0] == '-')
        word = (struct sma_str){word.ptr + 1, word.len - 1};
    return word;
}

/* `--config=a`, `-Ilib`, `--config a`, or an operand. */
static void take_argument(struct finding *finding, struct sma_str program, struct sma_str before,
                          struct sma_str word)
{
    const char *equals = word.len == 0 ? NULL : memchr(word.ptr, '=', word.len);
    bool is_option = word.len > 1 && word.ptr[0] == '-';
    if (sma_str_is_equal(before, SMA_STR("-m")))
        take_module(finding, word, program);
    if (equals != NULL) {
        struct sma_str name = {word.ptr, (size_t)(equals - word.ptr)};
        struct sma_str value = {equals + 1, word.len - name.len - 1};
        take_word(finding, value, program, weigh(program, without_dashes(name)));
    } else if (is_option && word.len > 2 && word.ptr[1] != '-') {
        take_word(finding, (struct sma_str){word.ptr + 2, word.len - 2}, program,
                  weigh(program, (struct sma_str){word.ptr + 1, 1}));
    } else if (!is_option) {
        bool is_value = before.len > 1 && before.ptr[0] == '-';
        take_word(finding, word, program,
                  is_value ? weigh(program, without_dashes(before)) : BY_LOOK);
    }
}

/* The version behind a name changes nothing: python3.11. */
static struct sma_str plain_program(struct sma_str word)
{
    word = sma_program_base(word);
    while (word.len > 1 && memchr("0123456789.", word.ptr[word.len - 1], 11) != NULL)
        word.len--;
    return word;
}

static void take_text(struct finding *finding, struct sma_str text);

/* npm run x: the texts of package.json's scripts, all of them: they run one another. */
static void take_recipes(struct finding *finding, const char *path)
{
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    const char *name;
    json_t *script;
    add(finding, path, NULL, false);
    if (finding->depth >= RECIPE_DEPTH_MAX ||
        sma_read_beneath(finding->project_dir, path, RECIPE_BYTES_MAX, &bytes, &len, NULL) !=
            SMA_ERR_OK)
        return;
    json_t *root = json_loadb(bytes, len, 0, NULL);
    finding->depth++;
    json_object_foreach(json_object_get(root, "scripts"), name, script) if (json_is_string(script))
        take_text(finding, sma_str(json_string_value(script)));
    finding->depth--;
    json_decref(root);
}

static void take_builder(struct finding *finding, struct sma_str program)
{
    for (size_t i = 0; i < SMA_COUNT_OF(BUILDERS); i++)
        for (size_t k = 0; k < finding->base_count && sma_list_has(BUILDERS[i].programs, program);
             k++)
            add(finding, finding->bases[k], BUILDERS[i].suffixes, false);
    for (size_t i = 0; i < SMA_COUNT_OF(AWAITED) && finding->is_held_off; i++)
        for (size_t k = 0; k < finding->base_count && sma_list_has(AWAITED[i].programs, program);
             k++) {
            char path[PATH_MAX];
            if (snprintf(path, sizeof path, "%s/%s", finding->bases[k], AWAITED[i].name) < PATH_MAX)
                add_awaited(finding, path, AWAITED[i].is_file);
        }
    if (!sma_list_has("npm pnpm yarn bun", program))
        return;
    for (size_t i = 0; i < finding->base_count; i++) {
        char path[PATH_MAX];
        const char *below = finding->bases[i] + strlen(finding->project_dir);
        below += *below == '/';
        if (is_there(finding->bases[i], "package.json") &&
            snprintf(path, sizeof path, "%s%spackage.json", below, *below == '\0' ? "" : "/") <
                PATH_MAX)
            take_recipes(finding, path);
    }
}

static bool is_script_word(const struct sma_shell *shell, uint32_t command, uint32_t word)
{
    for (uint32_t i = 0; i < shell->note_count; i++)
        if (shell->notes[i].is_script && shell->notes[i].command == command &&
            shell->notes[i].origin == word)
            return true;
    return false;
}

static void take_command(struct finding *finding, const struct sma_shell *shell, uint32_t index)
{
    const struct sma_shell_command *command = &shell->commands[index];
    const struct sma_shell_word *words = sma_shell_words(shell, command);
    struct sma_str first = command->word_count == 0 ? SMA_STR("") : sma_shell_word_str(&words[0]);
    struct sma_str program = plain_program(first), before = SMA_STR("");
    if (first.len > 0 && memchr(first.ptr, '/', first.len) != NULL)
        take_word(finding, first, first, IS_RUN);
    for (uint32_t i = 1; i < command->word_count; i++) {
        struct sma_str word = sma_shell_word_str(&words[i]);
        if (sma_str_is_equal(program, SMA_STR("cd")))
            take_start(finding, word);
        else if (is_script_word(shell, index, i))
            take_word(finding, word, program, IS_RUN);
        else
            take_argument(finding, program, before, word);
        before = word;
    }
    take_builder(finding, program);
}

static void take_text(struct finding *finding, struct sma_str text)
{
    struct sma_shell *shell = sma_shell_create();
    if (shell == NULL) {
        finding->list->is_out_of_memory = true;
        return;
    }
    sma_shell_parse(shell, text);
    sma_shell_unwrap(shell);
    for (uint32_t i = 0; i < shell->command_count; i++)
        take_command(finding, shell, i);
    sma_shell_destroy(shell);
}

/* -- the entry --------------------------------------------------------------------------------- */
/* As `sh` would have to be told, so that no byte means anything. */
static void put_quoted(struct sma_buf *text, const char *word)
{
    sma_buf_put_char(text, '\'');
    for (; *word != '\0'; word++)
        if (*word == '\'')
            sma_buf_put_text(text, "'\\''");
        else
            sma_buf_put_char(text, *word);
    sma_buf_put_text(text, "' ");
}

static void take_variables(struct finding *finding)
{
    const struct sma_mcp_words *env = &finding->server->env;
    for (size_t i = 0; i < env->count; i++) {
        const char *entry = env->items[i], *at = strchr(entry, '=');
        struct sma_str name = {entry, at == NULL ? 0 : (size_t)(at - entry)};
        if (at == NULL || !sma_list_has(CODE_VARIABLES, name))
            continue;
        while (*at != '\0') { /* "=a:b c=d" */
            at += strspn(at, "=: ;");
            size_t len = strcspn(at, "=: ;");
            take_word(finding, (struct sma_str){at, len}, SMA_STR(""), IS_CODE);
            at += len;
        }
    }
}

bool sma_decisive_is_code_variable(struct sma_str name)
{
    return sma_list_has(CODE_VARIABLES, name);
}

/* Without walls its code is code of this user. Too much for a digest. */
static void take_project(struct finding *finding)
{
    static const char *const own[] = {"package.json", ".npmrc", "pyproject.toml", "uv.toml",
                                      "bunfig.toml"};
    if (finding->server->is_sandboxed)
        return;
    if (!sma_decisive_is_accounted(finding->project_dir, finding->server))
        add(finding, "", SMA_DECISIVE_NO_DATA, true);
    for (size_t i = 0; i < SMA_COUNT_OF(own) && sma_decisive_is_fetcher(finding->server); i++)
        add(finding, own[i], NULL, false);
}

/* A name without a path may be a file of the project, by the entry's own PATH. */
static void take_by_path(struct finding *finding)
{
    const char *command = finding->server->command;
    for (size_t i = 1; i < finding->base_count && strchr(command, '/') == NULL; i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s", finding->bases[i], command) < PATH_MAX)
            (void)take_place(finding, path, sma_str(command), IS_CODE); /* not there: another's */
    }
}

void sma_decisive_add_server(struct sma_decisive_list *list, const char *project_dir,
                             const struct sma_mcp_config_server *server)
{
    struct sma_buf text;
    if (server->transport != SMA_MCP_STDIO || server->command == NULL)
        return;
    struct finding *finding = calloc(1, sizeof *finding);
    sma_buf_init(&text, SMA_SHELL_TEXT_BYTES_MAX);
    if (finding == NULL) {
        list->is_out_of_memory = true;
        return;
    }
    finding->list = list;
    finding->project_dir = project_dir;
    finding->server = server;
    finding->is_held_off =
        sma_decisive_is_fetcher(server)
            ? !server->is_sandboxed || sma_decisive_has_means(server)
            : !server->is_sandboxed && !sma_decisive_is_accounted(project_dir, server);
    add_base(finding, project_dir);
    take_variables(finding);
    take_by_path(finding);
    put_quoted(&text, server->command);
    for (size_t i = 0; i < server->args.count; i++)
        put_quoted(&text, server->args.items[i]);
    if (text.err == SMA_ERR_OK)
        take_text(finding, sma_buf_str(&text));
    if (strchr(server->command, '/') != NULL) /* whatever the reader made of the words */
        take_word(finding, sma_str(server->command), sma_str(server->command), IS_RUN);
    for (size_t i = 0; i < server->args.count; i++)
        take_argument(finding, plain_program(sma_str(server->command)),
                      i == 0 ? SMA_STR("") : sma_str(server->args.items[i - 1]),
                      sma_str(server->args.items[i]));
    take_project(finding);
    list->is_out_of_memory |= text.err == SMA_ERR_NOMEM;
    sma_buf_fini(&text);
    free(finding);
}
