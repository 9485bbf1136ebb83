/* chat_ui_on.c — what the service says, on a terminal. See chat_ui.h. */
#include "chat_ui_priv.h"

#include "sma/text.h"

static bool is_member(const json_t *root, const char *member, const char *value)
{
    return sma_str_is_equal(sma_wire_text(root, member), sma_str(value));
}

static json_int_t seq_of(const json_t *root)
{
    return json_integer_value(json_object_get(root, "seq"));
}

static void put_clean_member(struct sma_buf *buf, const json_t *root, const char *member)
{
    sma_chat_put_clean(buf, sma_wire_text(root, member));
}

/* Who answers, with what, and how to leave. */
static void on_welcome(struct sma_chat_ui *ui, const json_t *root)
{
    struct sma_buf line;
    bool is_first = !ui->was_welcomed;
    ui->was_welcomed = true;
    ui->is_lost = false;
    ui->retry_ns = ui->retry_wait_ns = 0;
    if (!is_first) {
        ui_say(ui, "The service is back.");
        return;
    }
    sma_buf_init(&line, 65536);
    sma_buf_put_text(&line, ui->options.is_styled ? "\x1b[1m" : "");
    put_clean_member(&line, root, "agent");
    sma_buf_put_text(&line, ui->options.is_styled ? "\x1b[0m" : "");
    sma_buf_put_text(&line, " answers with ");
    put_clean_member(&line, root, "model");
    sma_buf_put_char(&line, '.');
    ui_print(ui, "", sma_buf_str(&line));
    sma_buf_fini(&line);
    ui_say(ui, "Alt-Enter begins a new line, /help shows the commands, /exit or Ctrl-D leaves.");
}

/* -- progress ---------------------------------------------------------------------------------- */
/* "exec_shell  ls -la": one line, whatever there is. */
static void put_tool(struct sma_buf *line, struct sma_str name, struct sma_str detail)
{
    struct sma_buf clean;
    sma_buf_init(&clean, 65536);
    sma_chat_put_clean(&clean, name);
    sma_buf_put_text(&clean, detail.len > 0 ? "  " : "");
    sma_chat_put_clean(&clean, detail);
    for (size_t i = 0; i < clean.len; i++)
        sma_buf_put_char(line, clean.ptr[i] == '\n' ? ' ' : clean.ptr[i]);
    sma_buf_fini(&clean);
}

static void on_tool(struct sma_chat_ui *ui, const json_t *root)
{
    struct sma_str name = sma_wire_text(root, "text");
    struct sma_buf *line = &ui->scratch;
    ui_keep_progress(ui); /* what it said before it took the tool is delivered nowhere else */
    if (sma_str_is_equal(name, SMA_STR("chat_send")))
        return; /* its text is seen */
    sma_buf_clear(line);
    sma_buf_put_text(line, "· ");
    put_tool(line, name, sma_wire_text(root, "detail"));
    ui_print(ui, "\x1b[2m", sma_buf_str(line));
    sma_buf_clear(&ui->working);
    sma_chat_put_clean(&ui->working, name);
    sma_buf_put_text(&ui->working, " ...");
}

static void on_progress(struct sma_chat_ui *ui, const json_t *root)
{
    struct sma_str text = sma_wire_text(root, "text");
    ui->is_answered = ui->is_answered && is_member(root, "kind", "finished");
    if (is_member(root, "kind", "text")) {
        sma_buf_clear(&ui->working);
        sma_buf_clear(&ui->progress);
        sma_buf_put_str(&ui->progress, text);
        ui->progress_seq = seq_of(root);
    } else if (is_member(root, "kind", "tool")) {
        on_tool(ui, root);
    } else if (is_member(root, "kind", "finished")) {
        sma_buf_clear(&ui->working);
    }
}

/* -- deliveries -------------------------------------------------------------------------------- */
static void on_outcome(struct sma_chat_ui *ui, const json_t *root)
{
    struct sma_buf line;
    bool has_other = sma_chat_cards_drop(&ui->cards, sma_wire_text(root, "id"), ui_now());
    sma_buf_clear(&ui->notice);
    sma_buf_init(&line, UI_TEXT_BYTES_MAX);
    sma_chat_card_put_outcome(&line, root);
    if (line.len > 0)
        ui_print(ui, "\x1b[2m", sma_buf_str(&line));
    sma_buf_fini(&line);
    if (has_other)
        ui_print_card(ui, sma_chat_cards_top(&ui->cards));
}

static void on_delivery(struct sma_chat_ui *ui, const json_t *root)
{
    json_t *card = json_incref((json_t *)(uintptr_t)root); /* kept, not changed */
    if (is_member(root, "intent", "approval")) {
        ui_keep_progress(ui);
        if (sma_chat_cards_add(&ui->cards, card, ui_now()))
            ui_print_card(ui, root);
    } else if (is_member(root, "intent", "outcome")) {
        on_outcome(ui, root);
    } else {
        if (ui->progress_seq == seq_of(root) && !is_member(root, "intent", "notice"))
            sma_buf_clear(&ui->progress); /* it is what was being written, whole */
        ui_print_answer(ui, sma_wire_text(root, "text"));
        ui->is_answered = true;
    }
    json_decref(card);
}

static void on_done(struct sma_chat_ui *ui, const json_t *root,
                    const struct sma_wire_message *message)
{
    struct sma_str output = sma_wire_text(root, "output");
    bool is_over = is_member(root, "state", "done") || is_member(root, "state", "failed");
    sma_buf_clear(&ui->working);
    if (message != NULL && message->is_press && ui->notice.len > 0) {
        ui_print(ui, "\x1b[2m", sma_buf_str(&ui->notice));
        sma_buf_clear(&ui->notice);
    }
    if (message == NULL || message->is_press)
        return;
    if (is_over && sma_wire_is_unseen(message, output)) {
        sma_buf_clear(&ui->progress);
        ui_print_answer(ui, output);
    }
    if (ui->progress_seq == seq_of(root))
        ui_keep_progress(ui); /* it was stopped: what there is stays */
    ui->is_stop_sent = ui->is_stop_sent && sma_wire_open_count(ui->options.wire) > 1;
}

/* What who pressed a button is shown, "Already decided by Ann.": kept until the press is done. */
static void on_taken(struct sma_chat_ui *ui, const json_t *root)
{
    sma_buf_clear(&ui->notice);
    put_clean_member(&ui->notice, root, "notice");
}

static void on_waiting(struct sma_chat_ui *ui, const json_t *root)
{
    sma_buf_clear(&ui->scratch);
    put_clean_member(&ui->scratch, root, "text");
    if (ui->scratch.len > 0)
        ui_print(ui, "\x1b[2m", sma_buf_str(&ui->scratch));
}

static void on_error(struct sma_chat_ui *ui, const json_t *root)
{
    struct sma_str text = sma_wire_text(root, "text");
    ui->is_refused = !ui->options.wire->was_greeted;
    ui_say(ui, "shipmyagent chat: %.*s", (int)(text.len < 900 ? text.len : 900), text.ptr);
}

static void on_lost(struct sma_chat_ui *ui)
{
    ui_keep_progress(ui);
    sma_buf_clear(&ui->working);
    if (ui->is_refused) {
        ui->status = 1; /* it has said why; the next try would end the same */
        return;
    }
    if (!ui->is_lost)
        ui_say(ui, "The service is away. What you send is kept until it is back.");
    ui->is_lost = true;
    ui->retry_wait_ns = ui->retry_wait_ns == 0 ? UI_RETRY_NS : 2 * ui->retry_wait_ns;
    if (ui->retry_wait_ns > UI_RETRY_NS_MAX)
        ui->retry_wait_ns = UI_RETRY_NS_MAX;
    ui->retry_ns = ui_now() + ui->retry_wait_ns;
}

void sma_chat_ui_on(struct sma_chat_ui *ui, enum sma_wire_event event, const json_t *root,
                    struct sma_wire_message *message)
{
    switch (event) {
    case WIRE_WELCOME:
        on_welcome(ui, root);
        break;
    case WIRE_DELIVERY:
        on_delivery(ui, root);
        break;
    case WIRE_PROGRESS:
        on_progress(ui, root);
        break;
    case WIRE_WAITING:
        on_waiting(ui, root);
        break;
    case WIRE_TAKEN:
        on_taken(ui, root);
        break;
    case WIRE_DONE:
        on_done(ui, root, message);
        break;
    case WIRE_ERROR:
        on_error(ui, root);
        break;
    case WIRE_LOST:
        on_lost(ui);
        break;
    case WIRE_STRANGE:
        ui_say(ui, "shipmyagent chat: the service does not speak the terminal protocol");
        ui->status = 1;
        break;
    }
}
