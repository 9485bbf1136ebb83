/*
 * options_files.c — the options of programs that copy, move, make and remove files, and what their
 * operands are.
 *
 * Source: cp(1), mv(1), ln(1), install(1), tee(1), touch(1), mkdir(1), rmdir(1), rm(1),
 * truncate(1), chmod(1), chown(1), chgrp(1), uniq(1), unlink(1), split(1), csplit(1), sort(1),
 * dd(1), GNU coreutils 9.1; gzip(1) 1.12, bzip2(1) 1.0.8, xz(1) 5.4.
 */
#include "options_tables.h"

/* -- copies ------------------------------------------------------------------------------------ */
static const char COPY_MARKS[] = "t target-directory T no-target-directory S suffix b backup "
                                 "parents r R recursive a archive l link s symbolic-link";

static bool makes_backup(const struct reading *reading)
{
    return sma_options_saw(reading, "S suffix b backup");
}

/* The file `target` is written, and with an option its backup beside it. */
static void touch_target(struct reading *reading, const struct sma_shell_word *folder,
                         const struct sma_shell_word *source)
{
    const struct sma_shell_word *suffix = sma_options_value(reading, "S suffix");
    sma_options_touch_made(reading, SMA_TOUCH_WRITE, folder, source == NULL ? "" : "/", source);
    if (!makes_backup(reading) || suffix == NULL)
        return; /* without a suffix it is name~ */
    if (!sma_shell_word_is_constant(suffix) || source != NULL) {
        sma_unwrap_note(reading->shell, reading->command, UINT32_MAX - 1,
                        "a backup whose name is made up");
        return;
    }
    sma_options_touch_made(reading, SMA_TOUCH_WRITE, folder, "", suffix);
}

/* SOURCE... DESTINATION, or SOURCE... with -t FOLDER. The destination may be a folder: both names
 * are touched. */
static void finish_copy_as(struct reading *reading, enum sma_shell_touch_kind source_kind,
                           bool copies_folders)
{
    const struct sma_shell_word *folder = sma_options_value(reading, "t target-directory");
    bool has_folder = folder != NULL;
    uint32_t count = reading->operand_count,
             source_count = has_folder || count == 0 ? count : count - 1;
    bool is_file = sma_options_saw(reading, "T no-target-directory");
    for (uint32_t i = 0; i < source_count; i++)
        sma_options_touch(reading, i, source_kind);
    if (!has_folder)
        folder = sma_options_operand(reading, count - 1, NULL);
    if (count == 0 || folder == NULL)
        return;
    const struct sma_shell_word target = *folder;
    if (source_count == 0) { /* ln x: a link in this folder; cp x: an error */
        touch_target(reading, &target, NULL);
        return;
    }
    if (!has_folder)
        touch_target(reading, &target, NULL);
    for (uint32_t i = 0; i < source_count && !is_file; i++)
        touch_target(reading, &target, sma_options_operand(reading, i, NULL));
    if (copies_folders || sma_options_saw(reading, "parents"))
        sma_options_touch_made(reading, SMA_TOUCH_WRITE_BELOW, &target, "", NULL);
}

/* `mv *.log logs/`: a name that begins with a dash is an option here. It ends in .log, so what its
 * value names does, too, and nothing that a program runs or reads as code ends so. */
static void vouch_for_data(struct reading *reading)
{
    static const char data[] = ".log .csv .tsv .png .jpg .jpeg .gif .svg .pdf .gz .tgz .zip .bak "
                               ".tmp .out .dat";
    for (uint32_t i = 0; i < reading->operand_count; i++) {
        uint32_t index = 0;
        const struct sma_shell_word *operand = sma_options_operand(reading, i, &index);
        struct sma_str text = sma_shell_word_str(operand);
        bool is_pattern = (operand->flags & SMA_WORD_GLOB) != 0 &&
                          (operand->flags & (SMA_WORD_DYNAMIC | SMA_WORD_BRACE | SMA_WORD_TILDE |
                                             SMA_WORD_QUOTED)) == 0;
        if (is_pattern && text.len > 1 && text.ptr[0] == '*' &&
            sma_list_has(data, (struct sma_str){text.ptr + 1, text.len - 1}))
            reading->shell->words[reading->shell->commands[reading->command].first_word + index]
                .flags |= SMA_WORD_VOUCHED;
    }
}

static void finish_copy(struct reading *reading)
{
    /* another name for a file is a way to write it later */
    bool links = sma_options_saw(reading, "l link s symbolic-link");
    finish_copy_as(reading, links ? SMA_TOUCH_WRITE : SMA_TOUCH_READ,
                   sma_options_saw(reading, "r R recursive a archive"));
    vouch_for_data(reading);
}

static void finish_move(struct reading *reading)
{
    finish_copy_as(reading, SMA_TOUCH_WRITE, false);
    vouch_for_data(reading);
}

static const struct option_row CP[] = {
    {OPTION_FLAG, "a archive attributes-only b copy-contents d f force i interactive H l link L "
                  "dereference n no-clobber P "
                  "no-dereference p parents R r recursive remove-destination "
                  "strip-trailing-slashes s symbolic-link T "
                  "no-target-directory u v verbose x one-file-system Z debug help version"},
    {OPTION_MAYBE, "backup preserve reflink update context"},
    {OPTION_TEXT, "no-preserve sparse S suffix"},
    {OPTION_BELOW, "t target-directory"},
};
static const struct option_row MV[] = {
    {OPTION_FLAG, "b f force i interactive n no-clobber strip-trailing-slashes T "
                  "no-target-directory u v verbose Z context "
                  "debug no-copy exchange help version"},
    {OPTION_MAYBE, "backup update"},
    {OPTION_TEXT, "S suffix"},
    {OPTION_BELOW, "t target-directory"},
};
static const struct option_row LN[] = {
    {OPTION_FLAG,
     "b f force i interactive L logical n no-dereference P physical r relative s symbolic T "
     "no-target-directory v verbose help version"},
    {OPTION_ASK, "d F directory"},
    {OPTION_MAYBE, "backup"},
    {OPTION_TEXT, "S suffix"},
    {OPTION_BELOW, "t target-directory"},
};

static void finish_install(struct reading *reading)
{
    if (!sma_options_saw(reading, "d directory")) {
        finish_copy_as(reading, SMA_TOUCH_READ, false);
        return;
    }
    for (uint32_t i = 0; i < reading->operand_count; i++)
        sma_options_touch(reading, i, SMA_TOUCH_WRITE);
}

static const struct option_row INSTALL[] = {
    {OPTION_FLAG, "b c C compare d directory D p preserve-timestamps T no-target-directory v "
                  "verbose preserve-context Z "
                  "debug help version"},
    {OPTION_MAYBE, "backup context"},
    {OPTION_TEXT, "g group m mode o owner S suffix"},
    {OPTION_BELOW, "t target-directory"},
    {OPTION_ASK, "s strip"},
    {OPTION_RUN, "strip-program"},
};

/* -- every operand ----------------------------------------------------------------------------- */
static void write_from(struct reading *reading, uint32_t from)
{
    for (uint32_t i = from; i < reading->operand_count; i++)
        sma_options_touch(reading, i, SMA_TOUCH_WRITE);
}

static void finish_all(struct reading *reading)
{
    write_from(reading, 0);
}

/* MODE FILE..., or FILE... with --reference */
static void finish_mode(struct reading *reading)
{
    write_from(reading, sma_options_saw(reading, "reference r w x X s t u g o a") ? 0 : 1);
}

static const struct option_row TEE[] = {
    {OPTION_FLAG, "a append i ignore-interrupts p help version"},
    {OPTION_MAYBE, "output-error"},
};
static const struct option_row TOUCH[] = {
    {OPTION_FLAG, "a c no-create f h no-dereference m help version"},
    {OPTION_TEXT, "d date t time"},
    {OPTION_READ, "r reference"},
};
static const struct option_row MKDIR[] = {
    {OPTION_FLAG, "p parents v verbose Z help version"},
    {OPTION_TEXT, "m mode"},
    {OPTION_MAYBE, "context"},
};
static const struct option_row RMDIR[] = {
    {OPTION_FLAG, "ignore-fail-on-non-empty p parents v verbose help version"},
};
static const struct option_row RM[] = {
    {OPTION_FLAG, "f force i I one-file-system r R recursive d dir v verbose help version"},
    {OPTION_MAYBE, "interactive preserve-root"},
    {OPTION_ASK, "no-preserve-root"},
};
static const struct option_row TRUNCATE[] = {
    {OPTION_FLAG, "c no-create o io-blocks help version"},
    {OPTION_TEXT, "s size"},
    {OPTION_READ, "r reference"},
};
static const struct option_row CHMOD[] = {
    {OPTION_FLAG, "c changes f silent quiet v verbose preserve-root R recursive h H L P "
                  "dereference no-dereference r w x X "
                  "s t u g o a help version"},
    {OPTION_READ, "reference"},
    {OPTION_ASK, "no-preserve-root"},
};
static const struct option_row CHOWN[] = {
    {OPTION_FLAG, "c changes f silent quiet v verbose preserve-root R recursive h H L P "
                  "dereference no-dereference help "
                  "version"},
    {OPTION_READ, "reference"},
    {OPTION_TEXT, "from"},
    {OPTION_ASK, "no-preserve-root"},
};
static const struct option_row HELP_ONLY[] = {{OPTION_FLAG, "help version"}};

/* -- uniq IN OUT, split FILE PREFIX, csplit, sort, dd ------------------------------------------ */
static void finish_uniq(struct reading *reading)
{
    write_from(reading, 1);
}

static const struct option_row UNIQ[] = {
    {OPTION_FLAG, "c count d repeated D i ignore-case u unique z zero-terminated help version"},
    {OPTION_MAYBE, "all-repeated group"},
    {OPTION_TEXT, "f skip-fields s skip-chars w check-chars"},
};

/* PREFIX and letters that are counted on: a pattern of names. */
static void finish_split(struct reading *reading)
{
    static const struct sma_shell_word usual = {
        .text = "x", .raw = "x", .len = 1, .raw_len = 1, .fixed_len = 1};
    static const struct sma_shell_word none = {.text = "", .raw = ""};
    const struct sma_shell_word *operand = sma_options_operand(reading, 1, NULL);
    const struct sma_shell_word *suffix = sma_options_value(reading, "additional-suffix");
    struct sma_shell_word prefix = operand == NULL ? usual : *operand;
    struct sma_shell_word tail = suffix == NULL ? none : *suffix;
    if (memchr(tail.text, '/', tail.len) != NULL)
        sma_unwrap_note(reading->shell, reading->command, NOTE_NEVER_COVERED,
                        "a suffix with a slash");
    tail.flags |= SMA_WORD_GLOB | SMA_WORD_SPLITS;
    sma_options_touch_made(reading, SMA_TOUCH_WRITE, &prefix, "*", &tail);
}

static const struct option_row SPLIT[] = {
    {OPTION_FLAG, "d x e elide-empty-files u unbuffered verbose help version"},
    {OPTION_MAYBE, "numeric-suffixes hex-suffixes"},
    {OPTION_TEXT,
     "a suffix-length additional-suffix b bytes C line-bytes l lines n number t separator"},
    {OPTION_RUN, "filter"},
};

static void finish_csplit(struct reading *reading)
{
    struct sma_shell_word xx = {.text = "xx*",
                                .raw = "xx*",
                                .len = 3,
                                .raw_len = 3,
                                .fixed_len = 2,
                                .flags = SMA_WORD_GLOB | SMA_WORD_SPLITS};
    sma_options_touch_made(reading, SMA_TOUCH_WRITE, &xx, "", NULL);
}

static const struct option_row CSPLIT[] = {
    {OPTION_FLAG, "k keep-files suppress-matched s quiet silent z elide-empty-files help version"},
    {OPTION_TEXT, "n digits"},
    {OPTION_ASK_VALUE, "b suffix-format f prefix"},
};

/* -l pipes it through pr, as PATH finds it. */
static const struct option_row DIFF[] = {
    {OPTION_ASK, "l paginate"},
    {OPTION_TEXT, "I F U C W x S D L ignore-matching-lines show-function-line label exclude "
                  "starting-file ifdef width tabsize horizon-lines line-format GTYPE-group-format"},
    {OPTION_READ, "X exclude-from from-file to-file"}};
static const struct option_row SORT[] = {
    {OPTION_FLAG, "b ignore-leading-blanks d dictionary-order f ignore-case g general-numeric-sort "
                  "i ignore-nonprinting M "
                  "month-sort h human-numeric-sort n numeric-sort R random-sort r reverse V "
                  "version-sort c C debug m merge "
                  "s stable u unique z zero-terminated help version"},
    {OPTION_MAYBE, "check"},
    {OPTION_TEXT, "sort batch-size k key S buffer-size t field-separator parallel"},
    {OPTION_READ, "random-source files0-from"},
    {OPTION_WRITE, "o output"},
    {OPTION_ASK_VALUE, "T temporary-directory"},
    {OPTION_RUN, "compress-program"},
};

static void finish_dd(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->operand_count; i++) {
        uint32_t index = 0;
        const struct sma_shell_word *word = sma_options_operand(reading, i, &index);
        struct sma_shell_word value = *word;
        bool is_output = value.fixed_len >= 3 && memcmp(value.text, "of=", 3) == 0;
        bool is_input = value.fixed_len >= 3 && memcmp(value.text, "if=", 3) == 0;
        if (!sma_shell_word_is_constant(word))
            sma_unwrap_note(reading->shell, reading->command, index,
                            "a word of dd that is not constant");
        if (!is_output && !is_input)
            continue;
        value.text += 3;
        value.len -= 3;
        value.fixed_len -= 3;
        sma_unwrap_touch_at(reading->shell, reading->command, index,
                            is_output ? SMA_TOUCH_WRITE : SMA_TOUCH_READ, &value);
    }
}

/* gzip and its kin replace their operands by others. */
static const struct option_row GZIP[] = {
    {OPTION_FLAG, "a ascii c stdout to-stdout d decompress uncompress f force h help k keep l list "
                  "L license n no-name "
                  "q quiet r recursive synchronous t test v verbose V version fast best "
                  "rsyncable 0 1 2 3 4 5 6 7 8 "
                  "9 z compress s small e extreme"},
    {OPTION_TEXT, "T threads"},
    {OPTION_ASK, "N name"}, /* the name is the archive's */
    {OPTION_ASK_VALUE, "S suffix"},
};

static void finish_gzip(struct reading *reading)
{
    if (sma_options_saw(reading, "c stdout to-stdout l list t test"))
        return;
    for (uint32_t i = 0; i < reading->operand_count; i++) {
        sma_options_touch(reading, i,
                          sma_options_saw(reading, "r recursive") ? SMA_TOUCH_WRITE_BELOW
                                                                  : SMA_TOUCH_WRITE);
        const struct sma_shell_word *word = sma_options_operand(reading, i, NULL);
        struct sma_shell_word stem = *word; /* Makefile.gz becomes Makefile */
        const char *dot = memrchr(word->text, '.', word->len);
        if (dot == NULL || dot == word->text)
            continue;
        stem.len = (uint32_t)(dot - word->text);
        if (stem.fixed_len > stem.len)
            stem.fixed_len = stem.len;
        sma_options_touch_made(reading, SMA_TOUCH_WRITE, &stem, "", NULL);
    }
}

const struct description SMA_OPTIONS_FILES[] = {
    DESCRIBE("gzip gunzip bzip2 bunzip2 xz unxz", GZIP, 0,
             "c stdout to-stdout l list t test r recursive", finish_gzip),
    DESCRIBE("cp", CP, 0, COPY_MARKS, finish_copy),
    DESCRIBE("mv", MV, 0, COPY_MARKS, finish_move),
    DESCRIBE("ln", LN, 0, COPY_MARKS, finish_move),
    DESCRIBE("install", INSTALL, 0,
             "t target-directory T no-target-directory S suffix b backup d directory parents",
             finish_install),
    DESCRIBE("tee", TEE, 0, NULL, finish_all),
    DESCRIBE("touch", TOUCH, 0, NULL, finish_all),
    DESCRIBE("mkdir", MKDIR, 0, NULL, finish_all),
    DESCRIBE("rmdir", RMDIR, 0, NULL, finish_all),
    DESCRIBE("rm", RM, 0, NULL, finish_all),
    DESCRIBE("unlink", HELP_ONLY, 0, NULL, finish_all),
    DESCRIBE("truncate", TRUNCATE, 0, NULL, finish_all),
    DESCRIBE("chmod", CHMOD, 0, "reference r w x X s t u g o a", finish_mode),
    DESCRIBE("chown chgrp", CHOWN, 0, "reference r w x X s t u g o a", finish_mode),
    DESCRIBE("uniq", UNIQ, OPTIONS_NUMBERS, NULL, finish_uniq),
    DESCRIBE("split", SPLIT, OPTIONS_NUMBERS, "additional-suffix", finish_split),
    DESCRIBE("csplit", CSPLIT, 0, NULL, finish_csplit),
    DESCRIBE("diff", DIFF, OPTIONS_PARTIAL | OPTIONS_NUMBERS, NULL, NULL),
    DESCRIBE("sort", SORT, OPTIONS_NUMBERS, NULL, NULL),
    DESCRIBE("dd", HELP_ONLY, 0, NULL, finish_dd),
};
const size_t SMA_OPTIONS_FILES_COUNT = SMA_COUNT_OF(SMA_OPTIONS_FILES);
