/* run_parts_files.c — the files whose bytes a request takes in: found by their markers, which do
 * not travel. See run_parts.h.
 *
 * The same words are looked for twice: in the turns, to know which files and how many at most, and
 * in the written request, to know where. A marker counts when its hash is of a part that this
 * conversation shows. The second look decides: a file that the request has no place for is left
 * out, whatever order they stand in.
 */
#include "run_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define HASH_LEN 64

static uint64_t length_in(const struct sma_stored_turn *turn, struct sma_str hash)
{
    for (uint32_t i = 0; i < turn->part_count; i++)
        if (sma_str_is_equal(turn->parts[i].part.hash, hash))
            return turn->parts[i].part.length;
    return 0;
}

static uint64_t length_of_result(const struct sma_run *run, struct sma_str hash)
{
    for (uint32_t i = 0; i < run->round_count; i++)
        for (uint32_t k = 0; k < run->rounds[i].results.count; k++) {
            const struct sma_stored_result *result = &run->rounds[i].results.results[k];
            for (uint32_t p = 0; p < result->part_count; p++)
                if (sma_str_is_equal(result->parts[p].hash, hash))
                    return result->parts[p].length;
        }
    return 0;
}

/* 0: this conversation has no such part. */
static uint64_t length_of(const struct sma_run *run, struct sma_str hash)
{
    uint64_t length = 0;
    for (uint32_t i = 0; i < run->see.count && length == 0; i++)
        if (sma_str_is_equal(run->see.list[i].part.hash, hash))
            length = run->see.list[i].part.length;
    if (length == 0)
        length = length_of_result(run, hash);
    for (uint32_t i = 0; i < run->session->turn_count && length == 0; i++)
        length = length_in(&run->session->turns[i]->stored, hash);
    return length;
}

static bool add_file(struct sma_run *run, struct sma_str hash, uint64_t length)
{
    struct run_parts *parts = &run->see;
    if (parts->file_count == parts->file_room) {
        uint32_t room = parts->file_room * 2 + 8;
        struct sma_body_file *more = realloc(parts->files, room * sizeof *more);
        if (more == NULL)
            return false;
        parts->files = more;
        parts->file_room = room;
    }
    parts->files[parts->file_count++] = (struct sma_body_file){.path = hash, .length = length};
    return true;
}

/* false: no memory. */
static bool scan(struct sma_run *run, struct sma_str text)
{
    size_t at = 0, start;
    struct sma_str hash;
    while (sma_part_find_marker(text, &at, &start, &hash)) {
        uint64_t length = length_of(run, hash);
        if (length > 0 && !add_file(run, hash, length))
            return false;
    }
    return true;
}

/* Paths instead of hashes. */
static bool put_paths(struct sma_run *run)
{
    struct run_parts *parts = &run->see;
    const char *folder = run->settings->config->project_dir;
    static const char below[] = "/.ship/.cache/parts/";
    size_t len = strlen(folder) + sizeof below - 1 + HASH_LEN + 4;
    sma_buf_clear(&parts->paths);
    if (sma_buf_reserve(&parts->paths, (len + 1) * parts->file_count) == NULL)
        return false;
    for (uint32_t i = 0; i < parts->file_count; i++) {
        char *path = parts->paths.ptr + parts->paths.len;
        sma_buf_put_text(&parts->paths, folder);
        sma_buf_put_text(&parts->paths, below);
        sma_buf_put_str(&parts->paths, parts->files[i].path);
        sma_buf_put_text(&parts->paths, ".b64");
        parts->files[i].path = (struct sma_str){path, len};
    }
    return parts->paths.err == SMA_ERR_OK;
}

static uint64_t tokens_of(const struct sma_run *run, const struct sma_part *part)
{
    bool is_shown = sma_part_is_shown(run->target, part);
    return is_shown ? sma_part_tokens(&run->target->profile, part) : 0;
}

uint64_t run_parts_tokens(const struct sma_run *run)
{
    const struct sma_session *session = run->session;
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < run->see.count; i++)
        tokens += tokens_of(run, &run->see.list[i].part);
    for (uint32_t i = 0; i < run->round_count; i++)
        for (uint32_t k = 0; k < run->rounds[i].results.count; k++) {
            const struct sma_stored_result *result = &run->rounds[i].results.results[k];
            for (uint32_t p = 0; p < result->part_count; p++)
                tokens += tokens_of(run, &result->parts[p]);
        }
    for (uint32_t i = 0; i < session->turn_count; i++) {
        const struct sma_stored_turn *turn = &session->turns[i]->stored;
        for (uint32_t k = 0; k < turn->part_count && !run_is_skipped(run, i); k++)
            tokens += turn->parts[k].is_hidden ? 0 : tokens_of(run, &turn->parts[k].part);
    }
    return tokens;
}

/* Has anything that is sent parts? */
static bool has_any(const struct sma_run *run)
{
    const struct sma_session *session = run->session;
    bool has = run->see.count > 0;
    for (uint32_t i = 0; i < run->round_count && !has; i++)
        has = run->rounds[i].results.storage != NULL;
    for (uint32_t i = 0; i < session->turn_count && !has; i++)
        has = session->turns[i]->stored.part_count > 0 && !run_is_skipped(run, i);
    return has;
}

/* Of the turns that are sent, as they are: what is counted here is taken out there. */
static bool scan_all(struct sma_run *run)
{
    const struct sma_session *session = run->session;
    bool is_good = true;
    for (uint32_t i = 0; i < session->turn_count && is_good; i++)
        is_good = run_is_skipped(run, i) || scan(run, session->turns[i]->bytes);
    return is_good && scan(run, sma_buf_str(&run->turn));
}

bool run_parts_list_files(struct sma_run *run)
{
    bool is_good = true;
    run->see.file_count = 0;
    if (run->see.is_looking)
        is_good = scan(run, sma_buf_str(&run->see.look));
    else if (has_any(run))
        is_good = scan_all(run);
    if (run->see.file_count > 0)
        is_good = put_paths(run) && is_good;
    return is_good;
}

static struct sma_str hash_of(const struct sma_body_file *file)
{
    return (struct sma_str){file->path.ptr + file->path.len - HASH_LEN - 4, HASH_LEN};
}

/* Of the files that have no place yet, the first with this hash comes next. false: there is none,
 * so these words are somebody's own. */
static bool take_listed(struct sma_body_file *files, uint32_t index, uint32_t count,
                        struct sma_str hash)
{
    for (uint32_t i = index; i < count; i++)
        if (sma_str_is_equal(hash_of(&files[i]), hash)) {
            struct sma_body_file taken = files[i];
            files[i] = files[index];
            files[index] = taken;
            return true;
        }
    return false;
}

size_t run_parts_take_out(struct sma_body_file *files, uint32_t *count, char *bytes, size_t len,
                          uint32_t *begin, uint32_t *end)
{
    size_t at = 0, start, from = 0, to = 0;
    uint32_t index = 0, begin_cut = 0, end_cut = 0;
    static const size_t marker = sizeof SMA_PART_MARKER - 1 + HASH_LEN;
    struct sma_str hash, text = {bytes, len};
    /* what is moved lies before what is read */
    while (index < *count && sma_part_find_marker(text, &at, &start, &hash)) {
        if (!take_listed(files, index, *count, hash))
            continue;
        memmove(bytes + to, bytes + from, start - from);
        to += start - from;
        from = start + marker;
        files[index++].offset = to;
        begin_cut += start < *begin ? marker : 0;
        end_cut += start < *end ? marker : 0;
    }
    *count = index;
    memmove(bytes + to, bytes + from, len - from);
    *begin -= begin_cut;
    *end -= end_cut;
    return to + len - from;
}
