/* run_part_list.c — the parts of a run's messages: listed, described, stored. See run_parts.h. */
#include "run_priv.h"

#include <stdlib.h>

/* -- the list ---------------------------------------------------------------------------------- */
void run_parts_init(struct run_parts *parts)
{
    sma_buf_init(&parts->look, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&parts->paths, SMA_REQUEST_BYTES_MAX);
}

void run_part_free_list(struct run_part *list, uint32_t count)
{
    for (uint32_t i = 0; list != NULL && i < count; i++)
        free(list[i].text);
    free(list);
}

void run_parts_fini(struct run_parts *parts)
{
    run_part_free_list(parts->list, parts->count);
    for (uint32_t i = 0; i < parts->refused_count; i++)
        free((char *)(uintptr_t)parts->refused[i].ptr);
    free(parts->places);
    free(parts->refused);
    free(parts->files);
    sma_buf_fini(&parts->look);
    sma_buf_fini(&parts->paths);
}

void run_parts_add(struct sma_run *run, const struct sma_part *list, uint32_t count, uint32_t block)
{
    struct run_parts *parts = &run->see;
    if (count > 0)
        run_content_came(run);
    if (parts->count + count > parts->room) {
        uint32_t room = parts->room * 2 + count;
        struct run_part *more = realloc(parts->list, room * sizeof *more);
        if (more == NULL) {
            run->turn.err = SMA_ERR_NOMEM; /* the next request fails the run */
            return;
        }
        parts->list = more;
        parts->room = room;
    }
    for (uint32_t i = 0; i < count; i++)
        parts->list[parts->count++] = (struct run_part){.part = list[i], .block = block};
}

void run_parts_add_later(struct sma_run *run, const struct sma_part *list, uint32_t count,
                         uint32_t addition)
{
    uint32_t first = run->see.count;
    run_parts_add(run, list, count, 0);
    for (uint32_t i = first; i < run->see.count; i++)
        run->see.list[i].addition = addition + 1;
}

bool run_parts_places_later(const struct sma_run *run, uint32_t addition, uint32_t first_block,
                            struct sma_block_part **places, uint32_t *count)
{
    for (uint32_t i = 0; i < run->see.count; i++) {
        const struct run_part *part = &run->see.list[i];
        if (part->addition != addition + 1)
            continue;
        struct sma_block_part *more = realloc(*places, (*count + 1) * sizeof *more);
        if (more == NULL)
            return false;
        *places = more;
        more[(*count)++] = (struct sma_block_part){&part->part, first_block + part->block};
    }
    return true;
}

/* The strings become its own. false: no memory, it stays as it was. */
bool run_part_take(struct run_part *to, const struct sma_part *part)
{
    struct sma_part copy = *part;
    struct sma_str *texts[] = {&copy.path, &copy.name, &copy.mime, &copy.hash, &copy.note};
    size_t bytes = 1;
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        bytes += texts[i]->len;
    char *text = malloc(bytes), *at = text;
    if (text == NULL)
        return false;
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        if (texts[i]->len > 0)
            memcpy(at, texts[i]->ptr, texts[i]->len);
        texts[i]->ptr = at;
        at += texts[i]->len;
    }
    free(to->text);
    to->text = text;
    to->part = copy;
    return true;
}

void run_parts_restore(struct sma_run *run, const struct sma_part *list, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < run->see.count; i++) {
        struct run_part *part = &run->see.list[i];
        if (sma_str_is_equal(part->part.path, list[i].path) && run_part_take(part, &list[i]))
            part->is_asked = part->is_ready = part->is_looked_at = true;
    }
}

const struct sma_block_part *run_parts_places(struct sma_run *run, uint32_t *ret_count)
{
    struct run_parts *parts = &run->see;
    *ret_count = 0;
    if (parts->count == 0)
        return NULL;
    struct sma_block_part *places = realloc(parts->places, parts->room * sizeof *places);
    if (places == NULL) {
        run->turn.err = SMA_ERR_NOMEM;
        return NULL;
    }
    parts->places = places;
    for (uint32_t i = 0; i < parts->count && parts->list[i].addition == 0; i++)
        places[(*ret_count)++] =
            (struct sma_block_part){&parts->list[i].part, parts->list[i].block};
    return places;
}

struct sma_part *run_parts_copy(const struct sma_run *run, uint32_t *ret_count)
{
    const struct run_parts *parts = &run->see;
    struct sma_part *copy = parts->count == 0 ? NULL : calloc(parts->count, sizeof *copy);
    *ret_count = 0;
    for (uint32_t i = 0; copy != NULL && i < parts->count && parts->list[i].addition == 0; i++)
        copy[(*ret_count)++] = parts->list[i].part;
    return copy;
}

void run_part_describe(struct sma_run *run, uint32_t index, struct sma_str note)
{
    struct sma_part part = run->see.list[index].part;
    part.note = note;
    if (!run_part_take(&run->see.list[index], &part))
        run->turn.err = SMA_ERR_NOMEM;
}

/* -- the stored turn --------------------------------------------------------------------------- */
static uint32_t count_all(const struct sma_run *run)
{
    uint32_t count = run->see.count;
    for (uint32_t i = 0; i < run->round_count; i++)
        for (uint32_t k = 0; k < run->rounds[i].results.count; k++)
            count += run->rounds[i].results.results[k].part_count;
    return count;
}

bool run_parts_put_turn(const struct sma_run *run, struct sma_stored_turn *turn)
{
    uint32_t room = count_all(run), count = 0;
    turn->refused_count = run->see.refused_count;
    turn->refused = run->see.refused;
    turn->parts = NULL;
    turn->part_count = 0;
    if (room == 0)
        return true;
    turn->parts = calloc(room, sizeof *turn->parts);
    if (turn->parts == NULL)
        return false;
    for (uint32_t i = 0; i < run->see.count; i++)
        turn->parts[count++] = (struct sma_stored_part){
            .part = run->see.list[i].part,
            .block =
                run->see.list[i].block + run_added_first_block(run, run->see.list[i].addition)};
    for (uint32_t i = 0; i < run->round_count; i++)
        for (uint32_t k = 0; k < run->rounds[i].results.count; k++) {
            const struct sma_stored_result *result = &run->rounds[i].results.results[k];
            for (uint32_t p = 0; p < result->part_count; p++)
                turn->parts[count++] =
                    (struct sma_stored_part){.part = result->parts[p], .block = SMA_BLOCK_NONE};
        }
    turn->part_count = count;
    return true;
}

void run_parts_free_turn(struct sma_stored_turn *turn)
{
    free(turn->parts);
    turn->parts = NULL;
    turn->part_count = 0;
}
