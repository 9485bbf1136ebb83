/*
 * tools_encode.c — parts made ready for the model: one question after the other, on libuv's
 * workers.
 *
 * A question WAITS until one of SMA_ENCODE_COUNT_MAX places is free, is worked on by a worker that
 * alone touches it (except is_stopped), and is answered exactly once, with a note when the part
 * cannot be given. Workers exist from the first question on; between questions nothing is awake.
 */
#include "tools_priv.h"

#include "actors/kernel/traffic.h"
#include "sma/limits.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIDY_COUNT 32 /* questions from one look at the folder to the next */
#define NOTE_BYTES_MAX 2000
#define NOTE_PATH_BYTES_MAX 300
#define MB (1024.0 * 1024.0)

struct tools_encode
{
    struct tools_encode *next;
    struct sma_tools *tools;
    struct tools_setup *setup;
    struct sma_msg *question;
    const struct sma_encode_ask *ask;
    volatile int is_stopped; /* read by the worker */
    bool works, is_tidying;
    bool is_full; /* the folder */
    uv_work_t work;

    /* results of the worker */
    bool is_opened;
    bool is_ready; /* it was made ready before and is there still */
    struct sma_media_made made;
    struct sma_buf why;
};

static void let_in(struct sma_tools *tools);

/* -- on the worker ----------------------------------------------------------------------------- */
/* Made ready before: a run goes on after a restart, or another message shows the same file. */
static bool is_there(const struct tools_encode *encode)
{
    const struct sma_part *part = &encode->ask->part;
    char path[PATH_MAX];
    struct stat facts;
    if (part->hash.len != SMA_MEDIA_HASH_BYTES - 1 || part->length == 0)
        return false;
    int len = snprintf(path, sizeof path, "%s/.cache/parts/%.*s.b64",
                       encode->setup->config->state_dir, (int)part->hash.len, part->hash.ptr);
    return len < PATH_MAX && memchr(part->hash.ptr, '/', part->hash.len) == NULL &&
           stat(path, &facts) == 0 && (uint64_t)facts.st_size == part->length;
}

static void prepare(struct tools_encode *encode)
{
    const struct tools_setup *setup = encode->setup;
    const struct sma_media_place place = {
        .state_dir = setup->config->state_dir,
        .helper = setup->helper.len > 0 ? setup->helper.ptr : NULL,
        .bubblewrap = setup->sandbox.is_on ? setup->sandbox.path : NULL,
        .is_userns_last = setup->sandbox.is_userns_last,
        .is_full = encode->is_full};
    struct sma_media_wish wish = {.fd = -1,
                                  .max_side = encode->ask->max_side,
                                  .max_bytes = encode->ask->max_bytes,
                                  .is_stopped = &encode->is_stopped};
    if (sma_file_tools_open_part(setup->files, encode->ask->part.path, &wish.fd, &wish.size,
                                 &encode->why) != SMA_ERR_OK) {
        if (encode->why.len == 0)
            sma_buf_put_text(&encode->why, "it cannot be opened");
        return;
    }
    encode->is_opened = true;
    sma_media_prepare(&place, &wish, &encode->made, &encode->why);
    close(wish.fd);
}

static void work(uv_work_t *request)
{
    struct tools_encode *encode = request->data;
    const struct sma_sys *sys = sma_sys_real();
    if (encode->is_tidying)
        encode->is_full = sma_media_tidy(encode->setup->config->state_dir,
                                         sys->wall_ms(sys->self) / 1000) > SMA_PARTS_BYTES_MAX;
    encode->is_ready = is_there(encode);
    if (!encode->is_ready)
        prepare(encode);
}

/* -- answers ----------------------------------------------------------------------------------- */
/* What the model reads in the place of the part. The path is ours, without the sender's name of the
 * file. */
static void put_note(const struct tools_encode *encode, struct sma_buf *note)
{
    const struct sma_part *part = &encode->ask->part;
    struct sma_str path = {part->path.ptr, sma_utf8_cut(part->path, NOTE_PATH_BYTES_MAX)};
    sma_buf_put_char(note, '[');
    sma_buf_put_str(note, path);
    if (encode->is_opened)
        sma_buf_printf(note, " (%s, %.1f MB)", sma_media_name(encode->made.type),
                       (double)encode->made.file_bytes / MB);
    sma_buf_put_text(note, encode->is_opened ? " is not shown to you, because "
                                             : " is not shown to you: ");
    sma_buf_put_str(note, sma_buf_str(&encode->why));
    sma_buf_put_text(note, note->ptr != NULL && note->ptr[note->len - 1] == '.' ? "]" : ".]");
}

static void tell(const struct tools_encode *encode, const struct sma_part *part)
{
    struct sma_traffic line;
    if (!sma_traffic_begin(&line, encode->tools->ctx, SMA_LOG_INFO, "part", encode->ask->seq,
                           (struct sma_str){NULL, 0}))
        return;
    sma_traffic_str(&line, "path", part->path);
    sma_traffic_str(&line, "mime", part->mime);
    sma_traffic_u64(&line, "fileBytes", encode->made.file_bytes);
    sma_traffic_u64(&line, "bytes", part->length);
    sma_traffic_ms(&line, "ms", encode->question->sent_ns, sma_ctx_now(encode->tools->ctx));
    if (part->note.len > 0)
        sma_traffic_str(&line, "note", part->note);
    sma_traffic_end(&line);
}

static void answer(struct tools_encode *encode)
{
    struct sma_part part = encode->ask->part;
    struct sma_buf note;
    sma_buf_init(&note, NOTE_BYTES_MAX);
    if (encode->is_opened) {
        part.mime = sma_str(sma_media_mime(encode->made.type));
        part.kind = sma_media_part_kind(encode->made.type);
    }
    if (encode->why.len > 0) {
        put_note(encode, &note);
        part.note = sma_buf_str(&note);
        if (note.err != SMA_ERR_OK)
            part.note = SMA_STR("[A file is not shown to you, because memory is out.]");
        part.hash = (struct sma_str){NULL, 0};
        part.length = 0;
    } else if (!encode->is_ready) {
        part.hash = sma_str(encode->made.hash);
        part.length = encode->made.length;
        part.width = encode->made.width;
        part.height = encode->made.height;
    }
    tell(encode, &part);
    struct sma_msg *msg = sma_msg_make_encoded(
        &(struct sma_encoded){.seq = encode->ask->seq, .index = encode->ask->index, .part = part});
    if (msg == NULL)
        sma_ctx_fatal(encode->tools->ctx, "out of memory: a part cannot be given");
    sma_ctx_answer(encode->tools->ctx, encode->question, &msg);
    sma_buf_fini(&note);
}

/* -- questions --------------------------------------------------------------------------------- */
static void destroy(struct tools_encode *encode)
{
    sma_buf_fini(&encode->why);
    sma_msg_destroy(encode->question);
    tools_unref_setup(encode->setup);
    free(encode);
}

/* Answered: out of the list. */
static void leave(struct tools_encode *encode)
{
    struct tools_encodes *all = &encode->tools->encodes;
    struct tools_encode **place = &all->first, *before = NULL;
    for (; *place != encode; place = &(*place)->next)
        before = *place;
    *place = encode->next;
    if (all->last == encode)
        all->last = before;
    destroy(encode);
}

static void after(uv_work_t *request, int status)
{
    struct tools_encode *encode = request->data;
    struct sma_tools *tools = encode->tools;
    tools->encodes.busy--;
    if (encode->is_tidying)
        tools->encodes.is_full = encode->is_full;
    if (status == UV_ECANCELED)
        sma_buf_put_text(&encode->why, "the run was stopped");
    answer(encode);
    leave(encode);
    let_in(tools);
    tools_tell_drained(tools);
}

static void start(struct tools_encode *encode)
{
    struct sma_tools *tools = encode->tools;
    encode->works = true;
    encode->work.data = encode;
    encode->is_full = tools->encodes.is_full;
    encode->is_tidying = tools->encodes.is_full || tools->encodes.begun_count % TIDY_COUNT == 0;
    tools->encodes.begun_count++;
    tools->encodes.busy++;
    int status = uv_queue_work(sma_ctx_loop(tools->ctx), &encode->work, work, after);
    SMA_ASSERT(status == 0); /* fails only without a function */
}

static void let_in(struct sma_tools *tools)
{
    for (struct tools_encode *at = tools->encodes.first;
         at != NULL && tools->encodes.busy < SMA_ENCODE_COUNT_MAX; at = at->next)
        if (!at->works)
            start(at);
}

void tools_encode_take(struct sma_tools *tools, struct sma_msg **question)
{
    struct tools_encode *encode = calloc(1, sizeof *encode);
    if (encode == NULL)
        sma_ctx_fatal(tools->ctx, "out of memory: a part cannot be taken");
    encode->tools = tools;
    encode->setup = tools->setup;
    encode->setup->refs++;
    encode->question = *question;
    *question = NULL;
    encode->ask = SMA_MSG_BODY(encode->question, struct sma_encode_ask);
    sma_buf_init(&encode->why, SMA_MEDIA_WHY_BYTES_MAX);
    if (tools->encodes.last == NULL)
        tools->encodes.first = encode;
    else
        tools->encodes.last->next = encode;
    tools->encodes.last = encode;
    if (tools->is_draining)
        tools_encode_stop(tools, 0, true);
    else
        let_in(tools);
}

void tools_encode_stop(struct sma_tools *tools, uint64_t seq, bool are_all)
{
    for (struct tools_encode *at = tools->encodes.first, *next; at != NULL; at = next) {
        next = at->next;
        if (!are_all && at->ask->seq != seq)
            continue;
        __atomic_store_n(&at->is_stopped, 1, __ATOMIC_RELAXED);
        if (at->works) {
            (void)uv_cancel((uv_req_t *)&at->work); /* it works already: its end answers */
            continue;
        }
        sma_buf_put_text(&at->why, "the run was stopped");
        answer(at);
        leave(at);
    }
}

void tools_encode_fini(struct sma_tools *tools)
{
    while (tools->encodes.first != NULL)
        leave(tools->encodes.first);
}
