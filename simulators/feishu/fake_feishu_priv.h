/*
 * fake_feishu_priv.h — what the parts of the fake Feishu share. Everything is used under the
 * server's lock.
 */
#ifndef FAKE_FEISHU_PRIV_H
#define FAKE_FEISHU_PRIV_H

#include "fake_feishu.h"
#include "sma/buf.h"
#include "sma/text.h"

#define FEISHU_ID_SIZE 64
#define FEISHU_TENANT "736588c9260f175e"
#define FEISHU_RETRY_COUNT 4
#define FEISHU_TOKENS_MAX 64
#define FEISHU_LINKS_MAX 64
#define FEISHU_JSON_MAX (32u << 20)

struct rate /* of calls */
{
    uint64_t window_ns; /* start of the second that counts */
    unsigned count;
};

/* -- people, chats, messages ------------------------------------------------------------------- */
struct person
{
    char id[FEISHU_ID_SIZE]; /* open_id */
    char *name;
    bool has_stopped; /* has stopped the bot */
};

struct room
{
    char id[FEISHU_ID_SIZE];
    char *name;
    bool is_p2p, is_topics, is_dissolved, has_bot,
        is_muted;               /* is_muted: nobody but owners may speak */
    size_t person;              /* p2p: index into persons + 1 */
    char owner[FEISHU_ID_SIZE]; /* "" a bot owns it */
    json_t *managers, *members; /* open ids */
    struct rate rate;
    size_t load_left; /* answers the load still waits for here; 0: no load */
};

struct note /* a message */
{
    char id[FEISHU_ID_SIZE], root[FEISHU_ID_SIZE], parent[FEISHU_ID_SIZE], thread[FEISHU_ID_SIZE];
    char from[FEISHU_ID_SIZE], uuid[FEISHU_ID_SIZE];
    const char *type;
    struct room *room;
    char *content; /* the JSON string of it */
    char *text;    /* as people read it */
    json_t *mentions;
    bool is_ours, is_recalled, is_shared; /* is_shared: a card with update_multi */
    unsigned edit_count;
    int64_t wall_ms;
    uint64_t ns;       /* made */
    uint64_t reply_ns; /* the first of our messages that names it came */
    size_t event;      /* index into events + 1; 0: none */
    struct rate edits;
};

struct kit_card /* of CardKit */
{
    char id[FEISHU_ID_SIZE];
    json_t *tree;
    struct note *note; /* the message that shows it; NULL = not sent */
    int64_t sequence;  /* of the last operation */
    bool is_streaming;
    uint64_t streaming_ns; /* since then */
    unsigned typed_count;  /* contents that only went on */
    struct rate rate;
    json_t *times; /* ms of each operation */
};

struct file
{
    char key[FEISHU_ID_SIZE];
    char note[FEISHU_ID_SIZE]; /* the message it came in; "" uploaded by the bot */
    const char *type;          /* "image", or the file type */
    char *name, *bytes;
    size_t len;
};

/* -- events ------------------------------------------------------------------------------------ */
enum event_state
{
    EVENT_WAITING, /* until due_ns */
    EVENT_SENT,
    EVENT_DONE,
    EVENT_LOST, /* every try is used up; a callback: not answered in time */
};
struct event
{
    size_t index;
    char id[FEISHU_ID_SIZE];
    char *json;
    struct event *next; /* in the list of those that wait */
    enum event_state state;
    bool is_callback, is_load;
    unsigned retry_count, sent_count, ack_count;
    uint64_t made_ns, due_ns, first_sent_ns, done_ns;
    size_t note;     /* index into notes + 1 */
    json_t *result;  /* of a callback */
    int answer_code; /* the last */
};

struct delivery
{
    struct event *event;
    unsigned conn;       /* 0: by webhook */
    struct sma_buf stub; /* the frame to be answered without payload */
    uint64_t sent_ns;
    bool is_over;
};

struct link
{
    unsigned conn;
    char device[32];
    uint64_t opened_ns, ping_ns;
    size_t ping_count, event_count;
    bool is_deaf; /* gets no events: half open, frozen */
};

struct ticket
{
    char text[48];
    bool is_used;
};

struct token
{
    char text[64];
    uint64_t end_ns;
};

/* What a refused handshake says. */
struct refusal
{
    int64_t times, http, status;
    char message[96], auth_code[24];
};

struct load
{
    size_t total, started, finished, window, chat_count, per_chat, next_chat;
    bool is_flood, is_asking;
    char text[256];
};

struct fake_feishu
{
    struct ws_server *server;
    struct platform platform;
    struct platform_sender *sender; /* of webhooks; NULL until one is wanted */

    char app[64], secret[64];
    bool is_app_disabled, reads_all, is_long_connection_off;
    bool lacks_send;    /* a scope that is asked for and not granted */
    bool sees_contacts; /* the rights to see members of groups and contacts: few apps have them */
    uint64_t number;    /* for ids */
    json_t *index;      /* id -> number: persons "ou_", rooms "oc_", uuids "uuid:", files */
    struct person **persons;
    struct room **rooms;
    struct note **notes;
    struct file **files;
    struct event **events;
    struct delivery **deliveries;
    size_t person_count, person_room, room_count, room_room, note_count, note_room, file_count,
        file_room, event_count, event_room, delivery_count, delivery_room;
    json_t *reactions;  /* list of {id, message, emoji} */
    json_t *complaints; /* what a strict platform refuses */
    json_t *forged;     /* list of {kind, status} */

    /* tokens */
    struct token tokens[FEISHU_TOKENS_MAX];
    size_t token_count;
    int64_t token_life_s, token_renew_s;

    /* the long connection */
    struct link links[FEISHU_LINKS_MAX];
    size_t link_count, link_turn, link_max;
    struct ticket *tickets;
    size_t ticket_count, ticket_room;
    struct refusal refusal;
    struct ws_server *bad_tls; /* where the next `bad_tls_times` URLs lead */
    int64_t bad_tls_times;
    int64_t ping_interval_s, reconnect_interval_s, reconnect_nonce_s;
    int64_t ping_limit_ms; /* 0: twice the interval and a second */
    bool has_pongs, has_pong_config, is_config_hidden;
    int32_t service;

    /* delivering */
    double scale;   /* of the waits before a redelivery */
    int64_t ack_ms; /* an answer later than this is none */
    size_t ack_first;
    struct event *waiting;
    int64_t lost_acks, doubles, pieces_times, sent_total, acked_total;
    size_t pieces;
    char pieces_order[16]; /* "" in order, "reverse", "shuffle", "missing", "double" */
    uint64_t late_acks, retries, lost_events, ping_count, opened_count, ended_count, refused_count,
        repeat_count, flood_count;

    /* webhook */
    char hook_path[256], hook_key[128], hook_token[128];
    int hook_port;
    bool is_hook;
    uint64_t challenge_count, challenge_good_count;

    /* CardKit */
    struct kit_card **kit_cards;
    size_t kit_count, kit_room;
    struct rate kit_rate;
    unsigned kit_per_second; /* operations of one card */
    int64_t kit_stream_ms;   /* streaming ends by itself after that */
    uint64_t kit_wrong_sequences;

    unsigned chat_per_second, edit_per_second, app_per_second;
    struct rate sends;
    int64_t uuid_life_ms;
    struct load load;
};

/* -- fake_feishu.c: the state ------------------------------------------------------------------ */
void fake_feishu_make_id(struct fake_feishu *fake, const char *prefix, char *ret_id);
struct person *fake_feishu_person(const struct fake_feishu *fake, const char *id);
struct person *fake_feishu_add_person(struct fake_feishu *fake, const char *id, const char *name);
struct room *fake_feishu_room(const struct fake_feishu *fake, const char *id);
struct room *fake_feishu_add_room(struct fake_feishu *fake, const char *id, const char *name);
struct note *fake_feishu_note(const struct fake_feishu *fake, const char *id);
struct note *fake_feishu_add_note(struct fake_feishu *fake, struct room *room, const char *from,
                                  const char *type);
struct file *fake_feishu_add_file(struct fake_feishu *fake, const char *prefix, const char *type,
                                  const char *name, struct sma_str bytes);
struct file *fake_feishu_file(const struct fake_feishu *fake, const char *key);
/** Something the platform would refuse, or not understand, was done. */
void fake_feishu_complain(struct fake_feishu *fake, const char *format, ...) SMA_PRINTF(2, 3);
size_t fake_feishu_index(const struct fake_feishu *fake, const char *key); /* number + 1; 0: none */
void fake_feishu_set_index(struct fake_feishu *fake, const char *key, size_t number);
/** The note a text of ours names: "m<index>-feishu". */
struct note *fake_feishu_named_note(const struct fake_feishu *fake, const char *text);

/* -- fake_feishu_events.c ---------------------------------------------------------------------- */
/** Deliver `body` (taken over) as an event of this type. @return the event */
struct event *fake_feishu_publish(struct fake_feishu *fake, const char *type, json_t *body);
/** Deliver these bytes; json is taken over. */
struct event *fake_feishu_publish_bytes(struct fake_feishu *fake, const char *id, char *json);
json_t *fake_feishu_say(void *user, const json_t *command);
json_t *fake_feishu_press(void *user, const json_t *command);
json_t *fake_feishu_change_bot(void *user, const json_t *command); /* bot_added, bot_removed */
json_t *fake_feishu_recall(void *user, const json_t *command);
json_t *fake_feishu_raw_event(void *user, const json_t *command);
json_t *fake_feishu_start_load(void *user, const json_t *command);
/** A message of the load was answered, or (a flood) acknowledged: the next. */
void fake_feishu_load_next(struct fake_feishu *fake, struct room *room);

/* -- fake_feishu_link.c: the long connection --------------------------------------------------- */
void fake_feishu_serve_endpoint(struct fake_feishu *fake, struct platform_call *call,
                                const json_t *body);
void fake_feishu_serve_handshake(struct fake_feishu *fake, const struct ws_server_request *request);
void fake_feishu_take_frame(struct fake_feishu *fake, unsigned conn, struct sma_str bytes,
                            bool is_binary);
void fake_feishu_link_closed(struct fake_feishu *fake, unsigned conn, unsigned code);
/** Hand the event out now, on whatever there is. */
void fake_feishu_deliver(struct fake_feishu *fake, struct event *event);
/** This try of it has failed. */
void fake_feishu_delivery_failed(struct fake_feishu *fake, struct event *event);
void fake_feishu_delivery_answered(struct fake_feishu *fake, struct delivery *delivery, int code,
                                   json_t *result);
/** What is due. */
void fake_feishu_tick(struct fake_feishu *fake);
json_t *fake_feishu_pong_config(const struct fake_feishu *fake);
json_t *fake_feishu_break_link(void *user, const json_t *command);

/* -- fake_feishu_webhook.c --------------------------------------------------------------------- */
void fake_feishu_post_event(struct fake_feishu *fake, struct event *event, size_t delivery);
json_t *fake_feishu_set_webhook(void *user, const json_t *command);
json_t *fake_feishu_challenge(void *user, const json_t *command);
json_t *fake_feishu_forge(void *user, const json_t *command);

/* -- fake_feishu_rest.c: calls ----------------------------------------------------------------- */
struct fake_feishu_call
{
    struct fake_feishu *fake;
    struct platform_call rest;
    const struct ws_server_request *request;
    json_t *body; /* of a JSON request, else NULL */
    json_t *query;
    char id[FEISHU_ID_SIZE], second[FEISHU_ID_SIZE]; /* from the path */
    struct platform_upload uploads[4];
    size_t upload_count;
};
void fake_feishu_serve(struct fake_feishu *fake, const struct ws_server_request *request);
/** {"code":0,"msg":"success","data":data}; takes data over. */
void fake_feishu_answer(struct fake_feishu_call *call, json_t *data);
void fake_feishu_refuse(struct fake_feishu_call *call, int status, int64_t code,
                        const char *message);
void fake_feishu_answer_tree(struct fake_feishu_call *call, int status, const char *headers,
                             json_t *tree);
/** Over the rate? Answers so, with this code. */
bool fake_feishu_is_flooded(struct fake_feishu_call *call, struct rate *rate, unsigned limit,
                            int64_t code);

/* -- fake_feishu_messages.c: sending and changing ---------------------------------------------- */
void fake_feishu_send(struct fake_feishu_call *call);
void fake_feishu_reply(struct fake_feishu_call *call);
void fake_feishu_patch(struct fake_feishu_call *call);
void fake_feishu_edit(struct fake_feishu_call *call);
void fake_feishu_delete(struct fake_feishu_call *call);
void fake_feishu_get(struct fake_feishu_call *call);
void fake_feishu_react(struct fake_feishu_call *call);
void fake_feishu_unreact(struct fake_feishu_call *call);

/** A message of ours says what one of theirs named. */
void fake_feishu_notice_reply(struct fake_feishu *fake, const struct note *answer);

/* -- fake_feishu_kit.c: cards that are made first ---------------------------------------------- */
void fake_feishu_kit_create(struct fake_feishu_call *call);
void fake_feishu_kit_content(struct fake_feishu_call *call);
void fake_feishu_kit_settings(struct fake_feishu_call *call);
void fake_feishu_kit_replace(struct fake_feishu_call *call);
/** The card that an interactive content names; NULL: it names none, or it was refused. */
struct kit_card *fake_feishu_kit_of(struct fake_feishu_call *call, const char *content,
                                    bool *ret_is_refused);
bool fake_feishu_kit_check(struct fake_feishu_call *call, const struct kit_card *card,
                           char **ret_text, bool *ret_is_shared);
/** The message shows the card from now on. */
void fake_feishu_kit_show(struct kit_card *card, struct note *note);
json_t *fake_feishu_kit_list(void *fake, const json_t *command);
/** Does it show a card of CardKit? */
bool fake_feishu_kit_is_shown(const struct fake_feishu *fake, const struct note *note);
/** Cards that are seen and still streaming. */
size_t fake_feishu_kit_unfinished(const struct fake_feishu *fake);
void fake_feishu_kit_free(struct fake_feishu *fake);

/* -- fake_feishu_content.c: what may stand in a message ---------------------------------------- */
struct fake_feishu_wrong
{
    int64_t code;
    char text[200];
};
/** @return false: *ret_wrong says why. On true *ret_text is what people see (free it). */
bool fake_feishu_check_content(const struct fake_feishu *fake, const char *type,
                               const char *content, char **ret_text, bool *ret_is_shared,
                               struct fake_feishu_wrong *ret_wrong);
/** Values of the buttons of a card, in order. */
json_t *fake_feishu_buttons(const char *content);
/** Is this one of the platform's emoji_type? */
bool fake_feishu_is_reaction(const char *emoji_type);
/** What is wrong with the answer to a pressed button; NULL: nothing. */
const char *fake_feishu_check_answer(const struct fake_feishu *fake, const json_t *answer);

/* -- fake_feishu_control.c --------------------------------------------------------------------- */
json_t *fake_feishu_control(void *fake, const json_t *command);

#endif
