/*
 * A page of the web, in any encoding: what fetch-page reads of it. The first byte says how it is
 * read.
 * Promises: the text is valid UTF-8 without NUL characters, no longer than was allowed, and says so
 * when it was cut; the title is one line of bounded length.
 */
#include "fuzz.h"

#include "page/charset.h"
#include "page/markdown.h"
#include "sma/base.h"
#include "sma/text.h"

#include <stdlib.h>
#include <string.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const char *const labels[] = {"",         "utf-8",       "gbk",  "shift_jis",
                                         "utf-16le", "iso-2022-jp", "big5", "koi8-r"};
    static bool is_loaded;
    if (len == 0)
        return 0;
    if (!is_loaded) {
        sma_markdown_load();
        sma_charset_load();
        is_loaded = true;
    }
    bool is_html = (bytes[0] & 8) == 0;
    size_t max = (bytes[0] & 16) != 0 ? 50 : 100000, text_len;
    char *text = sma_charset_to_utf8((const char *)bytes + 1, len - 1, labels[bytes[0] & 7],
                                     is_html, &text_len);
    require(text != NULL && strlen(text) == text_len);
    require(sma_utf8_is_valid((struct sma_str){text, text_len}));
    struct sma_markdown page;
    require(is_html ? sma_markdown_from_html(text, text_len, "https://a.example/b", max, &page)
                    : sma_markdown_from_text(text, text_len, max, &page));
    require(page.len <= max && strlen(page.text) == page.len);
    require(sma_utf8_is_valid((struct sma_str){page.text, page.len}));
    require(sma_utf8_is_valid(sma_str(page.title)) && strchr(page.title, '\n') == NULL);
    require(strlen(page.title) <= SMA_MARKDOWN_TITLE_BYTES_MAX);
    sma_markdown_fini(&page);
    free(text);
    return 0;
}
