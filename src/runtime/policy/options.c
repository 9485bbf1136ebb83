/*
 * options.c — reads a command by the description of its program. Whatever is not described, or is
 * not there in the text (an expansion where an option may stand, a value that may be several
 * words), becomes a note.
 */
#include "options_tables.h"

static const char NOT_UNDERSTOOD[] = "an option of it is not known to be harmless";
static const char NOT_CONSTANT[] = "a word that says what it does is not constant";

static struct sma_shell_word *word_at(const struct reading *reading, uint32_t index)
{
    return &reading->shell->words[reading->shell->commands[reading->command].first_word + index];
}

static uint32_t word_count(const struct reading *reading)
{
    return reading->shell->commands[reading->command].word_count;
}

static void note(struct reading *reading, uint32_t index, const char *why)
{
    sma_unwrap_note(reading->shell, reading->command, index, why);
}

static const struct description *find_in(const struct description *table, size_t count,
                                         struct sma_str base)
{
    for (size_t i = 0; i < count; i++)
        if (strchr(table[i].programs, base.ptr[0]) != NULL && /* most rows end here */
            sma_list_has(table[i].programs, base))
            return &table[i];
    return NULL;
}

const struct description *sma_options_of(struct sma_str base)
{
    if (base.len == 0)
        return NULL;
    const struct description *found = find_in(SMA_OPTIONS_FILES, SMA_OPTIONS_FILES_COUNT, base);
    if (found == NULL)
        found = find_in(SMA_OPTIONS_NET, SMA_OPTIONS_NET_COUNT, base);
    return found != NULL ? found : find_in(SMA_OPTIONS_BUILD, SMA_OPTIONS_BUILD_COUNT, base);
}

/* -- the description --------------------------------------------------------------------------- */
struct found
{
    enum option_role role; /* 0: not known */
    struct sma_str name;
};

static struct sma_str next_name(const char **list)
{
    const char *end = strchrnul(*list, ' ');
    struct sma_str name = {*list, (size_t)(end - *list)};
    *list = *end == '\0' ? end : end + 1;
    return name;
}

static struct found find_short(const struct description *description, char letter)
{
    if (letter == '\0') /* strchr would find the end, and the next look begins behind it */
        return (struct found){0};
    for (uint32_t i = 0; i < description->row_count; i++) {
        const struct option_row *row = &description->rows[i];
        for (const char *at = row->names; (at = strchr(at, letter)) != NULL; at++)
            if ((at == row->names || at[-1] == ' ') && (at[1] == ' ' || at[1] == '\0'))
                return (struct found){row->role, {at, 1}};
    }
    return (struct found){0};
}

/* A name, or the beginning of names that all have one role. */
static struct found find_long(const struct description *description, struct sma_str name)
{
    struct found found = {0};
    bool is_clear = name.len > 0;
    for (uint32_t i = 0; i < description->row_count; i++)
        for (const char *at = description->rows[i].names; *at != '\0';) {
            struct sma_str known = next_name(&at);
            if (known.len < name.len || memcmp(known.ptr, name.ptr, name.len) != 0 ||
                (known.len == 1 && (description->traits & OPTIONS_SINGLE_DASH) == 0))
                continue;
            if (known.len == name.len)
                return (struct found){description->rows[i].role, known};
            is_clear = is_clear && (found.role == 0 || found.role == description->rows[i].role);
            found = (struct found){description->rows[i].role, known};
        }
    is_clear = is_clear && (description->traits & OPTIONS_NO_SHORTENING) == 0;
    return is_clear ? found : (struct found){0};
}

static struct found find_name(const struct description *description, struct sma_str name)
{
    struct found found = find_long(description, name);
    bool is_negated = (description->traits & OPTIONS_NEGATED) != 0 && name.len > 3 &&
                      memcmp(name.ptr, "no-", 3) == 0;
    if (found.role != 0 || !is_negated)
        return found;
    found = find_long(description, (struct sma_str){name.ptr + 3, name.len - 3});
    return found.role == 0 ? found : (struct found){OPTION_FLAG, name};
}

bool sma_options_can_harm(const struct description *description)
{
    for (uint32_t i = 0; i < description->row_count; i++)
        if (description->rows[i].role > OPTION_READ)
            return true;
    return description->finish != NULL;
}

bool sma_options_know(const struct description *description, struct sma_str option)
{
    if (option.len < 2 || option.ptr[0] != '-')
        return false;
    bool is_short = option.ptr[1] != '-' && option.len == 2;
    if (is_short && (description->traits & OPTIONS_SINGLE_DASH) == 0)
        return find_short(description, option.ptr[1]).role != 0;
    size_t skip = option.ptr[1] == '-' ? 2 : 1;
    struct found found =
        find_name(description, (struct sma_str){option.ptr + skip, option.len - skip});
    return found.role != 0 && (found.role == OPTION_FLAG || found.name.len == option.len - skip);
}

/* -- options ----------------------------------------------------------------------------------- */
static void mark_seen(struct reading *reading, struct sma_str name,
                      const struct sma_shell_word *value)
{
    const char *list = reading->description->marks;
    for (uint32_t bit = 0; list != NULL && *list != '\0' && bit < OPTION_MARK_COUNT_MAX; bit++)
        if (sma_str_is_equal(next_name(&list), name)) {
            reading->repeated |= reading->seen & UINT32_C(1) << bit;
            reading->seen |= UINT32_C(1) << bit;
            if (value != NULL)
                reading->values[bit] = *value;
        }
}

/* The part of a word from byte `skip` on. */
static struct sma_shell_word rest_of(const struct sma_shell_word *word, uint32_t skip)
{
    struct sma_shell_word rest = *word;
    skip = skip < word->len ? skip : word->len;
    rest.text += skip;
    rest.len -= skip;
    rest.fixed_len -= skip < rest.fixed_len ? skip : rest.fixed_len;
    return rest;
}

/* %G?, %(signature); whatever an alias of the configuration stands for is its owner's. */
static bool may_show_signature(const struct sma_shell_word *value)
{
    return !sma_shell_word_is_constant(value) || memmem(value->text, value->len, "%G", 2) != NULL ||
           memmem(value->text, value->len, "signature", strlen("signature")) != NULL;
}

static void use_value(struct reading *reading, const struct found *found, uint32_t index,
                      struct sma_shell_word *value)
{
    if ((value->flags & SMA_WORD_SPLITS) != 0)
        note(reading, index, "the value of an option may be several words");
    mark_seen(reading, found->name, value);
    if ((reading->description->traits & OPTIONS_SIGNATURES) != 0 &&
        sma_list_has("format pretty", found->name) && may_show_signature(value))
        note(reading, index, "a format that starts gpg");
    switch (found->role) {
    case OPTION_READ:
        sma_unwrap_touch_at(reading->shell, reading->command, index, SMA_TOUCH_READ, value);
        break;
    case OPTION_WRITE:
        sma_unwrap_touch_at(reading->shell, reading->command, index, SMA_TOUCH_WRITE, value);
        break;
    case OPTION_BELOW:
        sma_unwrap_touch_at(reading->shell, reading->command, index, SMA_TOUCH_WRITE_BELOW, value);
        break;
    case OPTION_RUN:
        note(reading, index, "an option that runs a command");
        if (sma_shell_word_is_constant(value))
            sma_shell_parse_child(reading->shell, sma_shell_word_str(value), reading->command,
                                  index);
        break;
    case OPTION_ASK:
    case OPTION_ASK_VALUE:
        note(reading, index, NOT_UNDERSTOOD);
        break;
    case OPTION_JUDGED:
        reading->description->judge(reading, found->name, index, value);
        break;
    default:
        break;
    }
}

static bool takes_next(enum option_role role)
{
    return role == OPTION_TEXT || role == OPTION_READ || role == OPTION_WRITE ||
           role == OPTION_BELOW || role == OPTION_RUN || role == OPTION_ASK_VALUE ||
           role == OPTION_JUDGED;
}

/* The option ends its word; its value, if it needs one, is the next. @return the index of the last
 * word it took. */
static uint32_t end_option(struct reading *reading, const struct found *found, uint32_t index)
{
    if (found->role == OPTION_ASK)
        note(reading, index, NOT_UNDERSTOOD);
    if (!takes_next(found->role)) {
        mark_seen(reading, found->name, NULL);
        return index;
    }
    if (index + 1 >= word_count(reading)) {
        if (reading->shell->commands[reading->command].has_more_words)
            note(reading, index, "the value of an option is not known");
        return index;
    }
    struct sma_shell_word *value = word_at(reading, index + 1);
    bool begins_with_dash = value->len > 1 && value->text[0] == '-';
    if (begins_with_dash && (reading->description->traits & OPTIONS_DASH_IS_OPTION) != 0) {
        note(reading, index, NOT_UNDERSTOOD);
        return index;
    }
    if ((value->flags & SMA_WORD_SPLITS) == 0)
        value->flags |= SMA_WORD_VOUCHED;
    struct sma_shell_word whole = *value; /* the list of words may grow */
    use_value(reading, found, index + 1, &whole);
    return index + 1;
}

static uint32_t read_cluster(struct reading *reading, uint32_t index, uint32_t from)
{
    const struct sma_shell_word word = *word_at(reading, index);
    uint32_t last = index;
    bool is_old = from == 0;
    for (uint32_t k = from; k < word.len; k++) {
        struct found found = find_short(reading->description, word.text[k]);
        bool is_number = word.text[k] >= '0' && word.text[k] <= '9' &&
                         (reading->description->traits & OPTIONS_NUMBERS) != 0;
        if (found.role == 0 && (is_number || (reading->description->traits & OPTIONS_PARTIAL) != 0))
            continue;
        if (found.role == 0 || found.role == OPTION_ASK) {
            note(reading, index, NOT_UNDERSTOOD);
            if (found.role == 0)
                sma_unwrap_guess(reading->shell, reading->command, index, index + 2);
            return last;
        }
        bool has_value = found.role != OPTION_FLAG;
        if (has_value && !is_old &&
            (k + 1 < word.len || word.fixed_len < word.len || !sma_shell_word_is_constant(&word))) {
            struct sma_shell_word value = rest_of(&word, k + 1);
            use_value(reading, &found, index, &value);
            return last;
        }
        if (is_old || k + 1 == word.len)
            last = end_option(reading, &found, last);
        else
            mark_seen(reading, found.name, NULL);
    }
    if (!sma_shell_word_is_constant(&word))
        note(reading, index, NOT_CONSTANT); /* -a$x: further letters */
    return last;
}

static uint32_t read_long(struct reading *reading, uint32_t index, uint32_t skip)
{
    const struct sma_shell_word word = *word_at(reading, index);
    const char *equals = memchr(word.text, '=', word.fixed_len);
    bool is_constant = sma_shell_word_is_constant(&word);
    uint32_t name_end = equals == NULL ? word.len : (uint32_t)(equals - word.text);
    struct sma_str name = {word.text + skip, name_end - skip};
    struct found found = {0};
    if (equals != NULL || is_constant)
        found = find_name(reading->description, name);
    if (found.role == 0) {
        if ((is_constant || equals != NULL) &&
            (reading->description->traits & OPTIONS_PARTIAL) != 0)
            return index;
        note(reading, index, NOT_UNDERSTOOD);
        sma_unwrap_guess(reading->shell, reading->command, index, index + (equals != NULL ? 1 : 2));
        return index;
    }
    if (equals == NULL)
        return end_option(reading, &found, index);
    struct sma_shell_word value = rest_of(&word, name_end + 1);
    use_value(reading, &found, index, &value);
    return index;
}

static bool is_number(struct sma_str text)
{
    for (size_t i = 1; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.len > 1;
}

/* The word at `index` is an option. @return the index of the last word it took. */
static uint32_t read_option(struct reading *reading, uint32_t index)
{
    struct sma_shell_word *word = word_at(reading, index);
    uint32_t traits = reading->description->traits;
    uint32_t letters = word->fixed_len < word->len ? word->fixed_len : word->len;
    if ((word->flags & SMA_WORD_SPLITS) != 0 || letters < 2) {
        note(reading, index, NOT_CONSTANT);
        return index;
    }
    word->flags |=
        SMA_WORD_VOUCHED; /* its fixed part says which option it is, or there will be a note */
    if (word->text[1] == '-')
        return read_long(reading, index, 2);
    if ((traits & OPTIONS_NUMBERS) != 0 && is_number(sma_shell_word_str(word)))
        return index;
    if ((traits & OPTIONS_SINGLE_DASH) != 0)
        return read_long(reading, index, 1);
    return read_cluster(reading, index, 1);
}

static void add_operand(struct reading *reading, uint32_t index, bool is_behind_dashes)
{
    struct sma_shell_word *word = word_at(reading, index);
    word->flags |= SMA_WORD_OPERAND;
    bool may_be_many =
        (word->flags & SMA_WORD_SPLITS) != 0 && (word->flags & SMA_WORD_DYNAMIC) != 0;
    if (is_behind_dashes && !may_be_many)
        word->flags |= SMA_WORD_VOUCHED;
    if ((reading->description->traits & OPTIONS_CONSTANT) != 0 && !sma_shell_word_is_constant(word))
        note(reading, index, NOT_CONSTANT);
    reading->operand_count++;
}

void sma_options_read(struct sma_shell *shell, uint32_t command, uint32_t first,
                      const struct description *description)
{
    struct reading reading = {
        .shell = shell, .command = command, .first = first, .description = description};
    for (uint32_t i = 0; i < word_count(&reading); i++) /* they may be those of a launcher */
        word_at(&reading, i)->flags &= ~(uint32_t)(SMA_WORD_OPERAND | SMA_WORD_VOUCHED);
    bool is_behind_dashes = false, has_stopped = false;
    for (uint32_t i = first; i < word_count(&reading); i++) {
        const struct sma_shell_word *word = word_at(&reading, i);
        if (i == first && (description->traits & OPTIONS_OLD_STYLE) != 0 && word->len > 0 &&
            word->text[0] != '-') {
            if (sma_shell_word_is_constant(word))
                i = read_cluster(&reading, i, 0);
            else
                note(&reading, i, NOT_CONSTANT);
        } else if (is_behind_dashes || has_stopped || word->len < 2 || word->text[0] != '-') {
            bool may_be_option = !is_behind_dashes && word->len == 1 && word->text[0] == '-' &&
                                 !sma_shell_word_is_constant(word);
            if (may_be_option)
                note(&reading, i, NOT_CONSTANT);
            add_operand(&reading, i, is_behind_dashes);
            has_stopped |= (description->traits & OPTIONS_STOP) != 0;
        } else if (sma_shell_word_is_constant(word) && word->len == 2 && word->text[1] == '-') {
            is_behind_dashes = true;
        } else {
            i = read_option(&reading, i);
        }
    }
    if (description->finish != NULL)
        description->finish(&reading);
}

/* -- for `finish` ------------------------------------------------------------------------------ */
static uint32_t find_mark(const struct reading *reading, struct sma_str name)
{
    const char *list = reading->description->marks;
    for (uint32_t bit = 0; list != NULL && *list != '\0'; bit++)
        if (sma_str_is_equal(next_name(&list), name))
            return bit;
    return OPTION_MARK_COUNT_MAX;
}

bool sma_options_saw(const struct reading *reading, const char *names)
{
    while (*names != '\0') {
        uint32_t bit = find_mark(reading, next_name(&names));
        SMA_ASSERT(bit < OPTION_MARK_COUNT_MAX);
        if ((reading->seen >> bit & 1) != 0)
            return true;
    }
    return false;
}

bool sma_options_repeated(const struct reading *reading, const char *names)
{
    unsigned count = 0;
    while (*names != '\0') {
        uint32_t bit = find_mark(reading, next_name(&names));
        SMA_ASSERT(bit < OPTION_MARK_COUNT_MAX);
        count += (reading->seen >> bit & 1) + (reading->repeated >> bit & 1);
    }
    return count > 1;
}

const struct sma_shell_word *sma_options_value(const struct reading *reading, const char *names)
{
    while (*names != '\0') {
        uint32_t bit = find_mark(reading, next_name(&names));
        SMA_ASSERT(bit < OPTION_MARK_COUNT_MAX);
        if ((reading->seen >> bit & 1) != 0 && reading->values[bit].text != NULL)
            return &reading->values[bit];
    }
    return NULL;
}

const struct sma_shell_word *sma_options_operand(const struct reading *reading, uint32_t n,
                                                 uint32_t *ret_index)
{
    for (uint32_t i = reading->first; i < word_count(reading); i++)
        if ((word_at(reading, i)->flags & SMA_WORD_OPERAND) != 0 && n-- == 0) {
            if (ret_index != NULL)
                *ret_index = i;
            return word_at(reading, i);
        }
    return NULL;
}

void sma_options_touch(struct reading *reading, uint32_t n, enum sma_shell_touch_kind kind)
{
    uint32_t index = 0;
    const struct sma_shell_word *operand = sma_options_operand(reading, n, &index);
    if (operand != NULL)
        sma_unwrap_touch_at(reading->shell, reading->command, index, kind, operand);
}

void sma_options_touch_made(struct reading *reading, enum sma_shell_touch_kind kind,
                            const struct sma_shell_word *first, const char *between,
                            const struct sma_shell_word *second)
{
    struct sma_str tail =
        second == NULL ? SMA_STR("") : sma_program_base(sma_shell_word_str(second));
    size_t middle = strlen(between);
    char *text = sma_shell_reserve(reading->shell, first->len + middle + tail.len + 1);
    if (text == NULL)
        return;
    memcpy(text, first->text, first->len);
    memcpy(text + first->len, between, middle);
    if (tail.len > 0)
        memcpy(text + first->len + middle, tail.ptr, tail.len);
    struct sma_shell_word made = *first;
    made.text = text;
    made.len = (uint32_t)(first->len + middle + tail.len);
    text[made.len] = '\0';
    if (sma_shell_word_is_constant(first))
        made.fixed_len = made.len;
    if (second != NULL && !sma_shell_word_is_constant(second)) {
        made.flags |= second->flags & SMA_WORD_NOT_CONSTANT;
        made.fixed_len = first->fixed_len;
    }
    sma_unwrap_touch_at(reading->shell, reading->command, word_count(reading) - 1, kind, &made);
}

void sma_options_touch_here(struct reading *reading)
{
    struct sma_shell_word here = {.text = ".", .len = 1, .fixed_len = 1};
    here.raw = word_at(reading, 0)->raw; /* what people are told */
    here.raw_len = word_at(reading, 0)->raw_len;
    sma_unwrap_touch_at(reading->shell, reading->command, word_count(reading) - 1,
                        SMA_TOUCH_WRITE_BELOW, &here);
}
