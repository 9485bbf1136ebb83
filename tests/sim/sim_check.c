/* sim_check.c — the judge: what users saw, what is on disk and what state.db says, against the
 * promises. */
#include "sim.h"

#include "actors/store/intake_priv.h"
#include "actors/store/outbox_priv.h"
#include "actors/store/runs_priv.h"
#include <dirent.h>
#include <jansson.h>

#define LINE_BYTES_MAX 65536
#define SEQ_COUNT_MAX 65536

/* Rows and events by number; filled anew by every check. */
static struct event *event_by_seq[SEQ_COUNT_MAX];
static struct row *rows_by_seq[SEQ_COUNT_MAX][16];

static void index_all(struct world *world)
{
    memset(event_by_seq, 0, sizeof event_by_seq);
    memset(rows_by_seq, 0, sizeof rows_by_seq);
    for (uint32_t i = 0; i < world->event_count; i++) {
        struct event *event = &world->events[i];
        if (!event->is_acked || event->seq == 0)
            continue; /* a change of which nothing came has no row */
        SMA_ASSERT(event->seq < SEQ_COUNT_MAX);
        if (event_by_seq[event->seq] != NULL)
            complain(world, "%s and %s have one number", event->id, event_by_seq[event->seq]->id);
        event_by_seq[event->seq] = event;
    }
    for (size_t i = 0; i < ROW_COUNT_MAX; i++) {
        if (world->rows[i].outbox_id == 0)
            continue;
        uint64_t seq = sma_state_outbox_seq(world->rows[i].outbox_id);
        SMA_ASSERT(seq < SEQ_COUNT_MAX);
        size_t place = 0;
        while (place < SMA_COUNT_OF(rows_by_seq[seq]) && rows_by_seq[seq][place] != NULL)
            place++;
        if (place == SMA_COUNT_OF(rows_by_seq[seq]))
            complain(world, "message %" PRIu64 " has more than %zu deliveries", seq, place);
        else
            rows_by_seq[seq][place] = &world->rows[i];
    }
}

/* -- history ----------------------------------------------------------------------------------- */
struct said /* an assistant line, so many times */
{
    struct said *next;
    uint8_t platform, chat;
    uint32_t count, hopeless, sure; /* lines; deliveries that may have one; that must have one */
    char text[];
};
static struct said *said_first;

static struct said *said_of(uint8_t platform, uint8_t chat, const char *text)
{
    struct said *said = said_first;
    while (said != NULL &&
           (said->platform != platform || said->chat != chat || strcmp(said->text, text) != 0))
        said = said->next;
    if (said != NULL)
        return said;
    size_t len = strlen(text);
    said = calloc(1, sizeof *said + len + 1);
    SMA_ASSERT(said != NULL);
    said->platform = platform;
    said->chat = chat;
    memcpy(said->text, text, len);
    said->next = said_first;
    said_first = said;
    return said;
}

static void forget_said(void)
{
    while (said_first != NULL) {
        struct said *said = said_first;
        said_first = said->next;
        free(said);
    }
}

static void take_user_line(struct world *world, const char *id, const json_t *root)
{
    unsigned number = 0;
    if (id == NULL || sscanf(id, "e%u", &number) != 1 || number == 0 ||
        number > world->event_count) {
        complain(world, "a user line of nobody: %s", id == NULL ? "without messageId" : id);
        return;
    }
    struct event *event = &world->events[number - 1];
    const char *text = json_string_value(json_object_get(root, "text"));
    if (event->line_count++ > 0)
        complain(world, "%s stands twice in history", id);
    char wanted[sizeof event->text + 16];
    snprintf(wanted, sizeof wanted, "%s%s",
             event->type == EVENT_EDIT     ? "[edited] "
             : event->type == EVENT_RECALL ? "[withdrawn]"
                                           : "",
             event->text);
    if (text == NULL || strcmp(text, wanted) != 0)
        complain(world, "%s has another text in history: %s", id, text == NULL ? "" : text);
}

static void take_line(struct world *world, const char *name, const char *line)
{
    json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    const char *role = json_string_value(json_object_get(root, "role"));
    const char *key = json_string_value(json_object_get(root, "chatKey"));
    const char *text = json_string_value(json_object_get(root, "text"));
    unsigned chat = 0;
    size_t len = strlen(line);
    if (len == 0 || line[len - 1] != '\n' || role == NULL || key == NULL || text == NULL ||
        json_integer_value(json_object_get(root, "v")) != 1 || strrchr(key, ':') == NULL ||
        sscanf(strrchr(key, ':'), ":%u", &chat) != 1)
        complain(world, "a damaged line in %s: %s", name, line);
    else if (strcmp(role, "user") == 0)
        take_user_line(world, json_string_value(json_object_get(root, "messageId")), root);
    else
        said_of(strncmp(key, "fake:", 5) != 0, chat_of_place(chat), text)->count++;
    json_decref(root);
}

static void read_history(struct world *world)
{
    static char line[LINE_BYTES_MAX];
    char path[600];
    snprintf(path, sizeof path, "%s/chats", world->state_dir);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        size_t len = strlen(entry->d_name);
        if (strstr(entry->d_name, ".damaged") != NULL)
            continue; /* a torn end that start-up has put aside */
        if (len < 6 || strcmp(entry->d_name + len - 6, ".jsonl") != 0)
            complain(world, "a file that should not be there: %s", entry->d_name);
        snprintf(path, sizeof path, "%s/chats/%s", world->state_dir, entry->d_name);
        FILE *file = fopen(path, "r");
        while (file != NULL && fgets(line, sizeof line, file) != NULL)
            take_line(world, entry->d_name, line);
        if (file != NULL)
            fclose(file);
    }
    if (folder != NULL)
        closedir(folder);
}

static bool is_card(const struct row *row)
{
    return row->intent == SMA_INTENT_APPROVAL_REQUEST || row->intent == SMA_INTENT_APPROVAL_OUTCOME;
}

/* Of a card history has the words. */
static void put_card_words(char *text, size_t size)
{
    json_t *card = json_loads(text, 0, NULL);
    const char *words = json_string_value(json_object_get(card, "text"));
    if (words != NULL)
        snprintf(text, size, "%s", words);
    json_decref(card);
}

/* The text of a delivery, as far as its parts were tried. */
static bool put_row_text(const struct row *row, char *text, size_t size)
{
    size_t len = 0;
    bool is_whole = true;
    text[0] = '\0';
    for (uint32_t i = 0; i < row->part_count; i++) {
        is_whole &= row->parts[i].text != NULL;
        if (is_whole && len < size)
            len += (size_t)snprintf(text + len, size - len, "%s%s", i == 0 ? "" : "|",
                                    row->parts[i].text);
    }
    if (is_card(row))
        put_card_words(text, size);
    return is_whole;
}

/* Do these words stand in what was tried of a card, as the JSON string that they are there? */
static bool has_card_words(const char *part, const char *words)
{
    json_t *string = json_string(words);
    char *quoted = string == NULL ? NULL : json_dumps(string, JSON_ENCODE_ANY);
    bool has_words = quoted != NULL && strstr(part, quoted) != NULL;
    free(quoted);
    json_decref(string);
    return has_words;
}

/* A delivery that ended before its last part was tried: its line has the whole text all the
 * same. */
static bool is_of_broken_row(const struct world *world, const struct said *said)
{
    char text[LINE_BYTES_MAX];
    for (size_t i = 0; i < ROW_COUNT_MAX; i++) {
        const struct row *row = &world->rows[i];
        if (row->outbox_id != 0 && row->is_hopeless && row->platform == said->platform &&
            row->chat == said->chat && !put_row_text(row, text, sizeof text) &&
            (is_card(row) ? has_card_words(text, said->text)
                          : strncmp(said->text, text, strlen(text)) == 0))
            return true;
    }
    return false;
}

static void check_said(struct world *world, bool is_final)
{
    char text[LINE_BYTES_MAX];
    for (size_t i = 0; i < ROW_COUNT_MAX; i++) {
        const struct row *row = &world->rows[i];
        if (row->outbox_id == 0 || !put_row_text(row, text, sizeof text))
            continue;
        struct said *said = said_of(row->platform, row->chat, text);
        bool is_sure = is_final && !row->is_hopeless;
        said->sure += is_sure;
        said->hopeless += !is_sure;
    }
    for (const struct said *said = said_first; said != NULL; said = said->next)
        if (said->count < said->sure ||
            (said->count > said->sure + said->hopeless && !is_of_broken_row(world, said)))
            complain(world, "chat %u.%u: %u lines in history for %u..%u deliveries of: %s",
                     said->platform, said->chat, said->count, said->sure,
                     said->sure + said->hopeless, said->text);
}

void check_history(struct world *world, bool is_final)
{
    for (uint32_t i = 0; i < world->event_count; i++)
        world->events[i].line_count = 0;
    read_history(world);
    for (uint32_t i = 0; i < world->event_count; i++)
        if (world->events[i].is_acked && world->events[i].line_count == 0 &&
            world->events[i].type != EVENT_MOVE && world->events[i].seq != 0)
            complain(world, "%s was acknowledged and is not in history", world->events[i].id);
    check_said(world, is_final);
    forget_said();
}

/* -- state.db ---------------------------------------------------------------------------------- */
static bool find_head(struct world *world, const struct event *event,
                      struct sma_state_head *ret_head)
{
    char key[64];
    snprintf(key, sizeof key, "%s:chat:%u", world_channel(world, event->platform), event->place);
    const struct sma_state_chat *chat = sma_state_chat_get(world->store->state, sma_str(key));
    uint8_t kind = event->control != SMA_CONTROL_NONE ? SMA_EVENT_CONTROL : SMA_EVENT_MESSAGE;
    if (event->type == EVENT_MOVE || event->target != NULL)
        kind = SMA_EVENT_NOTE;
    uint32_t claim_id = sma_state_claim_id(world->store->state, sma_str(key));
    if (chat == NULL || sma_state_claim_find(world->store->state, claim_id, kind,
                                             sma_str(event->id), ret_head) != SMA_ERR_OK) {
        complain(world, "%s was acknowledged and is not in state.db", event->id);
        return false;
    }
    if (ret_head->seq != event->seq)
        complain(world, "%s had number %" PRIu64 " and has %" PRIu64, event->id, event->seq,
                 ret_head->seq);
    return true;
}

void check_started(struct world *world)
{
    struct sma_state_head head;
    for (uint32_t i = 0; i < world->event_count; i++)
        if (world->events[i].is_acked && world->events[i].seq != 0)
            (void)find_head(world, &world->events[i], &head);
    check_history(world, false);
    check_budgets(world, false);
}

/* -- answers ----------------------------------------------------------------------------------- */
static bool is_seen(const struct row *row)
{
    return row->parts[0].seen_count > 0;
}

static bool has_later_command(const struct world *world, const struct event *event, uint64_t seq,
                              bool is_clear_enough)
{
    for (uint32_t i = 0; i < world->event_count; i++) {
        const struct event *command = &world->events[i];
        bool is_wanted = command->control == SMA_CONTROL_STOP ||
                         (is_clear_enough && (command->control == SMA_CONTROL_CLEAR ||
                                              command->control == SMA_CONTROL_NEW));
        if (is_wanted && command->platform == event->platform && command->chat == event->chat &&
            command->seq > seq)
            return true;
    }
    return false;
}

static void describe_row(const struct row *row)
{
    fprintf(stderr,
            "  %" PRIu64 " = message %" PRIu64 " step %u call %u, chat %u.%u, shown %u times: %s\n",
            row->outbox_id, sma_state_outbox_seq(row->outbox_id),
            sma_state_outbox_step(row->outbox_id), sma_state_outbox_call(row->outbox_id),
            row->platform, row->chat, row->parts[0].seen_count, row->parts[0].text);
}

/* A remark that no model can be reached: the answer is still to come. */
static bool is_wait_notice(const struct world *world, const struct row *row)
{
    char text[512];
    struct sma_buf notice;
    sma_buf_init(&notice, sizeof text);
    sma_notice_format(&notice, world->config.language, SMA_NOTICE_MODEL_WAIT, 1u);
    size_t len = 0; /* up to the number */
    while (len < notice.len && notice.ptr[len] != '1')
        len++;
    snprintf(text, sizeof text, "%.*s", (int)len, notice.ptr);
    sma_buf_fini(&notice);
    return row->parts[0].text != NULL && strstr(row->parts[0].text, text) != NULL;
}

/* Who has the answer is not told that the model is away: that only its closing word is missing is
 * no news. */
static void check_no_late_wait(struct world *world, const struct event *event, uint64_t run)
{
    uint32_t answer_step = UINT32_MAX;
    for (size_t i = 0; i < SMA_COUNT_OF(rows_by_seq[run]) && rows_by_seq[run][i] != NULL; i++) {
        const struct row *row = rows_by_seq[run][i];
        uint32_t step = sma_state_outbox_step(row->outbox_id);
        if (row->intent == SMA_INTENT_ASSISTANT_TEXT && is_seen(row) && !row->is_hopeless &&
            row->platform == event->platform && row->chat == event->chat && step < answer_step)
            answer_step = step;
    }
    for (size_t i = 0; i < SMA_COUNT_OF(rows_by_seq[run]) && rows_by_seq[run][i] != NULL; i++) {
        const struct row *row = rows_by_seq[run][i];
        if (is_wait_notice(world, row) && sma_state_outbox_step(row->outbox_id) > answer_step)
            complain(world, "%s was told to wait for a model after its answer", event->id);
    }
}

/* Messages that were added while this run was open: each may have an answer of its own. */
static uint32_t count_added(struct world *world, uint64_t run, bool *ret_has_tell)
{
    uint32_t count = 0;
    for (uint64_t seq = 1;
         seq < SEQ_COUNT_MAX && (world->config.queue_mode == SMA_QUEUE_STEER || world->has_changes);
         seq++) {
        struct sma_state_head head;
        const struct event *event = event_by_seq[seq];
        if (event == NULL || !find_head(world, event, &head) || head.run_seq != run)
            continue;
        count++;
        *ret_has_tell |= event->type == EVENT_TELL;
    }
    return count;
}

/* Every delivery of this message to its own chat that is an answer to it, not a remark about
 * waiting. */
static void check_answer(struct world *world, const struct event *event,
                         const struct sma_state_head *head)
{
    uint64_t run = head->run_seq != 0 ? head->run_seq : head->seq;
    uint32_t seen = 0, sure = 0;
    bool is_tried = false;
    /* It may tell its own chat something, and answer as well. */
    SMA_ASSERT(run < SEQ_COUNT_MAX);
    bool is_tell = event_by_seq[run] != NULL && event_by_seq[run]->type == EVENT_TELL;
    bool has_tell = false;
    uint32_t added_count = count_added(world, run, &has_tell);
    is_tell |= has_tell;
    for (size_t i = 0; i < SMA_COUNT_OF(rows_by_seq[run]) && rows_by_seq[run][i] != NULL; i++) {
        const struct row *row = rows_by_seq[run][i];
        bool is_busy_notice = sma_state_outbox_step(row->outbox_id) == STORE_NOTICE_STEP &&
                              sma_state_outbox_call(row->outbox_id) != STORE_GIVEN_UP_CALL;
        if ((event->control == SMA_CONTROL_NONE && is_busy_notice) ||
            row->platform != event->platform || row->chat != event->chat ||
            is_wait_notice(world, row))
            continue;
        is_tried |= row->is_hopeless;
        seen += is_seen(row);
        sure += is_seen(row) && !row->is_hopeless && !is_tell;
    }
    if (!is_tell && added_count == 0) /* else it waits for the answer to what was added */
        check_no_late_wait(world, event, run);
    if (sure > 1 + added_count) {
        complain(world, "%s was answered %u times under different keys", event->id, sure);
        for (size_t i = 0; i < SMA_COUNT_OF(rows_by_seq[run]) && rows_by_seq[run][i] != NULL; i++)
            describe_row(rows_by_seq[run][i]);
    }
    if (seen == 0 && !is_tried && !has_later_command(world, event, run, false))
        complain(world, "%s (message %" PRIu64 ", run %" PRIu64 ", row state %u) has no answer: %s",
                 event->id, event->seq, run, head->state, event->text);
}

/* ... or to one that was added to its run. */
static bool is_of_added(struct world *world, uint64_t run, const char *text)
{
    char token[24];
    for (uint64_t seq = 1; seq < SEQ_COUNT_MAX; seq++) {
        struct sma_state_head head;
        const struct event *event = event_by_seq[seq];
        if (event == NULL || !find_head(world, event, &head) || head.run_seq != run)
            continue;
        snprintf(token, sizeof token, "#%s#", event->id + 1);
        if (strstr(text, token) != NULL || strstr(text, event->text) != NULL)
            return true;
    }
    return false;
}

/* What another message's run took has no answer of its own. */
static void check_taken(struct world *world, const struct event *event,
                        const struct sma_state_head *head)
{
    for (size_t i = 0;
         i < SMA_COUNT_OF(rows_by_seq[head->seq]) && rows_by_seq[head->seq][i] != NULL; i++)
        if (rows_by_seq[head->seq][i]->intent == SMA_INTENT_ASSISTANT_TEXT)
            complain(world, "%s was taken by run %" PRIu64 " and answered by itself", event->id,
                     head->run_seq);
}

/* The words of the answer to a plain message belong to that message. */
static void check_words(struct world *world, const struct event *event,
                        const struct sma_state_head *head)
{
    char token[24];
    snprintf(token, sizeof token, "#%s#", event->id + 1);
    for (size_t i = 0;
         i < SMA_COUNT_OF(rows_by_seq[head->seq]) && rows_by_seq[head->seq][i] != NULL; i++) {
        const struct row *row = rows_by_seq[head->seq][i];
        bool is_answer = row->intent == SMA_INTENT_ASSISTANT_TEXT && row->parts[0].text != NULL;
        if (is_answer && strncmp(row->parts[0].text, "You said: ", 10) == 0 &&
            strstr(row->parts[0].text, token) == NULL &&
            !is_of_added(world, head->seq, row->parts[0].text))
            complain(world, "%s got the answer of somebody else: %s", event->id,
                     row->parts[0].text);
    }
}

static void check_event(struct world *world, const struct event *event)
{
    struct sma_state_head head;
    if (event->seq == 0 || !find_head(world, event, &head) || event->type == EVENT_MOVE ||
        event->target != NULL)
        return;
    if (change_is_withdrawn(world, event)) {
        change_check(world, event, head.state);
        return; /* answered or not: both may be right */
    }
    switch (head.state) {
    case SMA_ROW_DONE:
    case SMA_ROW_FAILED:
        check_answer(world, event, &head);
        if (event->type == EVENT_PLAIN && head.run_seq == 0)
            check_words(world, event, &head);
        if (head.run_seq != 0)
            check_taken(world, event, &head);
        return;
    case SMA_ROW_GIVEN_UP:
        world->given_up_count++;
        if (world->crash_count - event->crash_count_first < SMA_RUN_ATTEMPT_COUNT_MAX)
            complain(world, "%s was given up after %u crashes", event->id,
                     world->crash_count - event->crash_count_first);
        check_answer(world, event, &head);
        return;
    case SMA_ROW_CANCELLED:
        world->cancelled_count++;
        if (!has_later_command(world, event, event->seq, true))
            complain(world, "%s was cancelled and nobody said so", event->id);
        return;
    case SMA_ROW_IGNORED:
        if (event->first_addressed != SMA_ADDRESSED_NONE || event->is_accepted_told)
            complain(world, "%s spoke to the bot and was ignored in the end", event->id);
        return;
    case SMA_ROW_BUSY:
        if (event->is_accepted_told && !load_may_be_refused(world, event))
            complain(world, "%s was accepted and then refused", event->id);
        return;
    default:
        complain(world, "%s is not finished (row state %u): %s", event->id, head.state,
                 event->text);
    }
}

static enum sma_err open_delivery(void *user, const struct sma_state_delivery *delivery)
{
    complain(user, "delivery %" PRIu64 " is still open", delivery->outbox_id);
    return SMA_ERR_OK;
}

/* -- what was chosen by /model ---------------------------------------------------------------- */
static bool chooses(const struct world *world, const struct event *event)
{
    bool is_word = strcmp(event->text, "/model") != 0 && strcmp(event->text, "/model no") != 0;
    return event->is_acked && event->control == SMA_CONTROL_MODEL && is_word &&
           !load_is_group(world, event) && !world->has_moves;
}

static bool is_last_choice(const struct world *world, const struct event *event)
{
    for (uint32_t i = 0; i < world->event_count; i++) {
        const struct event *other = &world->events[i];
        if (chooses(world, other) && other->platform == event->platform &&
            other->chat == event->chat && other->seq > event->seq)
            return false;
    }
    return true;
}

/* The last one that was acknowledged counts, whatever ended the program behind it. */
static void check_choice(struct world *world, const struct event *event)
{
    const char *wanted = strcmp(event->text, "/model 1") == 0        ? "offline/offline"
                         : strcmp(event->text, "/model second") == 0 ? "second"
                                                                     : "";
    char name[64];
    snprintf(name, sizeof name, "%s:chat:%u", world_channel(world, event->platform), event->place);
    const struct sma_state_chat *chat = sma_state_chat_get(world->store->state, sma_str(name));
    if (chat == NULL)
        return; /* check_event tells */
    struct sma_buf value;
    sma_buf_init(&value, 1024);
    snprintf(name, sizeof name, "model:%u", (unsigned)chat->id);
    enum sma_err err = sma_state_access_get(world->store->state, sma_str(name), &value);
    bool is_right = err == SMA_ERR_OK ? sma_str_is_equal(sma_buf_str(&value), sma_str(wanted))
                                      : err == SMA_ERR_NOTFOUND && wanted[0] == '\0';
    if (!is_right)
        complain(world, "%s chose \"%s\", and the chat has \"%.*s\"", event->id, wanted,
                 (int)value.len, value.len == 0 ? "" : value.ptr);
    world->choice_count++;
    sma_buf_fini(&value);
}

void check_rest(struct world *world)
{
    for (uint32_t i = 0; i < world->event_count; i++)
        if (chooses(world, &world->events[i]) && is_last_choice(world, &world->events[i]))
            check_choice(world, &world->events[i]);
    const struct sma_store *store = world->store;
    check_budgets(world, true);
    index_all(world);
    for (uint32_t i = 0; i < world->event_count; i++)
        check_event(world, &world->events[i]);
    if (sma_state_each_outbox_open(store->state, open_delivery, world) != SMA_ERR_OK)
        complain(world, "the outbox cannot be read");
    /* What the next request is to be told waits for it. */
    if (sma_state_open_count(store->state) != store->runs->note_count)
        complain(world, "%" PRIu64 " messages are open at rest, %u of them notes",
                 sma_state_open_count(store->state), store->runs->note_count);
    uint32_t asked, unasked;
    sma_store_count_questions(store, &asked, &unasked);
    if (asked + unasked + store->intake->group_count + store->runs->orphan_count != 0)
        complain(world, "at rest the store counts %u questions, %u albums, %u pieces",
                 asked + unasked, store->intake->group_count, store->runs->orphan_count);
    if (store->runs->open_count != 0 || store->outbox->open_count != 0 ||
        sma_queue_waiting(store->queue) != 0)
        complain(world, "at rest the store counts %u runs, %u deliveries, %u waiting",
                 store->runs->open_count, store->outbox->open_count,
                 sma_queue_waiting(store->queue));
    for (uint32_t i = 0; i < store->adapter_count; i++)
        if (store->outbox->lanes[i].credits != SMA_DELIVER_CREDIT_COUNT)
            complain(world, "adapter %u has lost %u credits", i,
                     SMA_DELIVER_CREDIT_COUNT - store->outbox->lanes[i].credits);
}
