/*
 * Aim: what models write in their own tongue (calls, thoughts) is read
 *      as it was meant, on every wire and host; nobody is shown it, no conversation keeps it.
 * Method: tables of texts through the decoders, with a request that offers tools.
 */
#include "offered_tools.h"

static void put_event(struct sma_buf *body, const char *before, struct sma_str text,
                      const char *after)
{
    sma_buf_printf(body, "data: %s", before);
    sma_buf_put_json_string(body, text);
    sma_buf_printf(body, "%s\n\n", after);
}

/* The text as one wire streams it, in pieces of 7 bytes (of ASCII; other texts in one piece). */
static void put_body(struct sma_buf *body, enum sma_llm_api api, const char *text)
{
    size_t len = strlen(text), step = 7;
    for (size_t i = 0; i < len; i++)
        step = (unsigned char)text[i] >= 0x80 ? len : step;
    if (api == SMA_LLM_MESSAGES)
        sma_buf_put_text(body, "data: {\"type\":\"content_block_start\",\"index\":0,"
                               "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n");
    if (api == SMA_LLM_RESPONSES)
        sma_buf_put_text(body, "data: {\"type\":\"response.output_item.added\",\"output_index\":0,"
                               "\"item\":{\"type\":\"message\",\"id\":\"i\",\"content\":[]}}\n\n");
    for (size_t at = 0; at < len; at += step) {
        struct sma_str piece = {text + at, len - at < step ? len - at : step};
        if (api == SMA_LLM_CHAT)
            put_event(body, "{\"choices\":[{\"delta\":{\"content\":", piece, "}}]}");
        else if (api == SMA_LLM_MESSAGES)
            put_event(body,
                      "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                      "\"text_delta\",\"text\":",
                      piece, "}}");
        else
            put_event(body,
                      "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":",
                      piece, "}");
    }
    if (api == SMA_LLM_CHAT)
        sma_buf_put_text(body, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
                               "data: [DONE]\n\n");
    else if (api == SMA_LLM_MESSAGES)
        sma_buf_put_text(body, "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
                               "\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n");
    else
        put_event(body,
                  "{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\","
                  "\"output\":[{\"type\":\"message\",\"id\":\"i\",\"content\":[{\"type\":"
                  "\"output_text\",\"text\":",
                  sma_str(text), "}]}]}}");
}

/* @drafts  nothing but a beginning of it is shown after any byte; NULL: not checked */
static const struct sma_decoded *decode_text(enum sma_llm_api api, const char *base_url,
                                             const char *text, const char *drafts)
{
    struct sma_buf body;
    sma_buf_init(&body, 1 << 22);
    begin(api, base_url);
    put_body(&body, api, text);
    for (size_t i = 0; i < body.len; i++) {
        bool is_send;
        sma_decoder_feed(decoder_of, body.ptr + i, 1);
        if (drafts == NULL || body.ptr[i] != '\n')
            continue;
        struct sma_str shown = sma_str_trim(sma_decoder_progress(decoder_of, &is_send));
        if (shown.len > strlen(drafts) || memcmp(shown.ptr, drafts, shown.len) != 0)
            CHECK_STR(drafts, shown);
    }
    sma_buf_fini(&body);
    return sma_decoder_finish(decoder_of);
}

static const struct
{
    enum sma_llm_api api;
    const char *base_url;
} places[] = {
    {SMA_LLM_CHAT, "http://127.0.0.1:1/v1"},
    {SMA_LLM_CHAT, "https://api.deepseek.com/v1"},
    {SMA_LLM_CHAT, "https://api.moonshot.cn/v1"},
    {SMA_LLM_CHAT, "https://open.bigmodel.cn/v4"},
    {SMA_LLM_CHAT, "https://dashscope.aliyuncs.com/v1"},
    {SMA_LLM_CHAT, "https://gateway.example.com/v1"},
    {SMA_LLM_MESSAGES, "https://api.minimax.io/anthropic"},
    {SMA_LLM_RESPONSES, "http://127.0.0.1:1/v1"},
};

#define CALL_JSON "{\"name\":\"read_file\",\"arguments\":{\"path\":\"notes.txt\"}}"
#define ARGS "{\"path\":\"notes.txt\"}"
#define SPACE \
    "an"      \
    "tml:"

/* Sources: the model families' chat templates, and the reports of the review of the field. */
static const char *const notations[] = {
    "<tool_call>\n" CALL_JSON "\n</tool_call>",
    "<tool_call>" CALL_JSON, /* the end forgotten */
    "<tool_calls>[" CALL_JSON "]</tool_calls>",
    "<tool_call>\n<function=read_file>\n<parameter=path>\nnotes.txt\n</parameter>\n</function>\n"
    "</tool_call>",
    "<tool_call>\n<function=read_file>\n<parameter=path>\nnotes.txt\n</function>\n</tool_call>",
    "<function=read_file>" ARGS "</function>",
    "<function=read_file" ARGS "></function>",
    "<function(read_file)" ARGS "</function>",
    "<minimax:tool_call>\n<invoke name=\"read_file\">\n<parameter name=\"path\">notes.txt"
    "</parameter>\n</invoke>\n</minimax:tool_call>",
    "<function_calls><invoke name=\"read_file\"><parameter name=\"path\">notes.txt</parameter>"
    "</invoke></function_calls>",
    "<function_calls><invoke><tool_name>read_file</tool_name><parameters><path>notes.txt</path>"
    "</parameters></invoke></function_calls>",
    "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"read_file\">\n<｜DSML｜parameter name=\"path\" "
    "string=\"true\">notes.txt</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    "<|DSML|function_calls><|DSML|invoke name=\"read_file\"><|DSML|parameter name=\"path\">"
    "notes.txt</|DSML|parameter></|DSML|invoke></|DSML|function_calls>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n" ARGS
    "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>" ARGS
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<|python_tag|>{\"name\":\"read_file\",\"parameters\":" ARGS "}<|eom_id|>",
    "<|python_tag|>read_file(path=\"notes.txt\")",
    "<|python_start|>[read_file(path='notes.txt')]<|python_end|>",
    "<|tool_call_start|>[read_file(path=\"notes.txt\")]<|tool_call_end|>",
    "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>notes.txt</arg_value>\n</tool_call>",
    "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>notes.txt\n</tool_call>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0"
    "<|tool_call_argument_begin|>" ARGS "<|tool_call_end|><|tool_calls_section_end|>",
    "<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>" ARGS,
    "[TOOL_CALLS][" CALL_JSON "]",
    "[TOOL_CALLS]read_file[ARGS]" ARGS,
    "[TOOL_CALLS]read_file[CALL_ID]abc123[ARGS]" ARGS "</s>",
    "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>" ARGS "<|call|>",
    "<|start|>assistant<|channel|>commentary to=functions.read_file<|message|>" ARGS,
    "<|tool_call|>[" CALL_JSON "]<|/tool_call|>",
    "<|START_ACTION|>[{\"tool_call_id\":\"0\",\"tool_name\":\"read_file\",\"parameters\":" ARGS
    "}]<|END_ACTION|>",
    "<|FunctionCallBegin|>[{\"name\":\"read_file\",\"parameters\":" ARGS "}]<|FunctionCallEnd|>",
    "<|action_start|><|plugin|>{\"name\":\"read_file\",\"parameters\":" ARGS "}<|action_end|>",
    "<TOOLCALL>[" CALL_JSON "]</TOOLCALL>",
    "<|tools_prefix|>[{\"read_file\":" ARGS "}]<|tools_suffix|>",
    "<seed:tool_call><function=read_file><parameter=path>notes.txt</parameter></function>"
    "</seed:tool_call>",
    "<start_function_call>call:read_file{path:<escape>notes.txt<escape>}<end_function_call>",
    "<|tool_call>call:read_file{path:<|\"|>notes.txt<|\"|>}<tool_call|>",
    "```tool_code\nread_file(path=\"notes.txt\")\n```",
    "```tool_call\n" CALL_JSON "\n```",
    "✿FUNCTION✿: read_file\n✿ARGS✿: " ARGS,
    "<tool-use>{\"tool_calls\":[{\"id\":\"x\",\"type\":\"function\",\"function\":" CALL_JSON
    "}]}</tool-use>",
    "<tool_use>\n<name>read_file</name>\n<arguments>" ARGS "</arguments>\n</tool_use>",
    "<read_file>\n<path>notes.txt</path>\n</read_file>",
    "to=functions.read_file " ARGS,
    "<tool_calls><tool_call>read_file<tool_sep><arg_key>path</arg_key><arg_value>notes.txt"
    "</arg_value></tool_call></tool_calls>",
    "{\"name\": \"read_file\", \"parameters\": " ARGS "}",
    "{\"type\":\"function\",\"name\":\"read_file\",\"parameters\":" ARGS "}",
    "[read_file(path=\"notes.txt\")]",
    "<tool_call>" CALL_JSON
    "</tool_call>\n<tool_response>{\"text\":\"made up\"}</tool_response>\nSo",
    "<think>I had better look.\n<tool_call>" CALL_JSON "</tool_call>",
    "I had better look.</think>\n<tool_call>" CALL_JSON "</tool_call>",
    /* words behind it: they were written before the result was known */
    "<tool_call>" CALL_JSON "</tool_call>\nI will look at the file now.",
    "<tool_call>\n<function=read_file>\n<parameter=path>\nnotes.txt\n</parameter>\n</function>\n"
    "</tool_call>\nOne moment.",
    "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>notes.txt</arg_value>\n</"
    "tool_call>\n"
    "Here we go",
    "```tool_call\n" CALL_JSON "\n```\nwait",
    "<toolcall>[" CALL_JSON "]</toolcall>ok",
    "<tool_calls>[" CALL_JSON "]</tool_calls>\n[END FINAL RESPONSE]", /* Apriel */
    "<tool_call>\n" CALL_JSON "\n</tool_call>\n</response>",          /* ERNIE */
    "<tool_call>" CALL_JSON "</tool_call",                            /* its end cut */
    /* Phi, LM Studio, Step 3, LongCat, Anthropic's with its namespace, Solar, Cline */
    "functools[" CALL_JSON "]",
    "functools [{\"name\": \"read_file\", \"arguments\": " ARGS "}]",
    "[TOOL_REQUEST]\n" CALL_JSON "\n[END_TOOL_REQUEST]",
    "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke "
    "name=\"read_file\"><steptml:parameter name=\"path\">notes.txt</steptml:parameter>"
    "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
    "<longcat_tool_call>" CALL_JSON "</longcat_tool_call>",
    "<longcat_tool_call>read_file\n<longcat_arg_key>path</longcat_arg_key>\n<longcat_arg_value>"
    "notes.txt</longcat_arg_value>\n</longcat_tool_call>",
    "<" SPACE "function_calls>\n<" SPACE "invoke name=\"read_file\">\n<" SPACE
    "parameter name=\"path\">notes.txt</" SPACE "parameter>\n</" SPACE "invoke>\n</" SPACE
    "function_calls>\n\nI wait.",
    "<|tool_call:begin|>0<|tool_call:name|>read_file<|tool_call:args|>" ARGS "<|tool_call:end|>",
    "<use_mcp_tool><server_name>x</server_name><tool_name>read_file</tool_name><arguments>" ARGS
    "</arguments></use_mcp_tool>",
    "<execute_tool>\nread_file(path=\"notes.txt\")\n</execute_tool>",
    "<tool_call name=\"read_file\" arguments='" ARGS "'/>",
    "<invoke name=\"read_file\"><parameter "
    "name=\"path\"><![CDATA[notes.txt]]></parameter></invoke>",
    /* a notation that nobody has seen, made of the words that tokens are made of */
    "<|begin_of_tool_use|>" CALL_JSON "<|end_of_tool_use|>",
    "<|TOOL_INVOCATION_START|>read_file" ARGS "<|TOOL_INVOCATION_END|>",
    /* Python: its quotes, print, a call alone; gpt-oss with its parts in another order */
    "{'name': 'read_file', 'arguments': {'path': 'notes.txt'}}",
    "<tool_call>\n{'name': 'read_file', 'arguments': {'path': 'notes.txt'}}\n</tool_call>",
    "[{'name': 'read_file', 'arguments': {'path': 'notes.txt'}}]",
    "```tool_code\nprint(default_api.read_file(path=\"notes.txt\"))\n```",
    "read_file(path=\"notes.txt\")",
    "[read_file(path=\"notes.txt\")]\n\nI called it.",
    "<|start|>assistant to=functions.read_file<|channel|>commentary<|message|>" ARGS "<|call|>",
    "Action: read_file\nAction Input: " ARGS,
    /* blanks inside of marks, an entity for a byte, wrappers */
    "< ｜ DSML ｜ tool_calls>\n< ｜ DSML ｜ invoke name=\"read_file\">\n< ｜ DSML ｜ parameter "
    "name=\"path\" string=\"true\">notes.txt</ ｜ DSML ｜ parameter>\n</ ｜ DSML ｜ invoke>\n</ ｜ "
    "DSML ｜ tool_calls>",
    "<｜DSML｜ function_calls>\n<｜DSML｜ invoke name=\"read_file\">\n<｜DSML｜ parameter "
    "name=\"path\" string=\"true\">notes.txt</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ "
    "function_calls>",
    "< | DSML | function_calls>\n< | DSML | invoke name=\"read_file\">\n< | DSML | parameter "
    "name=\"path\" string=\"true\">notes.txt< / | DSML | parameter>\n< / | DSML | invoke>\n< / | "
    "DSML | function_calls>",
    "<｜tool calls begin｜><｜tool call begin｜>read_file<｜tool sep｜>" ARGS
    "<｜tool call end｜><｜tool calls end｜>",
    "<tool_call>{&quot;name&quot;:&quot;read_file&quot;,&quot;arguments&quot;:{&quot;path&quot;:&"
    "quot;notes.txt&quot;}}</tool_call>",
    "&lt;tool_call&gt;\n{&quot;name&quot;:&quot;read_file&quot;,&quot;arguments&quot;:{&quot;path&"
    "quot;:&quot;notes.txt&quot;}}\n&lt;/tool_call&gt;",
    "&lt;function_calls&gt;&lt;invoke name=&quot;read_file&quot;&gt;&lt;parameter "
    "name=&quot;path&quot;&gt;notes.txt&lt;/parameter&gt;&lt;/invoke&gt;&lt;/function_calls&gt;",
    "<tool_call>\u202f\u00a0" CALL_JSON "</tool_call>",
    "{\"tool_call\":" CALL_JSON "}",
    "{\"tool_use\":{\"name\":\"read_file\",\"input\":" ARGS "}}",
    "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"read_file\",\"input\":" ARGS "}",
    "{\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\":\\\"notes.txt\\\"}\"}",
    "<tool_call>{\"tool_calls\":{\"name\":\"read_file\",\"input\":\"{\\\"path\\\":\\\"notes."
    "txt\\\"}\"}}</tool_call>",
    /* the beginning forgotten */
    "read_file\n<arg_key>path</arg_key>\n<arg_value>notes.txt</arg_value>\n</tool_call>",
    "\n" CALL_JSON "\n</tool_call>",
};

CASE(calls_in_any_notation_run_on_every_wire)
{
    for (size_t k = 0; k < SMA_COUNT_OF(places); k++)
        for (size_t i = 0; i < SMA_COUNT_OF(notations); i++) {
            bool is_lone_end = memcmp(notations[i], "I had", 5) == 0;
            const struct sma_decoded *decoded = decode_text(places[k].api, places[k].base_url,
                                                            notations[i], is_lone_end ? NULL : "");
            CHECK_INT(SMA_DECODED_OK, decoded->status);
            bool is_read = decoded->call_count == 1 && !decoded->calls[0].is_invalid;
            CHECK_STR(notations[i], is_read ? sma_str(notations[i]) : SMA_STR("not read"));
            CHECK_STR("read_file", decoded->calls[0].name);
            CHECK_STR(ARGS, decoded->calls[0].arguments);
            CHECK(!decoded->calls[0].is_invalid);
            CHECK_INT(0, sma_str_trim(decoded->text).len);
            CHECK_INT(SMA_FINISH_TOOLS, decoded->finish);
            static const char *const gone[] = {"tool_call>", "｜",         "<|", "<function",
                                               "arg_key",    "TOOL_CALLS", "</", "made up"};
            for (size_t m = 0; m < SMA_COUNT_OF(gone); m++)
                CHECK(memmem(decoded->fragment.ptr, decoded->fragment.len, gone[m],
                             strlen(gone[m])) == NULL);
        }
}

CASE(the_text_in_front_of_calls_stays)
{
    static const char *const marks[] = {
        "Let me look.\n\n<tool_call>" CALL_JSON "</tool_call>",
        "Let me look.<tool_call>" CALL_JSON "</tool_call>",
        "Let me look.\n<tool_call>\n" CALL_JSON "\n</tool_call>\n\nOne moment please.",
        "Let me look.\nfunctools[" CALL_JSON "]",
        "Let me look.\n[read_file(path=\"notes.txt\")]",
        "Let me look. <tool_call>" CALL_JSON "</tool_call>",
        "Let me look.<|action_start|><|plugin|>" CALL_JSON "<|action_end|>\nok",
        "Let me look.<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0"
        "<|tool_call_argument_begin|>" ARGS "<|tool_call_end|><|tool_calls_section_end|>",
        "<think>Hm.</think>Let me look.\n<function=read_file>" ARGS "</function>",
    };
    for (size_t k = 0; k < SMA_COUNT_OF(places); k++)
        for (size_t i = 0; i < SMA_COUNT_OF(marks); i++) {
            const struct sma_decoded *decoded =
                decode_text(places[k].api, places[k].base_url, marks[i], "Let me look.");
            CHECK_INT(1, decoded->call_count);
            CHECK_STR("Let me look.", decoded->text);
        }
}

CASE(values_have_the_types_of_the_schema)
{
    static const char *const cases[][2] = {
        {"<function=read_file><parameter=path>12</parameter><parameter=limit>\n3\n</parameter>"
         "</function>",
         "{\"path\":\"12\",\"limit\":3}"},
        {"<invoke name=\"list\"><parameter name=\"deep\">True</parameter><parameter name=\"names\">"
         "[\"a\", \"b\"]</parameter></invoke>",
         "{\"deep\":true,\"names\":[\"a\",\"b\"]}"},
        {"<function=write_file><parameter=path>a</parameter><parameter=text>\n<b>\n  x\n</b>\n\n"
         "</parameter></function>",
         "{\"path\":\"a\",\"text\":\"<b>\\n  x\\n</b>\\n\"}"},
        {"<|python_tag|>write_file(path=\"a\", text=\"say \\\"hi\\\", it's\\n\")",
         "{\"path\":\"a\",\"text\":\"say \\\"hi\\\", it's\\n\"}"},
        {"<|python_tag|>read_file(path='a b', limit=20)", "{\"path\":\"a b\",\"limit\":20}"},
        {"<tool_call>list\n</tool_call>", "{}"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        const struct sma_decoded *decoded =
            decode_text(SMA_LLM_CHAT, places[0].base_url, cases[i][0], "");
        CHECK_INT(1, decoded->call_count);
        CHECK_STR(cases[i][1], decoded->calls[0].arguments);
    }
    const struct sma_decoded *two = decode_text(SMA_LLM_CHAT, places[0].base_url,
                                                "<|python_tag|>" CALL_JSON "; " CALL_JSON, "");
    CHECK_INT(2, two->call_count);
}

/* It was shown to the model, or talks about calls. */
CASE(words_about_calls_stay_words)
{
    static const char *const texts[] = {
        "Write `<tool_call>" CALL_JSON "</tool_call>` to call it.",
        "The tag <tool_call> opens a call and </tool_call> ends it.",
        "Use <function=NAME> in your template.",
        "functools is a module: functools[0] is wrong.",
        "Action: buy milk\nAction Input: none",
        "{'a': 1, 'b': 2}",
        "I would call read_file(path=\"a\") next.",
        "Here is my response:\nyes",
        "The <answer> tag, and <output> too",
        "```\n<tool_call>" CALL_JSON "</tool_call>\n```",
        "```xml\n<function=read_file>\n```",
        "A list [1] and {\"name\":\"read_file\"} and <b>bold</b>.",
        "{\"name\":\"Ann\",\"arguments\":{\"a\":1}}",
        "Tags such as `<think>` and <thinking aloud> are words.",
        "1. `</think>` ends it",
        "[see](https://example.com)",
        /* code and quotations of CommonMark */
        "So:\n~~~\n<tool_call>\n" CALL_JSON "\n</tool_call>\n~~~\nDone.",
        "So:\n\n    <tool_call>\n    " CALL_JSON "\n    </tool_call>\n\nDone.",
        "So:\n\n\t<tool_call>" CALL_JSON "</tool_call>",
        "> <tool_call>" CALL_JSON "</tool_call>\n\nThat is Hermes.",
        "So:\n> x\n>\n> <|python_tag|>" CALL_JSON,
        "````md\n```\n<tool_call>\n" CALL_JSON "\n</tool_call>\n```\n````\nDone.",
        "~~~\n```\n~~\n<tool_call>" CALL_JSON "</tool_call>\n~~~~\nDone.",
        "```\n<read_file>\n<path>notes.txt</path>\n</read_file>\n```",
        "So:\n~~~\n<think>Hm.</think>\n~~~\nand\n> <think>Hm.</think>",
        /* marks in sentences */
        "The model MiniMax uses <minimax:tool_call> as its mark, and DeepSeek "
        "<｜tool▁calls▁begin｜>.",
        "The tag </think> ends a thought of R1. The tag <think> opens it.",
        "Use <tool_call> to call, and </tool_call> behind it.",
        "Hermes writes it so: <tool_call> and then JSON.",
        "Three marks. <tool_call>, <function_calls> and (<|python_tag|>).",
        "用<tool_call>来调用工具。",
        "这很简单。<tool_call>是一个标记。",
        "It is <tool_call> {\"name\": ...} in the text.",
        "Write &lt;tool_call&gt; as &amp;lt;tool_call&amp;gt; in HTML; &lt;b&gt; is bold.",
        "So: &lt;tool_call&gt;" CALL_JSON "&lt;/tool_call&gt; in HTML.",
    };
    for (size_t k = 0; k < SMA_COUNT_OF(places); k++)
        for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
            const struct sma_decoded *decoded =
                decode_text(places[k].api, places[k].base_url, texts[i], NULL);
            CHECK_INT(0, decoded->call_count);
            CHECK_STR(texts[i], decoded->text);
        }
}

CASE(what_cannot_be_read_is_a_failed_call)
{
    static const char *const texts[] = {
        "Well.\n<tool_call>no json</tool_call>",
        "Well.\n<tool_call>{\"arguments\":{}}</tool_call>",
        "Well.<|tool_calls_section_begin|>garbage and more",
        "Well.\n<function=read_file><parameter=path>a</parameter>oops</function>",
        "Well.\n<tool_call>",
        "Well.\n<tool_call>\n",
        "Well.\n<tool_call>\nread the file",
        "Well.\n<tool_call>garbage</tool_call>\nmore words",
        "Well.<|tool_calls_section_begin|>",
        "Well.<｜tool▁calls▁begin｜>",
        "Well.\n<function=",
        "Well.\n[TOOL_REQUEST]",
        "Well.\n<tool_response>\n{\"made\":\"up\"}\n</tool_response>",
    };
    for (size_t k = 0; k < SMA_COUNT_OF(places); k++)
        for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
            const struct sma_decoded *decoded =
                decode_text(places[k].api, places[k].base_url, texts[i], "Well.");
            CHECK_INT(1, decoded->call_count);
            CHECK_STR("Well.", decoded->text);
            CHECK(decoded->call_count == 1 && decoded->calls[0].is_invalid);
            CHECK_STR(SMA_UNREADABLE_CALL, decoded->calls[0].name);
            CHECK(decoded->calls[0].problem.len > 0);
        }
}

/* Of two calls with words between them both run; an end without a beginning is nobody's word. */
CASE(what_else_a_server_leaves_is_not_shown)
{
    const struct sma_decoded *two = decode_text(
        SMA_LLM_CHAT, places[0].base_url,
        "<tool_call>" CALL_JSON "</tool_call>\nand then\n<tool_call>" CALL_JSON "</tool_call>", "");
    CHECK_INT(2, two->call_count);
    CHECK_STR("", two->text);
    static const char *const texts[] = {"Done.\n</tool_call>",
                                        "Done.</function>\n</tool_call>",
                                        "Done.<|tool_calls_section_end|>",
                                        "Done.<|im_end|>\n<|im_start|>user\nAnd now?",
                                        "Done.<|eot_id|>",
                                        "<answer>Done.</answer>"};
    for (size_t k = 0; k < SMA_COUNT_OF(places); k++)
        for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
            const struct sma_decoded *decoded =
                decode_text(places[k].api, places[k].base_url, texts[i], NULL);
            CHECK_INT(0, decoded->call_count);
            CHECK_STR("Done.", decoded->text);
        }
}

CASE(thoughts_are_left_out_in_any_mark)
{
    static const char *const texts[] = {
        "The user greets me.\n</think>\n\nGood morning!",
        "The user greets me.</think>Good morning!",
        "<think>Good morning!",
        "<think>\nHm.\n</think>\n\nGood morning!",
        "<thinking>Hm.</thinking>Good morning!",
        "<thought>Hm.</thought>\nGood morning!",
        "<reasoning>Hm.</reasoning>\nGood morning!",
        "<Think>Hm.</Think>\nGood morning!",
        "[THINK]Hm.[/THINK]Good morning!",
        "◁think▷Hm.◁/think▷Good morning!",
        "<seed:think>Hm.</seed:think>Good morning!",
        "<|START_THINKING|>Hm.<|END_THINKING|>Good morning!",
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>"
        "Good morning!<|return|>",
        "Good morning!\n<think>Was that right?</think>",
        "Good morning!\n\n<think>And what no",
        "<think>Hm.</think>\n<think>Hm, hm.</think>\nGood morning!",
        "Good morning!<|im_end|>",
        "Good <think>Hm.</think>morning!",
        "Good morning!<think>Hm.</think>",
        "<think type=\"deep\">Hm.</think>Good morning!",
        "<think >Hm.</think >Good morning!",
        "<think>Hm.<think>\nGood morning!",
        "\xef\xbb\xbf<think>Hm.</think>Good morning!",
        "\xe2\x80\x8b<think>Hm.</think>Good morning!",
        "<think_start>Hm.<think_end>Good morning!",
        "<|thinking|>Hm.<|/thinking|>Good morning!",
        "<|thought_start|>Hm.<|thought_end|>Good morning!",
        "<scratch_pad>Hm.</scratch_pad>\nGood morning!",
        "<" SPACE "thinking>Hm.</" SPACE "thinking>\nGood morning!",
        "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>"
        "final"
        "<|message|>Good morning!",
        "<think>Hm.</think><answer>Good morning!</answer>",
        "<think>Hm.</think>\n<response>\nGood morning!\n</response>",
        "<|begin_of_thought|>Hm.<|end_of_thought|><|begin_of_solution|>Good morning!"
        "<|end_of_solution|>",
        "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Good morning!<|END_RESPONSE|>",
        "Here is my thought process:\nHm.\n\nHere is my response:\nGood morning!",
        "Here are my reasoning steps:\nHm.\n[BEGIN FINAL RESPONSE]\nGood morning!\n"
        "[END FINAL RESPONSE]",
        "analysisHm.assistantfinalGood morning!",
        "Hm.◁/think▷Good morning!",
        "Hm.[/THINK]Good morning!",
    };
    for (size_t k = 0; k < SMA_COUNT_OF(places); k++)
        for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
            bool is_lone_end = memcmp(texts[i], "The", 3) == 0 || memcmp(texts[i], "Hm", 2) == 0 ||
                               memcmp(texts[i], "analysis", 8) == 0;
            const struct sma_decoded *decoded = decode_text(
                places[k].api, places[k].base_url, texts[i], is_lone_end ? NULL : "Good morning!");
            CHECK_STR("Good morning!", decoded->text);
            CHECK(memmem(decoded->fragment.ptr, decoded->fragment.len, "Good morning!", 13) !=
                  NULL);
            CHECK(memmem(decoded->fragment.ptr, decoded->fragment.len, "Hm", 2) == NULL);
            CHECK(memmem(decoded->fragment.ptr, decoded->fragment.len, "greets", 6) == NULL);
        }
}

/* A model that has ended a thought without a beginning once does so again. */
CASE(drafts_wait_for_the_end_of_a_thought_that_began_with_the_text)
{
    static const char text[] = "The user greets me.\n</think>\n\nGood morning!";
    SMA_AUTO(sma_buf_fini) struct sma_buf body;
    sma_buf_init(&body, 1 << 20);
    put_body(&body, SMA_LLM_CHAT, text);
    begin(SMA_LLM_CHAT, places[0].base_url);
    for (int turn = 0; turn < 2; turn++) {
        sma_decoder_reset(decoder_of, 1);
        for (size_t i = 0; i < body.len; i++) {
            bool is_send;
            sma_decoder_feed(decoder_of, body.ptr + i, 1);
            struct sma_str shown = sma_decoder_progress(decoder_of, &is_send);
            if (turn == 1)
                CHECK(shown.len <= 13 && memcmp("Good morning!", shown.ptr, shown.len) == 0);
        }
        CHECK_STR("Good morning!", sma_decoder_finish(decoder_of)->text);
    }
}

/* The model was told once already: the words are its answer. */
CASE(a_text_that_stays_unreadable_is_the_answer)
{
    static const char text[] = "Well.\n<tool_call>no json</tool_call>";
    SMA_AUTO(sma_buf_fini) struct sma_buf body;
    sma_buf_init(&body, 1 << 20);
    put_body(&body, SMA_LLM_CHAT, text);
    begin(SMA_LLM_CHAT, places[0].base_url);
    sma_decoder_set_request(
        decoder_of, SMA_STR("{\"messages\":[{\"role\":\"user\"},{\"tool_calls\":[{\"function\":{"
                            "\"name\":\"" SMA_UNREADABLE_CALL "\"}}]},{\"role\":\"tool\"}]}"));
    feed_pieces(decoder_of, sma_buf_str(&body), 5);
    CHECK_INT(0, sma_decoder_finish(decoder_of)->call_count);
    CHECK_STR(text, sma_decoder_finish(decoder_of)->text);
}

int main(void)
{
    check_run_cases(NULL);
    sma_decoder_destroy(decoder_of);
    return check_summary();
}
