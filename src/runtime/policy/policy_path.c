/*
 * policy_path.c — which names of files are left alone: by their text only, links are the caller's
 * matter.
 */
#include "secret_names.h"
#include "shell_priv.h"

#include "sma/text.h"

#define CLUSTER_LETTER_COUNT_MAX 64u /* no program has so many; a longer one is asked about */

/* Sources: the manuals of the programs named. */
static const struct sma_secret_row SECRETS[] = {
    {.holds = "", .names = ".env*"},
    {.is_file = true, .holds = "", .names = "*.env"},
    {.holds = "",
     .names =
         ".ssh .gnupg .aws .azure .kube .docker .gcloud .password-store .secrets* .netrc _netrc "
         ".pgpass .my.cnf .mylogin.cnf .git-credentials .htpasswd .vault-token .s3cfg .boto "
         ".terraformrc .dockercfg .databrickscfg .kaggle .dev.vars .flaskenv .Renviron "
         ".vault_pass* "
         ".sentryclirc .token .*_history"},
    {.is_file = true,
     .holds = "",
     .names = "id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk *.key *.p12 *.pfx *.p8 "
              "*.pk8 *.ppk *.keystore *.jks *.kdbx credentials credentials.json credentials.toml "
              "credentials.csv client_secret*.json service-account*.json service_account*.json "
              "serviceaccount*.json *service-account*.json application_default_credentials.json "
              "*firebase-adminsdk*.json kubeconfig *.kubeconfig secrets.y*ml secrets.json "
              "secrets.toml *.tfstate *.tfstate.backup *.tfvars local.settings.json *.ovpn "
              "wg*.conf secring.gpg .*_token"},
    {.is_file = true, .holds = "private_key-----", .names = "*.pem *.crt *.cer"},
    {.is_file = true, .holds = "private_key_block-----", .names = "*.asc"},
    {.is_file = true, .holds = "oauth_token", .names = "hosts.yml"}, /* of gh */
    {.is_file = true,
     .is_login = true,
     .holds = "auth password token",
     .names = ".npmrc .yarnrc.yml .pypirc pip.conf"},
    {.is_file = true, /* of composer, codex; others translate words in it */
     .is_login = true,
     .holds = "oauth token basic bearer api_key",
     .names = "auth.json"},
    {.is_of_git = true,
     .is_file = true,
     .is_login = true,
     .holds = "extraheader token password",
     .names = "config config.worktree credentials"},
};

bool sma_secret_is_git(struct sma_str name)
{
    return sma_name_fits(name, SMA_STR(".git")) || sma_name_fits(name, SMA_STR("*.git"));
}

const struct sma_secret_row *sma_secret_find(struct sma_str name, bool is_in_git, bool is_file)
{
    for (size_t i = 0; i < SMA_COUNT_OF(SECRETS); i++) {
        const struct sma_secret_row *row = &SECRETS[i];
        if ((!is_in_git && row->is_of_git) || (!is_file && row->is_file))
            continue;
        if (sma_list_fits(row->names, name))
            return sma_name_is_example(name) ? NULL : row;
    }
    return NULL;
}

/* ship.json is no secret to file tools. `grep -r credentials src` and `jq .a.key` name no file: a
 * plain word counts in a path, and a name with a dot before it as itself. */
static bool is_secret_name(struct sma_str name, bool is_in_git, bool is_in_path)
{
    const struct sma_secret_row *row = sma_secret_find(name, is_in_git, true);
    bool is_word = !is_in_path && memchr(name.ptr, '.', name.len) == NULL &&
                   memchr(name.ptr, '_', name.len) == NULL;
    if (sma_list_has(".ship ship.json", name))
        return true;
    return row != NULL && !is_word && (name.ptr[0] != '.' || !row->is_file || row->is_login);
}

/* `*.key` is one, but `src/a*` is a search that the walls see to. Whatever follows a beginning:
 * shells differ about [^x], and names of variants are not known. */
static bool may_match_secret(struct sma_str name, bool is_in_git)
{
    if (sma_pattern_may_be(name, ".ship") || sma_pattern_may_be(name, "ship.json"))
        return true;
    for (size_t i = 0; i < SMA_COUNT_OF(SECRETS); i++)
        if ((is_in_git || !SECRETS[i].is_of_git) &&
            sma_pattern_may_be_in(name, SECRETS[i].names, false))
            return true;
    return false;
}

static bool is_option_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || memchr("#?!%+^", byte, 6) != NULL;
}

static bool is_protected_from(struct sma_str text, bool is_pattern, bool for_git)
{
    size_t from = 0;
    bool is_in_git = false, is_in_path = text.len > 0 && memchr(text.ptr, '/', text.len) != NULL;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && strchr("/=:@,\"'", text.ptr[i]) == NULL)
            continue;
        struct sma_str name = {text.ptr + from, i - from};
        if (name.len > 0 && (is_secret_name(name, is_in_git, is_in_path) ||
                             (!for_git && sma_str_is_equal(name, SMA_STR(".git"))) ||
                             (is_pattern && may_match_secret(name, is_in_git))))
            return true;
        is_in_git = (is_in_git || sma_secret_is_git(name)) && i < text.len && text.ptr[i] == '/';
        from = i + 1;
    }
    return false;
}

/* -f.env, -rf.env: a value without a blank begins behind any letter of a cluster. Up to the first
 * slash or the like, for what comes behind that has been looked at. */
static bool hides_in_cluster(struct sma_str word, bool is_pattern, bool for_git)
{
    if (word.len < 3 || word.ptr[0] != '-' || word.ptr[1] == '-')
        return false;
    size_t end = 1;
    while (end < word.len && strchr("/=:@,\"'", word.ptr[end]) == NULL)
        end++;
    for (size_t at = 2; at < end && is_option_letter(word.ptr[at - 1]); at++) {
        struct sma_str value = {word.ptr + at, end - at};
        if (at > CLUSTER_LETTER_COUNT_MAX || is_protected_from(value, is_pattern, for_git))
            return true;
    }
    return false;
}

bool sma_path_is_protected(struct sma_str word, bool is_pattern, bool for_git)
{
    if (is_protected_from(word, is_pattern, for_git))
        return true;
    return hides_in_cluster(word, is_pattern, for_git);
}

/* -- words with expansions --------------------------------------------------------------------- */
#define MADE_BYTES_MAX 512  /* of a longer one it is not told: it is asked about */
#define NESTED_COUNT_MAX 8u /* ${a:-${b:-...}} */

enum making
{
    EMPTY,   /* every expansion is nothing */
    DEFAULT, /* ${X:-word} is the word, the others nothing */
    ANY,     /* every one is a star */
};

struct made
{
    char text[MADE_BYTES_MAX];
    size_t len;
    bool is_cut, has_glob;
};

static void put_byte(struct made *made, char byte)
{
    if (made->len >= sizeof made->text)
        made->is_cut = true;
    else
        made->text[made->len++] = byte;
}

static bool is_name_byte(char byte)
{
    return byte == '_' || (byte >= '0' && byte <= '9') ||
           ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
}

/* Behind the expansion that begins at `at`; its default word, if it has one. */
static size_t end_of_expansion(struct sma_str raw, size_t at, struct sma_str *ret_default)
{
    char open = at + 1 < raw.len ? raw.ptr[at + 1] : '\0', close = open == '{' ? '}' : ')';
    size_t end = at + 1, depth = 0;
    if (raw.ptr[at] == '`') {
        const char *found = memchr(raw.ptr + end, '`', raw.len - end);
        return found == NULL ? raw.len : (size_t)(found - raw.ptr) + 1;
    }
    if (open != '{' && open != '(') {
        bool is_name = is_name_byte(open) && (open < '0' || open > '9');
        while (++end < raw.len && is_name && is_name_byte(raw.ptr[end]))
            ;
        return end < raw.len ? end : raw.len;
    }
    for (; end < raw.len; end++) {
        depth += raw.ptr[end] == open;
        if (raw.ptr[end] == close && --depth == 0)
            break;
    }
    size_t from = at + 2;
    while (from < end && strchr(":-+?=", raw.ptr[from]) == NULL)
        from++;
    while (open == '{' && from < end && strchr(":-+?=", raw.ptr[from]) != NULL) {
        bool is_operator = raw.ptr[from++] != ':';
        if (is_operator)
            break;
    }
    if (open == '{' && from < end)
        *ret_default = (struct sma_str){raw.ptr + from, end - from};
    return end < raw.len ? end + 1 : raw.len;
}

static void make_word(struct made *made, struct sma_str raw, enum making making, unsigned depth)
{
    made->is_cut |= depth > NESTED_COUNT_MAX;
    for (size_t at = 0; at < raw.len && !made->is_cut;) {
        struct sma_str word = {"", 0};
        char byte = raw.ptr[at];
        if (byte != '$' && byte != '`') {
            made->has_glob |= memchr("*?[", byte, 3) != NULL;
            if (memchr("\"'\\", byte, 3) == NULL)
                put_byte(made, byte);
            at++;
            continue;
        }
        if (byte == '$' && at + 1 < raw.len && memchr("$?#!", raw.ptr[at + 1], 4) != NULL) {
            put_byte(made, '0'); /* a number: a process, a status */
            at += 2;
            continue;
        }
        at = end_of_expansion(raw, at, &word);
        if (making == DEFAULT)
            make_word(made, word, making, depth + 1);
        else if (making == ANY)
            put_byte(made, '*');
    }
}

/* Of names that begin with a dot an expansion may be the rest: `.e$x`; one that is all expansion
 * is everybody's: `$dir/$file`. */
static bool may_be_hidden(const struct made *made)
{
    for (size_t at = 0; at < made->len; at++) {
        size_t end = at;
        while (end < made->len && memchr("/=:@,", made->text[end], 5) == NULL)
            end++;
        struct sma_str name = {made->text + at, end - at};
        if (name.len > 1 && name.ptr[0] == '.' && memchr(name.ptr, '*', name.len) != NULL &&
            may_match_secret(name, false))
            return true;
        at = end;
    }
    return false;
}

bool sma_word_may_be_protected(struct sma_str raw, bool for_git)
{
    for (enum making making = EMPTY; making <= ANY; making++) {
        struct made made = {.len = 0};
        make_word(&made, raw, making, 0);
        struct sma_str text = {made.text, made.len};
        if (made.is_cut || (making == ANY ? may_be_hidden(&made)
                                          : sma_path_is_protected(text, made.has_glob, for_git)))
            return true;
    }
    return false;
}

bool sma_path_is_harmless(struct sma_str path, struct sma_str project_dir)
{
    if (sma_list_has("/dev/null /dev/stdin /dev/stdout /dev/stderr /dev/zero", path))
        return path.len > 0;
    if (path.len > 0 && path.ptr[0] == '/') {
        if (project_dir.len == 0 || !sma_str_starts_with(path, project_dir) ||
            path.len <= project_dir.len || path.ptr[project_dir.len] != '/')
            return false;
        path = (struct sma_str){path.ptr + project_dir.len + 1, path.len - project_dir.len - 1};
    }
    if (path.len == 0 || path.ptr[0] == '~')
        return false;
    size_t from = 0;
    for (size_t i = 0; i <= path.len; i++) {
        if (i < path.len && path.ptr[i] != '/')
            continue;
        struct sma_str name = {path.ptr + from, i - from};
        bool is_here = name.len == 1 && name.ptr[0] == '.';
        if ((name.len > 0 && name.ptr[0] == '.' && !is_here) ||
            sma_str_is_equal(name, SMA_STR("ship.json")))
            return false;
        from = i + 1;
    }
    return true;
}
