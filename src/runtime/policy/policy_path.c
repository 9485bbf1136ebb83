/*
 * policy_path.c — which names of files are left alone: by their text only, links are the caller's
 * matter.
 */
#include "shell_priv.h"

#include "sma/text.h"

static bool is_secret_name(struct sma_str name)
{
    if (sma_list_has(".env.example .env.sample .env.template", name))
        return false;
    return sma_list_has(".env .ship ship.json", name) ||
           sma_str_starts_with(name, SMA_STR(".env."));
}

/* .env and what begins so, whatever follows: shells differ about [^x], and names of variants are
 * not known. */
static bool may_match_secret(struct sma_str name)
{
    return sma_pattern_may_be(name, ".env*") || sma_pattern_may_be(name, ".ship") ||
           sma_pattern_may_be(name, "ship.json");
}

static bool is_protected_from(struct sma_str text, bool is_pattern, bool for_git)
{
    size_t from = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && strchr("/=:@,\"'", text.ptr[i]) == NULL)
            continue;
        struct sma_str name = {text.ptr + from, i - from};
        if (name.len > 0 &&
            (is_secret_name(name) || (!for_git && sma_str_is_equal(name, SMA_STR(".git"))) ||
             (is_pattern && may_match_secret(name))))
            return true;
        from = i + 1;
    }
    return false;
}

bool sma_path_is_protected(struct sma_str word, bool is_pattern, bool for_git)
{
    if (is_protected_from(word, is_pattern, for_git))
        return true;
    /* -f.env: the value of a short option without a blank */
    return word.len > 2 && word.ptr[0] == '-' && word.ptr[1] != '-' &&
           is_protected_from((struct sma_str){word.ptr + 2, word.len - 2}, is_pattern, for_git);
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
