/* chat_ui_keys.c — what keys do. See chat_ui.h. */
#include "chat_ui_priv.h"

#include "chat_cluster.h"
#include "sma/adapter.h"
#include "sma/limits.h"
#include "sma/text.h"

static void clear_line(struct sma_chat_ui *ui)
{
    sma_chat_edit_set(ui->edit, SMA_STR(""));
}

static void insert(struct sma_chat_ui *ui, struct sma_str text)
{
    enum sma_err err = sma_chat_edit_insert(ui->edit, text);
    if (err == SMA_ERR_TOOBIG)
        ui_hint(ui, "A message takes at most 1 MiB.");
    else if (err != SMA_ERR_OK)
        ui_hint(ui, sma_err_text(err));
}

/* -- sending ----------------------------------------------------------------------------------- */
static void print_own(struct sma_chat_ui *ui, struct sma_str text)
{
    struct sma_buf line;
    sma_buf_init(&line, UI_TEXT_BYTES_MAX);
    sma_buf_put_text(&line, "> ");
    for (size_t i = 0; i < text.len; i++) {
        sma_buf_put_char(&line, text.ptr[i]);
        if (text.ptr[i] == '\n')
            sma_buf_put_text(&line, "  ");
    }
    ui_print(ui, "", sma_buf_str(&line));
    sma_buf_fini(&line);
}

static void remember(struct sma_chat_ui *ui, struct sma_str text)
{
    struct sma_error error;
    bool is_kept = sma_chat_edit_remember(ui->edit, text);
    if (is_kept && ui->options.history_path != NULL &&
        sma_chat_edit_save(ui->edit, ui->options.history_path, text, &error) != SMA_ERR_OK) {
        ui_say(ui, "shipmyagent chat: %s; this chat's lines are not remembered", error.text);
        ui->options.history_path = NULL;
    }
}

/* What is taken along is said before it goes; what cannot be taken keeps the message here. */
static bool take_files(struct sma_chat_ui *ui, struct sma_str text, bool *ret_is_all)
{
    struct sma_chat_files *files = ui->options.files;
    struct sma_error error;
    *ret_is_all = false;
    if (sma_control_parse(text) == SMA_CONTROL_NONE &&
        sma_chat_files_find(files, text, ret_is_all, &error) != SMA_ERR_OK) {
        ui_say(ui, "shipmyagent chat: %s; nothing was sent", error.text);
        sma_chat_files_clear(files);
        return false;
    }
    return true;
}

static void say_refused(struct sma_chat_ui *ui, enum sma_err err)
{
    ui_say(ui, "shipmyagent chat: %s; nothing was sent",
           err == SMA_ERR_FULL     ? "too many messages wait for an answer"
           : err == SMA_ERR_TOOBIG ? "the message is longer than 1 MiB: send it in parts"
                                   : sma_err_text(err));
}

static void send_text(struct sma_chat_ui *ui, struct sma_str text)
{
    struct sma_chat_files *files = ui->options.files;
    bool is_all;
    if (!take_files(ui, text, &is_all))
        return;
    struct sma_str json = files->count == 0 ? SMA_STR("") : sma_buf_str(&files->json);
    enum sma_err err = sma_wire_send(ui->options.wire, is_all ? SMA_STR("") : text, json);
    if (err != SMA_ERR_OK) {
        say_refused(ui, err);
        return; /* the text stays on the line */
    }
    print_own(ui, text);
    if (files->count > 0)
        ui_say(ui, "(with %s)", files->names.ptr);
    sma_chat_files_clear(files);
    remember(ui, text);
    ui->is_stop_sent = ui->is_answered = false;
    clear_line(ui);
}

static bool leaves(struct sma_str text)
{
    return sma_str_is_equal(text, SMA_STR("/exit")) || sma_str_is_equal(text, SMA_STR("/quit"));
}

static void submit(struct sma_chat_ui *ui)
{
    size_t cursor;
    struct sma_str text = sma_chat_edit_text(ui->edit, &cursor);
    if (cursor == text.len && text.len > 0 && text.ptr[text.len - 1] == '\\') {
        sma_chat_edit_do(ui->edit, CHAT_EDIT_ERASE);
        insert(ui, SMA_STR("\n"));
        return;
    }
    struct sma_str trimmed = sma_str_trim(text);
    if (leaves(trimmed)) {
        ui->status = 0;
        return;
    }
    if (trimmed.len == 0) {
        clear_line(ui);
        return;
    }
    bool is_help = sma_str_is_equal(trimmed, SMA_STR("/help"));
    struct sma_buf copy; /* the line is asked for again while it is sent */
    sma_buf_init(&copy, 2 * CHAT_EDIT_BYTES_MAX);
    sma_buf_put_str(&copy, text);
    send_text(ui, sma_buf_str(&copy));
    if (is_help)
        ui_say(ui, "Here: Alt-Enter new line, Up and Ctrl-R lines of before, Ctrl-C clears the "
                   "line or stops the answer, /exit or Ctrl-D leaves.");
    sma_buf_fini(&copy);
}

/* -- choosing ---------------------------------------------------------------------------------- */
void ui_choose(struct sma_chat_ui *ui)
{
    struct sma_str text = sma_chat_edit_text(ui->edit, NULL);
    const json_t *button = sma_chat_cards_choice(&ui->cards, text, ui_now());
    ui->choice_ns = 0;
    if (button == NULL)
        return;
    enum sma_err err = sma_wire_press(ui->options.wire, sma_wire_text(button, "data"));
    if (err != SMA_ERR_OK) {
        say_refused(ui, err);
        return;
    }
    struct sma_buf name;
    sma_buf_init(&name, 65536);
    sma_buf_put_text(&name, "> ");
    sma_chat_put_clean(&name, sma_wire_text(button, "text"));
    ui_print(ui, "", sma_buf_str(&name));
    sma_buf_fini(&name);
    clear_line(ui);
    /* One key, one decision; should it be too late, the service says so. */
    const json_t *card = sma_chat_cards_top(&ui->cards);
    if (sma_chat_cards_drop(&ui->cards, sma_wire_text(card, "id"), ui_now()))
        ui_print_card(ui, sma_chat_cards_top(&ui->cards));
}

/* -- searching --------------------------------------------------------------------------------- */
static void end_search(struct sma_chat_ui *ui, bool is_taken)
{
    const char *found =
        ui->search.part.len == 0
            ? NULL
            : sma_chat_edit_search(ui->edit, sma_buf_str(&ui->search.part), ui->search.skip);
    ui->search.is_on = false;
    if (is_taken && found != NULL)
        sma_chat_edit_set(ui->edit, sma_str(found));
}

/* @return whether the key was the search's */
static bool search_key(struct sma_chat_ui *ui, enum sma_chat_key key, struct sma_str text)
{
    struct ui_search *search = &ui->search;
    if (key == CHAT_KEY_TEXT) {
        sma_buf_put_str(&search->part, text);
        search->skip = 0;
    } else if (key == CHAT_KEY_BACKSPACE) {
        size_t len = search->part.len;
        search->part.len = len == 0 ? 0 : sma_cluster_begin(sma_buf_str(&search->part), len);
        search->skip = 0;
    } else if (key == CHAT_KEY_CONTROL && text.ptr[0] == 'r') {
        bool has_more =
            search->part.len > 0 &&
            sma_chat_edit_search(ui->edit, sma_buf_str(&search->part), search->skip + 1) != NULL;
        search->skip += has_more;
    } else if (key == CHAT_KEY_CONTROL && (text.ptr[0] == 'g' || text.ptr[0] == 'c')) {
        end_search(ui, false);
    } else {
        end_search(ui, key != CHAT_KEY_ESCAPE);
        return key == CHAT_KEY_ENTER || key == CHAT_KEY_ESCAPE;
    }
    return true;
}

static void begin_search(struct sma_chat_ui *ui)
{
    sma_buf_clear(&ui->search.part);
    ui->search.skip = 0;
    ui->search.is_on = true;
}

/* -- keys -------------------------------------------------------------------------------------- */
void ui_interrupt(struct sma_chat_ui *ui)
{
    uint64_t now = ui_now();
    unsigned open_count = sma_wire_open_count(ui->options.wire);
    if (ui->search.is_on) {
        end_search(ui, false);
        return;
    }
    if (sma_chat_edit_text(ui->edit, NULL).len > 0) {
        clear_line(ui);
        return;
    }
    if (ui->leave_until_ns > now) {
        ui->status = 0;
        return;
    }
    ui->leave_until_ns = now + UI_HINT_NS;
    if (open_count > 0 && !ui->is_stop_sent && ui->options.wire->fd >= 0) {
        ui->is_stop_sent = true;
        sma_wire_stop(ui->options.wire);
        ui_hint(ui, "Stopping. Ctrl-C again leaves; the service goes on.");
        return;
    }
    ui_hint(ui, "Ctrl-C again, /exit or Ctrl-D leaves.");
}

static void control_key(struct sma_chat_ui *ui, char letter)
{
    static const struct
    {
        char letter;
        enum sma_chat_edit_command command;
    } rows[] = {{'a', CHAT_EDIT_HOME},      {'b', CHAT_EDIT_LEFT},     {'d', CHAT_EDIT_ERASE_NEXT},
                {'e', CHAT_EDIT_END},       {'f', CHAT_EDIT_RIGHT},    {'k', CHAT_EDIT_KILL_REST},
                {'t', CHAT_EDIT_TRANSPOSE}, {'u', CHAT_EDIT_KILL_ALL}, {'w', CHAT_EDIT_ERASE_WORD},
                {'y', CHAT_EDIT_YANK}};
    bool is_empty = sma_chat_edit_text(ui->edit, NULL).len == 0;
    if (letter == 'c')
        ui_interrupt(ui);
    else if (letter == 'd' && is_empty)
        ui->status = 0; /* what runs goes on in the service */
    else if (letter == 'z')
        ui->status = UI_STATUS_SUSPEND;
    else if (letter == 'l')
        sma_chat_screen_clear(ui->options.screen);
    else if (letter == 'r')
        begin_search(ui);
    else if (letter == 'p' || letter == 'n')
        (void)sma_chat_edit_recall(ui->edit, letter == 'p' ? -1 : 1);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        if (rows[i].letter == letter)
            sma_chat_edit_do(ui->edit, rows[i].command);
}

static void alt_key(struct sma_chat_ui *ui, char letter)
{
    static const struct
    {
        char letter;
        enum sma_chat_edit_command command;
    } rows[] = {{'b', CHAT_EDIT_WORD_LEFT}, {'f', CHAT_EDIT_WORD_RIGHT},
                {'d', CHAT_EDIT_KILL_WORD}, {'u', CHAT_EDIT_UPPER},
                {'l', CHAT_EDIT_LOWER},     {'c', CHAT_EDIT_CAPITALIZE}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        if (rows[i].letter == letter)
            sma_chat_edit_do(ui->edit, rows[i].command);
}

/* The first key on an empty line while something is asked: it decides unless more follows. */
static void note_choice(struct sma_chat_ui *ui, struct sma_str text)
{
    uint64_t now = ui_now();
    bool was_empty = sma_chat_edit_text(ui->edit, NULL).len == 0;
    if (was_empty && sma_chat_cards_choice(&ui->cards, text, now) != NULL)
        ui->choice_ns = now + CHAT_CARD_KEY_NS;
}

static void edit_key(struct sma_chat_ui *ui, enum sma_chat_key key)
{
    static const enum sma_chat_edit_command commands[] = {
        [CHAT_KEY_BACKSPACE] = CHAT_EDIT_ERASE,
        [CHAT_KEY_DELETE] = CHAT_EDIT_ERASE_NEXT,
        [CHAT_KEY_ERASE_WORD] = CHAT_EDIT_ERASE_WORD,
        [CHAT_KEY_LEFT] = CHAT_EDIT_LEFT,
        [CHAT_KEY_RIGHT] = CHAT_EDIT_RIGHT,
        [CHAT_KEY_WORD_LEFT] = CHAT_EDIT_WORD_LEFT,
        [CHAT_KEY_WORD_RIGHT] = CHAT_EDIT_WORD_RIGHT,
        [CHAT_KEY_HOME] = CHAT_EDIT_HOME,
        [CHAT_KEY_END] = CHAT_EDIT_END,
    };
    int direction = key == CHAT_KEY_UP ? -1 : 1;
    if (key != CHAT_KEY_UP && key != CHAT_KEY_DOWN)
        sma_chat_edit_do(ui->edit, commands[key]);
    else if (!sma_chat_edit_step(ui->edit, direction))
        (void)sma_chat_edit_recall(ui->edit, direction);
}

void ui_on_key(struct sma_chat_ui *ui, enum sma_chat_key key, struct sma_str text)
{
    bool was_choice = ui->choice_ns != 0;
    bool is_interrupt = key == CHAT_KEY_CONTROL && text.ptr[0] == 'c';
    ui->choice_ns = 0;
    ui->leave_until_ns = is_interrupt ? ui->leave_until_ns : 0;
    sma_buf_clear(&ui->hint);
    if (ui->search.is_on && search_key(ui, key, text))
        return;
    switch (key) {
    case CHAT_KEY_TEXT:
        note_choice(ui, text);
        insert(ui, text);
        break;
    case CHAT_KEY_PASTE:
        insert(ui, text);
        break;
    case CHAT_KEY_NEWLINE:
        insert(ui, SMA_STR("\n"));
        break;
    case CHAT_KEY_ENTER:
        if (was_choice)
            ui_choose(ui);
        else
            submit(ui);
        break;
    case CHAT_KEY_CONTROL:
        control_key(ui, text.ptr[0]);
        break;
    case CHAT_KEY_ALT:
        alt_key(ui, text.ptr[0]);
        break;
    case CHAT_KEY_ESCAPE:
        break;
    default:
        edit_key(ui, key);
    }
}
