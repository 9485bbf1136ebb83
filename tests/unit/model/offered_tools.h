/* offered_tools.h — a request that offers tools, and answers to it through a decoder. */
#ifndef SMA_TEST_OFFERED_TOOLS_H
#define SMA_TEST_OFFERED_TOOLS_H

#include "sma/buf.h"
#include "sma/text.h"
#include "support.h"

#define TOOL(name, properties)                                                                \
    "{\"type\":\"function\",\"function\":{\"name\":\"" name                                   \
    "\",\"description\":\"\",\"parameters\":{\"type\":\"object\",\"properties\":{" properties \
    "}}}}"
/* clang-format off */
static const char request[] =
    "{\"model\":\"m\",\"tools\":["
    TOOL("read_file", "\"path\":{\"type\":\"string\"},\"limit\":{\"type\":\"integer\"}") ","
    TOOL("write_file", "\"path\":{\"type\":\"string\"},\"text\":{\"type\":\"string\"}") ","
    TOOL("get_data", "") "," TOOL("getData", "") ","
    TOOL("list", "\"deep\":{\"type\":\"boolean\"},\"names\":{\"type\":\"array\"}")
    "],\"messages\":[]}";
/* clang-format on */

static struct sma_decoder *decoder_of;

static void begin(enum sma_llm_api api, const char *base_url)
{
    struct sma_config_llm llm = test_llm(api, "custom");
    llm.base_url = base_url;
    sma_decoder_destroy(decoder_of);
    decoder_of = sma_decoder_create(&llm);
    CHECK(decoder_of != NULL);
    sma_decoder_reset(decoder_of, 1);
    sma_decoder_set_request(decoder_of, sma_str(request));
}

#endif
