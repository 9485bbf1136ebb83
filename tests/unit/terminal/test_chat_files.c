/*
 * Aim: a path that is typed or dragged into the terminal takes its file along, in every form in
 *      which terminals paste one; words about a file do not give it away.
 * Method: a project and a folder beside it with real pictures; what goes to the service is looked
 *         at.
 */
#include "cli/chat_files.h"
#include "sma/limits.h"
#include "sma/text.h"
#include "support/check.h"
#include "support/pictures.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[1000], project[1100], outside[1100];

static const char *in(const char *folder, const char *name)
{
    static char path[2][2300];
    static int which;
    which = !which;
    snprintf(path[which], sizeof path[which], "%s/%s", folder, name);
    return path[which];
}

static void make_files(void)
{
    struct picture png = picture_png(2, 2, 1), jpeg = picture_jpeg(), pdf = picture_pdf(),
                   text = {(unsigned char *)"words", 5}, none = {(unsigned char *)"", 0};
    snprintf(root, sizeof root, "%s/sma_files_XXXXXX",
             getenv("TMPDIR") == NULL ? "/tmp" : getenv("TMPDIR"));
    CHECK(mkdtemp(root) != NULL);
    char *real = realpath(root, NULL);
    snprintf(root, sizeof root, "%s", real);
    free(real);
    snprintf(project, sizeof project, "%s/project", root);
    snprintf(outside, sizeof outside, "%s/home", root);
    CHECK(mkdir(project, 0700) == 0 && mkdir(outside, 0700) == 0);
    CHECK(mkdir(in(project, ".ship"), 0700) == 0 && mkdir(in(project, "art"), 0700) == 0);
    picture_write(in(project, "plan.png"), &png);
    picture_write(in(project, "art/my plan.png"), &png);
    picture_write(in(project, "notes.txt"), &text);
    picture_write(in(project, "it's (1).png"), &png);
    picture_write(in(outside, "cat.jpg"), &jpeg);
    picture_write(in(outside, "my cat.jpg"), &jpeg);
    picture_write(in(outside, "offer.pdf"), &pdf);
    picture_write(in(outside, "id_rsa"), &text);
    picture_write(in(outside, "none.png"), &none);
    CHECK(mkfifo(in(outside, "pipe.png"), 0600) == 0);
    CHECK(symlink(in(outside, "cat.jpg"), in(project, "link.jpg")) == 0);
    CHECK(setenv("HOME", outside, 1) == 0 && chdir(project) == 0);
    free(png.bytes);
    free(jpeg.bytes);
    free(pdf.bytes);
}

static int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

/* `%` stands for the folder beside the project, `&` for the project. */
static void fill_in(char *to, size_t room, const char *pattern)
{
    size_t len = 0;
    to[0] = '\0';
    for (; *pattern != '\0'; pattern++) {
        const char *folder = *pattern == '%' ? outside : *pattern == '&' ? project : NULL;
        len += folder != NULL ? (size_t)snprintf(to + len, room - len, "%s", folder)
                              : (size_t)snprintf(to + len, room - len, "%c", *pattern);
    }
}

/* The hash in a copy's name is left out. */
static void shorten(const struct sma_chat_files *files, char *to, size_t room)
{
    size_t len = 0;
    const char *at = files->json.len == 0 ? "" : files->json.ptr;
    static const char folder[] = ".ship/.cache/cli/";
    to[0] = '\0';
    for (; *at != '\0' && len + 1 < room; at++) {
        to[len++] = *at;
        to[len] = '\0';
        if (len >= sizeof folder - 1 && strcmp(to + len - (sizeof folder - 1), folder) == 0)
            at += 17; /* sixteen digits and a dash */
    }
}

#define COPY(name) "{\"path\":\".ship/.cache/cli/" name "\"}"

CASE(pasted_forms_are_understood)
{
    static const struct
    {
        const char *typed, *json;
        bool is_all;
    } cases[] = {
        {"%/cat.jpg", COPY("cat.jpg"), true},
        {"'%/my cat.jpg' ", COPY("my_cat.jpg"), true},
        {"\"%/my cat.jpg\"", COPY("my_cat.jpg"), true},
        {"%/my\\ cat.jpg", COPY("my_cat.jpg"), true},
        {"file://%/my%20cat.jpg", "", false}, /* the sign is the folder's here: below */
        {"~/cat.jpg", COPY("cat.jpg"), true},
        {"%/cat.jpg %/offer.pdf", COPY("cat.jpg") "," COPY("offer.pdf"), true},
        {"%/cat.jpg %/cat.jpg", COPY("cat.jpg"), true},
        {"&/plan.png", "{\"path\":\"plan.png\"}", true},
        {"'&/it'\\''s (1).png'", "{\"path\":\"it's (1).png\"}", true},
        {"&/it\\'s\\ \\(1\\).png", "{\"path\":\"it's (1).png\"}", true},
        {"plan.png", "{\"path\":\"plan.png\"}", true},
        {"what is wrong on plan.png?", "{\"path\":\"plan.png\"}", false},
        {"compare plan.png, 'art/my plan.png' and %/cat.jpg.",
         "{\"path\":\"plan.png\"},{\"path\":\"art/my plan.png\"}," COPY("cat.jpg"), false},
        {"link.jpg", COPY("link.jpg"), true}, /* what it leads to is no file of the project */
        /* nothing but a dragged path: whatever it names */
        {"%/id_rsa", COPY("id_rsa"), true},
        {"'&/notes.txt'", "{\"path\":\"notes.txt\"}", true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char typed[8192], json[4096];
        struct sma_chat_files files;
        struct sma_error error = {0};
        bool is_all;
        if (i == 4)
            snprintf(typed, sizeof typed, "file://%s/my%%20cat.jpg", outside);
        else
            fill_in(typed, sizeof typed, cases[i].typed);
        sma_chat_files_init(&files, project);
        enum sma_err err = sma_chat_files_find(&files, sma_str(typed), &is_all, &error);
        shorten(&files, json, sizeof json);
        const char *wanted = i == 4 ? COPY("my_cat.jpg") : cases[i].json;
        if (err != SMA_ERR_OK || strcmp(json, wanted) != 0 || is_all != (cases[i].is_all || i == 4))
            fprintf(stderr, "case %zu: %s: %s %s\n", i, typed, json, error.text);
        CHECK_OK(err);
        CHECK_TEXT(wanted, json);
        CHECK(is_all == (cases[i].is_all || i == 4));
        sma_chat_files_fini(&files);
    }
}

CASE(words_give_nothing_away)
{
    static const char *const cases[] = {
        "why is %/id_rsa refused?",
        "%/id_rsa and %/cat.txt",
        "fix notes.txt",
        "notes.txt",
        "don't touch the plan, it's fine",
        "nothing.png",
        "%/pipe.png is a pipe",
        "'%/my cat.jpg'x",
        "'unfinished",
        "file://elsewhere%/cat.jpg",
        "file://",
        "\\",
        "/",
        "~/",
        "%",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char typed[8192];
        struct sma_chat_files files;
        struct sma_error error = {0};
        bool is_all;
        fill_in(typed, sizeof typed, cases[i]);
        sma_chat_files_init(&files, project);
        CHECK_OK(sma_chat_files_find(&files, sma_str(typed), &is_all, &error));
        if (files.count != 0)
            fprintf(stderr, "case %zu: %s: %s\n", i, typed, files.json.ptr);
        CHECK_INT(0, files.count);
        CHECK(!is_all);
        sma_chat_files_fini(&files);
    }
}

CASE(copies_are_whole_and_private)
{
    SMA_AUTO(sma_chat_files_fini) struct sma_chat_files files;
    struct sma_error error;
    char path[2300], bytes[64];
    struct stat status;
    sma_chat_files_init(&files, project);
    CHECK_OK(sma_chat_files_add(&files, in(outside, "id_rsa"), &error));
    CHECK_STR("id_rsa", sma_buf_str(&files.names));
    CHECK(sscanf(files.json.ptr, "{\"path\":\"%2000[^\"]", path) == 1);
    CHECK(stat(in(project, path), &status) == 0 && (status.st_mode & 0777) == 0600);
    FILE *file = fopen(in(project, path), "r");
    CHECK(file != NULL);
    bytes[fread(bytes, 1, sizeof bytes - 1, file)] = '\0';
    fclose(file);
    CHECK_TEXT("words", bytes);
}

CASE(what_cannot_be_taken_is_said)
{
    static const struct
    {
        const char *path, *word;
    } cases[] = {{"%/nothing", "nothing"},
                 {"%/pipe.png", "not a file"},
                 {"%", "not a file"},
                 {"%/none.png", "empty"}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char path[4096];
        struct sma_chat_files files;
        struct sma_error error = {0};
        fill_in(path, sizeof path, cases[i].path);
        sma_chat_files_init(&files, project);
        CHECK(sma_chat_files_add(&files, path, &error) != SMA_ERR_OK);
        CHECK(strstr(error.text, cases[i].word) != NULL);
        CHECK_INT(0, files.count);
        sma_chat_files_fini(&files);
    }
}

CASE(a_message_takes_so_many_and_no_more)
{
    struct sma_chat_files files;
    struct sma_error error = {0};
    char name[32];
    struct picture png = picture_png(1, 1, 9);
    sma_chat_files_init(&files, project);
    for (int i = 0; i <= SMA_ATTACHMENT_COUNT_MAX; i++) {
        snprintf(name, sizeof name, "%d.png", i);
        picture_write(in(project, name), &png);
        CHECK_INT(i < SMA_ATTACHMENT_COUNT_MAX ? SMA_ERR_OK : SMA_ERR_TOOBIG,
                  sma_chat_files_add(&files, in(project, name), &error));
    }
    CHECK_INT(SMA_ATTACHMENT_COUNT_MAX, files.count);
    sma_chat_files_clear(&files);
    CHECK_OK(sma_chat_files_add(&files, in(project, "1.png"), &error));
    CHECK_STR("{\"path\":\"1.png\"}", sma_buf_str(&files.json));
    sma_chat_files_fini(&files);
    free(png.bytes);
}

int main(void)
{
    make_files();
    check_run_cases(NULL);
    CHECK(chdir("/") == 0);
    CHECK(nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0);
    return check_summary();
}
