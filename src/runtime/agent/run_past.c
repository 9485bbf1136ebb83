/*
 * run_past.c — what a run knows of the chat's history: which lines it has been shown, so that no
 * further call brings them again (known from the results themselves, so a run that goes on after a
 * restart knows them, too); and a session made of lines where no turns are stored.
 */
#include "run_priv.h"

#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>

#define CHATTER_LINE_COUNT_MAX 30u
#define CHATTER_LINE_BYTES_MAX 1000u
#define CHATTER_BYTES_MAX 8000u /* the newest; older lines are left out and said */
#define MARK_COUNT_MAX 4096u    /* beyond them lines may come again */

void run_past_fini(struct run_past *past)
{
    free(past->marks);
    sma_buf_fini(&past->chatter_head);
    sma_buf_fini(&past->chatter);
    *past = (struct run_past){.marks = NULL};
}

struct sma_str run_past_given(const struct run_past *past)
{
    return (struct sma_str){(const char *)past->marks, past->count * sizeof *past->marks};
}

static bool has(const struct run_past *past, uint64_t mark)
{
    for (uint32_t i = 0; i < past->count; i++)
        if (past->marks[i] == mark)
            return true;
    return false;
}

static void add(struct run_past *past, uint64_t mark)
{
    if (has(past, mark) || past->count == MARK_COUNT_MAX)
        return;
    if (past->count == past->room) {
        uint32_t room = past->room == 0 ? 64 : past->room * 2;
        uint64_t *marks = realloc(past->marks, room * sizeof *marks);
        if (marks == NULL)
            return; /* then it may come again */
        past->marks = marks;
        past->room = room;
    }
    past->marks[past->count++] = mark;
}

void run_past_read(struct run_past *past, struct sma_str result)
{
    json_t *root = json_loadb(result.ptr == NULL ? "" : result.ptr, result.len, 0, NULL);
    const json_t *lines = json_object_get(root, "messages"), *line;
    size_t i;
    json_array_foreach(lines, i, line)
    {
        int64_t wall_ms;
        const char *role = json_string_value(json_object_get(line, "role"));
        struct sma_str time = sma_str(json_string_value(json_object_get(line, "time")));
        struct sma_str id = sma_str(json_string_value(json_object_get(line, "id")));
        if (role != NULL && sma_parse_iso_time(time, &wall_ms) == SMA_ERR_OK)
            add(past, sma_line_mark(wall_ms, strcmp(role, "user") == 0, id));
    }
    json_decref(root);
}

uint32_t run_past_filter(const struct run_past *past, struct sma_history_line *lines,
                         uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!has(past, sma_line_mark(lines[i].wall_ms, lines[i].is_user, lines[i].message_id)))
            lines[kept++] = lines[i];
    return kept;
}

/* -- a session of lines ------------------------------------------------------------------------ */
#define FILL_BLOCK_COUNT_MAX 16u

/* What was said and answered, on its way into a turn. */
struct filler
{
    struct sma_run *run;
    bool is_group;
    struct sma_str ids[FILL_BLOCK_COUNT_MAX], blocks[FILL_BLOCK_COUNT_MAX];
    uint32_t count;
    uint64_t marks[4 * FILL_BLOCK_COUNT_MAX]; /* of its lines */
    uint32_t mark_count;
    struct sma_buf answer, named; /* named: blocks that begin with a name */
};

/* Only what was answered becomes a turn: in a group nobody knows by the lines alone what else was
 * meant for us, or who may be heard. */
static void end_turn(struct filler *filler)
{
    static const char nowhere[] = "history";
    struct sma_str fragment = SMA_STR("{}"); /* of no wire: it goes as blocks and text */
    const struct sma_stored_turn turn = {.message_count = 2,
                                         .id_count = filler->count,
                                         .block_count = filler->count,
                                         .fragment_count = 1,
                                         .ids = filler->ids,
                                         .blocks = filler->blocks,
                                         .fragments = &fragment,
                                         .text = sma_buf_str(&filler->answer),
                                         .egress = {.has_read = true},
                                         .key = sma_str(nowhere)};
    bool is_good = filler->count > 0 && filler->answer.len > 0 &&
                   filler->answer.err == SMA_ERR_OK && filler->named.err == SMA_ERR_OK &&
                   sma_session_append(filler->run->sessions, filler->run->session, 0, &turn) ==
                       SMA_ERR_OK; /* without this turn it is still a past */
    for (uint32_t i = 0; is_good && i < filler->mark_count; i++)
        add(&filler->run->past, filler->marks[i]);
    filler->mark_count = 0;
    filler->count = 0;
    sma_buf_clear(&filler->answer);
    sma_buf_clear(&filler->named);
}

static void mark(struct filler *filler, const struct sma_history_line *line)
{
    if (filler->mark_count < SMA_COUNT_OF(filler->marks))
        filler->marks[filler->mark_count++] =
            sma_line_mark(line->wall_ms, line->is_user, line->message_id);
}

/* As in what people write now (run_turn.c). The message is ours. */
static void cross_out(const struct sma_run *run, struct sma_str text)
{
    if (text.len > 0)
        run_cross_out(run, (char *)(uintptr_t)text.ptr, text.len);
}

static void add_asked(struct filler *filler, const struct sma_history_line *line)
{
    cross_out(filler->run, line->user_name);
    cross_out(filler->run, line->text);
    if (filler->answer.len > 0)
        end_turn(filler);
    if (filler->is_group || filler->count == FILL_BLOCK_COUNT_MAX)
        filler->count = filler->mark_count = 0;
    mark(filler, line);
    filler->ids[filler->count] = line->message_id;
    filler->blocks[filler->count] = line->text;
    if (filler->is_group && line->user_name.len > 0) {
        sma_buf_clear(&filler->named);
        sma_buf_put_str(&filler->named, line->user_name);
        sma_buf_put_text(&filler->named, ": ");
        sma_buf_put_str(&filler->named, line->text);
        filler->blocks[filler->count] = sma_buf_str(&filler->named);
    }
    filler->count++;
}

void run_past_fill(struct sma_run *run, const struct sma_history_lines *lines)
{
    struct filler filler = {.run = run,
                            .is_group = sma_prompt_is_group(run->order->route.chat_type)};
    sma_buf_init(&filler.answer, SMA_SESSION_BYTES_MAX);
    sma_buf_init(&filler.named, SMA_SESSION_BYTES_MAX);
    run->session->is_loaded = true;
    for (uint32_t i = 0; lines->err == SMA_ERR_OK && i < lines->line_count; i++) {
        const struct sma_history_line *line = &lines->lines[i];
        if (line->is_user) {
            add_asked(&filler, line);
        } else if (filler.count > 0) {
            if (filler.answer.len > 0)
                sma_buf_put_text(&filler.answer, "\n\n");
            sma_buf_put_str(&filler.answer, line->text);
            mark(&filler, line);
        }
    }
    end_turn(&filler);
    sma_buf_fini(&filler.answer);
    sma_buf_fini(&filler.named);
}

/* -- what others said -------------------------------------------------------------------------- */
/* The piece of an album that speaks to us may have come before the others, which it collects. */
static uint64_t first_seq(const struct sma_run_order *order)
{
    uint64_t first = order->seq;
    for (uint32_t i = 0; i < order->collected_count; i++)
        first = order->collected[i].seq < first ? order->collected[i].seq : first;
    return first;
}

bool run_past_ask_chatter(struct sma_run *run)
{
    const struct sma_run_order *order = run->order;
    if (!order->is_group || order->is_compaction)
        return false;
    run->past.asks_chatter = true;
    run_act(run, SMA_RUN_ASK_HISTORY)->history =
        (struct sma_history_ask){.chat_key = order->route.chat_key,
                                 .limit = CHATTER_LINE_COUNT_MAX,
                                 .current_seq = first_seq(order),
                                 .given = run_past_given(&run->past),
                                 .is_chatter = true,
                                 .route = order->route};
    return true;
}

bool run_past_knows(const struct sma_run *run, struct sma_str id)
{
    const struct sma_session *session = run->session;
    for (uint32_t i = 0; i < session->turn_count && id.len > 0; i++)
        for (uint32_t k = 0; k < session->turns[i]->id_count; k++)
            if (sma_str_is_equal(session->turns[i]->ids[k], id))
                return true;
    return false;
}

static void put_said(struct sma_buf *buf, const struct sma_history_line *line)
{
    struct sma_str speaker = line->user_name.len > 0 ? line->user_name : line->user_id;
    size_t cut = sma_utf8_cut(line->text, CHATTER_LINE_BYTES_MAX);
    sma_prompt_put_time(buf, line->wall_ms);
    sma_buf_put_char(buf, ' ');
    sma_buf_put_str(buf, speaker);
    sma_buf_put_text(buf, ": ");
    sma_buf_put_str(buf, (struct sma_str){line->text.ptr, cut});
    sma_buf_put_text(buf, cut < line->text.len ? " [cut]\n" : "\n");
}

void run_past_put_chatter(struct sma_run *run, const struct sma_history_lines *lines)
{
    struct run_past *past = &run->past;
    size_t bytes = 0;
    uint32_t first = lines->err == SMA_ERR_OK ? lines->line_count : 0;
    uint32_t count = first;
    past->asks_chatter = false;
    for (; first > 0; first--) {
        size_t len = lines->lines[first - 1].text.len;
        bytes += (len < CHATTER_LINE_BYTES_MAX ? len : CHATTER_LINE_BYTES_MAX) + 100;
        if (bytes > CHATTER_BYTES_MAX)
            break;
    }
    sma_buf_init(&past->chatter_head, 512);
    sma_buf_init(&past->chatter, 2 * CHATTER_BYTES_MAX + CHATTER_LINE_COUNT_MAX * 4096);
    for (uint32_t i = first; i < count; i++) {
        const struct sma_history_line *line = &lines->lines[i];
        if (!line->is_user || run_past_knows(run, line->message_id))
            continue;
        put_said(&past->chatter, line);
        add(past, sma_line_mark(line->wall_ms, line->is_user, line->message_id));
    }
    sma_prompt_put_note(&past->chatter_head, run->order->facts_word,
                        first > 0 || lines->is_cut
                            ? "What people here said to each other since your last message, the "
                              "newest of it. Nobody asked you this: it is for your information."
                            : "What people here said to each other since your last message. Nobody "
                              "asked you this: it is for your information.");
    if (past->chatter.err != SMA_ERR_OK || past->chatter_head.err != SMA_ERR_OK)
        sma_buf_clear(&past->chatter); /* then without */
}
