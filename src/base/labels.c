/* labels.c — see labels.h. */
#include "sma/labels.h"

#include "sma/reasons.h"
#include "sma/text.h"

#include <stdatomic.h>

enum place_state
{
    PLACE_FREE,
    PLACE_TAKEN, /* its name is being written */
    PLACE_NAMED,
};
struct place
{
    _Atomic int state;
    char name[SMA_LABEL_NAME_BYTES_MAX];
    size_t len;
};
static struct place places[SMA_LABEL_SET_COUNT][SMA_LABEL_COUNT_MAX]; /* the first: "other" */
static _Atomic uint64_t numbers[SMA_FAMILY_COUNT][SMA_LABEL_COUNT_MAX][SMA_LABEL_WORD_COUNT_MAX];
static _Atomic bool is_used[SMA_FAMILY_COUNT][SMA_LABEL_COUNT_MAX];

static const char *const set_names[SMA_LABEL_SET_COUNT] = {"platform", "model", "tool"};
static const struct
{
    enum sma_label_set set;
    const char *name, *label, *words, *type, *help;
    double scale;
} families[SMA_FAMILY_COUNT] = {
#define X(name, set, label, words, type, scale, help) \
    {SMA_LABEL_##set, #name, label, words, type, help, scale},
    SMA_FAMILY_MAP(X)
#undef X
};

/* -- names ------------------------------------------------------------------------------------- */
static bool has_name(const struct place *place, struct sma_str name)
{
    return place->len == name.len && memcmp(place->name, name.ptr, name.len) == 0;
}

/* Whoever takes a free place writes its name and then shows it; others meanwhile see a place that
 * is not theirs. Two who come with one new name at the same moment may get two places: the text
 * then has the name twice, so one waits for the other instead, which takes as long as copying a
 * name. */
unsigned sma_label_place(enum sma_label_set set, struct sma_str name)
{
    SMA_ASSERT(set < SMA_LABEL_SET_COUNT);
    name.len = sma_utf8_cut(name, SMA_LABEL_NAME_BYTES_MAX);
    if (name.len == 0)
        return 0;
    for (unsigned i = 1; i < SMA_LABEL_COUNT_MAX; i++) {
        struct place *place = &places[set][i];
        int state = PLACE_FREE;
        if (atomic_compare_exchange_strong_explicit(&place->state, &state, PLACE_TAKEN,
                                                    memory_order_acquire, memory_order_acquire)) {
            memcpy(place->name, name.ptr, name.len);
            place->len = name.len;
            atomic_store_explicit(&place->state, PLACE_NAMED, memory_order_release);
            return i;
        }
        while (state == PLACE_TAKEN)
            state = atomic_load_explicit(&place->state, memory_order_acquire);
        if (has_name(place, name))
            return i;
    }
    return 0;
}

struct sma_str sma_label_name(enum sma_label_set set, unsigned place)
{
    SMA_ASSERT(set < SMA_LABEL_SET_COUNT && place < SMA_LABEL_COUNT_MAX);
    const struct place *named = &places[set][place];
    bool is_named = atomic_load_explicit(&named->state, memory_order_acquire) == PLACE_NAMED;
    return place == 0 || !is_named ? SMA_STR("other") : (struct sma_str){named->name, named->len};
}

/* -- numbers ----------------------------------------------------------------------------------- */
static _Atomic uint64_t *number_of(enum sma_family family, unsigned place, unsigned word)
{
    SMA_ASSERT(family < SMA_FAMILY_COUNT && place < SMA_LABEL_COUNT_MAX);
    SMA_ASSERT(word < SMA_LABEL_WORD_COUNT_MAX);
    return &numbers[family][place][word];
}

static void note_use(enum sma_family family, unsigned place)
{
    if (!atomic_load_explicit(&is_used[family][place], memory_order_relaxed))
        atomic_store_explicit(&is_used[family][place], true, memory_order_relaxed);
}

void sma_family_add(enum sma_family family, unsigned place, unsigned word, uint64_t n)
{
    atomic_fetch_add_explicit(number_of(family, place, word), n, memory_order_relaxed);
    note_use(family, place);
}

void sma_family_set(enum sma_family family, unsigned place, uint64_t n)
{
    atomic_store_explicit(number_of(family, place, 0), n, memory_order_relaxed);
    note_use(family, place);
}

uint64_t sma_family_get(enum sma_family family, unsigned place, unsigned word)
{
    return atomic_load_explicit(number_of(family, place, word), memory_order_relaxed);
}

/* -- text -------------------------------------------------------------------------------------- */
/* Source: Prometheus text format 0.0.4: backslash, quote and line feed of a label's value are
 * escaped. */
static void put_label(struct sma_buf *buf, const char *label, struct sma_str value)
{
    sma_buf_printf(buf, "%s=\"", label);
    for (size_t i = 0; i < value.len; i++) {
        char byte = value.ptr[i];
        if (byte == '"' || byte == '\\')
            sma_buf_put_char(buf, '\\');
        if (byte == '\n')
            sma_buf_put_text(buf, "\\n");
        else
            sma_buf_put_char(buf, byte);
    }
    sma_buf_put_char(buf, '"');
}

static void put_line(struct sma_buf *buf, enum sma_family family, unsigned place,
                     struct sma_str word, unsigned index)
{
    uint64_t number = sma_family_get(family, place, index);
    sma_buf_printf(buf, "sma_%s{", families[family].name);
    put_label(buf, set_names[families[family].set], sma_label_name(families[family].set, place));
    if (word.len > 0) {
        sma_buf_put_char(buf, ',');
        put_label(buf, families[family].label, word);
    }
    if (families[family].scale == 1)
        sma_buf_printf(buf, "} %llu\n", (unsigned long long)number);
    else
        sma_buf_printf(buf, "} %.9f\n", (double)number * families[family].scale);
}

static void put_place(struct sma_buf *buf, enum sma_family family, unsigned place)
{
    const char *at = families[family].words;
    for (unsigned i = 0; i < SMA_LABEL_WORD_COUNT_MAX; i++) {
        const char *end = strchr(at, ',');
        struct sma_str word = {at, end == NULL ? strlen(at) : (size_t)(end - at)};
        put_line(buf, family, place, word, i);
        if (end == NULL)
            return;
        at = end + 1;
    }
}

static bool is_shown(enum sma_family family, unsigned place)
{
    bool is_named = place == 0 || atomic_load_explicit(&places[families[family].set][place].state,
                                                       memory_order_acquire) == PLACE_NAMED;
    return is_named && atomic_load_explicit(&is_used[family][place], memory_order_relaxed);
}

void sma_labels_format(struct sma_buf *buf)
{
    for (unsigned family = 0; family < SMA_FAMILY_COUNT; family++) {
        bool is_headed = false;
        for (unsigned place = 0; place < SMA_LABEL_COUNT_MAX; place++) {
            if (!is_shown((enum sma_family)family, place))
                continue;
            if (!is_headed)
                sma_buf_printf(buf, "# HELP sma_%s %s\n# TYPE sma_%s %s\n", families[family].name,
                               families[family].help, families[family].name, families[family].type);
            is_headed = true;
            put_place(buf, (enum sma_family)family, place);
        }
    }
    sma_reasons_format(buf);
}

void sma_labels_reset(void)
{
    sma_reasons_reset();
    for (unsigned family = 0; family < SMA_FAMILY_COUNT; family++)
        for (unsigned place = 0; place < SMA_LABEL_COUNT_MAX; place++) {
            atomic_store_explicit(&is_used[family][place], false, memory_order_relaxed);
            for (unsigned word = 0; word < SMA_LABEL_WORD_COUNT_MAX; word++)
                atomic_store_explicit(&numbers[family][place][word], 0, memory_order_relaxed);
        }
    for (unsigned set = 0; set < SMA_LABEL_SET_COUNT; set++)
        for (unsigned place = 0; place < SMA_LABEL_COUNT_MAX; place++)
            atomic_store_explicit(&places[set][place].state, PLACE_FREE, memory_order_relaxed);
}
