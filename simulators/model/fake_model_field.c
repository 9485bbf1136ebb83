/*
 * fake_model_field.c — what servers were seen to send and to refuse, beside what is documented:
 * one row each, with its source. `[[fault:field-NAME]]`; chat completions only.
 */
#include "fake_model_errors.h"

#include <stdio.h>
#include <string.h>

#define DELTA(member, text) \
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"" member "\":\"" text "\"}}]}\n\n"
#define END                                                                                 \
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: " \
    "[DONE]\n\n"
#define TEXT(text) 200, DELTA("content", text) END
#define SAID(status, text) status, "{\"error\":{\"message\":\"" text "\"}}"

static const struct
{
    const char *name, *source;
    int status;
    const char *body;
} ROWS[] = {
    /* calls in the text */
    {"hermes", "as seen: vllm, llama.cpp",
     TEXT("<tool_call>\\n{\\\"name\\\":\\\"chat_load_history\\\",\\\"arguments\\\":{"
          "\\\"keyword\\\":\\\"elephant\\\"}}\\n</tool_call>")},
    {"qwen-coder", "as seen: Qwen3-Coder#475",
     TEXT("<tool_call>\\n<function=chat_load_history>\\n<parameter=keyword>\\nelephant\\n</"
          "parameter>\\n</function>\\n</tool_call>")},
    {"minimax", "as seen: hermes-agent#12090",
     TEXT("<minimax:tool_call>\\n<invoke name=\\\"chat_load_history\\\">\\n<parameter "
          "name=\\\"keyword\\\">elephant</parameter>\\n</invoke>\\n</minimax:tool_call>")},
    {"deepseek", "as seen: opensquilla#985",
     TEXT("<｜DSML｜tool_calls>\\n<｜DSML｜invoke "
          "name=\\\"chat_load_history\\\">\\n<｜DSML｜parameter name=\\\"keyword\\\" "
          "string=\\\"true\\\">elephant</｜DSML｜parameter>\\n</｜DSML｜invoke>\\n</"
          "｜DSML｜tool_calls>")},
    {"glm", "as documented: GLM-4.5 chat template; as seen: unparsed",
     TEXT("<tool_call>chat_load_history\\n<arg_key>keyword</arg_key>\\n<arg_value>elephant</"
          "arg_value>\\n</tool_call>")},
    {"kimi", "as documented: Kimi K2 tool guide; as seen: unparsed",
     TEXT("<|tool_calls_section_begin|><|tool_call_begin|>functions.chat_load_history:0<|tool_call_"
          "argument_begin|>{\\\"keyword\\\":\\\"elephant\\\"}<|tool_call_end|><|tool_calls_section_"
          "end|>")},
    {"llama", "as documented: Llama 3.1 prompt format",
     TEXT("<|python_tag|>{\\\"name\\\":\\\"chat_load_history\\\",\\\"parameters\\\":{"
          "\\\"keyword\\\":\\\"elephant\\\"}}<|eom_id|>")},
    {"phi", "as documented: vLLM, parser phi4_mini_json; as seen: unparsed",
     TEXT("functools[{\\\"name\\\":\\\"chat_load_history\\\",\\\"arguments\\\":{\\\"keyword\\\":"
          "\\\"elephant\\\"}}]")},
    {"lmstudio", "as seen: a walk of field inputs, LM Studio",
     TEXT("[TOOL_REQUEST]{\\\"name\\\":\\\"chat_load_history\\\",\\\"arguments\\\":{"
          "\\\"keyword\\\":\\\"elephant\\\"}}[END_TOOL_REQUEST]")},
    {"words-behind", "as seen: a walk of field inputs, whatever the model",
     TEXT("<tool_call>{\\\"name\\\":\\\"chat_load_history\\\",\\\"arguments\\\":{\\\"keyword\\\":"
          "\\\"elephant\\\"}}</tool_call>\\nOne moment <please>.")},
    {"python", "as seen: a walk of field inputs, small models",
     TEXT("<tool_call>{'name': 'chat_load_history', 'arguments': {'keyword': "
          "'elephant'}}</tool_call>")},
    /* thoughts in the text, answers in the thoughts */
    {"lone-think", "as seen: gaia#3945",
     TEXT("The user says <b> something.\\n</think>\\n\\nHere it is.")},
    {"open-think", "as seen: openclaw PR 37703", TEXT("<think>Here it is.")},
    {"reasoning", "as seen: hermes-agent#109205", 200,
     DELTA("reasoning_content", "Here it is.") END},
    /* streams */
    {"no-end", "as seen: opencode#43379", 200, DELTA("content", "Here it is.")},
    {"comment-event", "as seen: llm-gateway#2053", 200,
     "data: : OPENROUTER PROCESSING\n\n" DELTA("content", "Here it is.") END},
    {"halves", "as seen: eliza#30904", 200,
     DELTA("content", "Here it is. \\ud83c") DELTA("content", "\\udf1e") END},
    {"lines", "as documented: Ollama /api/chat", 200,
     "{\"message\":{\"role\":\"assistant\",\"content\":\"Here it \"},\"done\":false}\n"
     "{\"message\":{\"role\":\"assistant\",\"content\":\"is.\"},\"done\":true,"
     "\"done_reason\":\"stop\"}\n"},
    {"legacy-text", "as documented: completions; as seen: gateways", 200,
     "data: {\"choices\":[{\"text\":\"Here it is.\",\"finish_reason\":\"stop\"}]}\n\n"},
    /* errors inside a 200 */
    {"tencent-key", "as documented: Tencent Cloud API 3.0", 200,
     "{\"Response\":{\"Error\":{\"Code\":\"AuthFailure.SignatureFailure\",\"Message\":\"The "
     "provided "
     "credentials could not be validated.\"},\"RequestId\":\"x\"}}"},
    {"spark-key", "as documented: iFlytek error codes", 200,
     "{\"header\":{\"code\":11200,\"message\":\"AppIdNoAuthError\",\"sid\":\"x\",\"status\":2}}"},
    {"no-balance", "as seen: TokenLedger#9; as documented: MiniMax base_resp", 200,
     "{\"choices\":null,\"base_resp\":{\"status_code\":1008,\"status_msg\":\"insufficient "
     "balance\"}}"},
    {"bad-key", "as seen: TokenLedger#9", 200,
     "data: {\"code\":\"InvalidApiKey\",\"message\":\"Invalid API-key provided.\"}\n\n"},
    /* refusals of a form */
    {"no-lists", "as seen: qwisp PR 83, GenieX#683", 422,
     "{\"detail\":[{\"loc\":[\"body\",\"messages\",1,\"content\"],\"msg\":\"Input should be a "
     "valid string\"}]}"},
    {"no-system", "as seen: sglang#892, chat-ui#1386", SAID(400, "System role not supported")},
    {"no-tools", "as seen: wayland#389",
     SAID(400, "registry.ollama.ai/library/gemma:2b does not support tools")},
    {"no-parser", "as seen: mcp-assist#21",
     SAID(400, "\\\"auto\\\" tool choice requires --enable-auto-tool-choice and --tool-call-parser "
               "to be set")},
    {"bad-generation", "as seen: pydantic-ai PR 2774, zeroclaw#5670", 400,
     "{\"error\":{\"message\":\"Failed to call a "
     "function.\",\"code\":\"tool_use_failed\",\"failed_generation\":\"<function=chat_load_history>"
     "{\\\"keyword\\\":\\\"elephant\\\"}</function>\"}}"},
    {"unknown", "nobody's words", SAID(400, "E_7731: cannot")},
    {"window", "as seen: copilot-more#35",
     SAID(400, "prompt token count of 130123 exceeds the limit of 128000")},
};

bool fake_put_field(struct fake_response *response, const char *fault, const char *more_headers)
{
    char name[64];
    for (size_t i = 0; i < SMA_COUNT_OF(ROWS); i++) {
        snprintf(name, sizeof name, "field-%s", ROWS[i].name);
        if (!fake_is(fault, name))
            continue;
        bool is_stream = strncmp(ROWS[i].body, "data:", 5) == 0;
        fake_put_head(response, ROWS[i].status,
                      is_stream ? "text/event-stream" : "application/json", more_headers,
                      (long)strlen(ROWS[i].body));
        sma_buf_put_text(&response->bytes, ROWS[i].body);
        return true;
    }
    return false;
}
