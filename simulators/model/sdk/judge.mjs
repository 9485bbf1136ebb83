// The official libraries judge the model server: streams of each wire are read without error and give the same text, calls
// and usage as the whole answer; what they read can be sent back; errors have the classes of their kind.
//   node judge.mjs PORT
import assert from "node:assert/strict";
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";

const port = process.argv[2];
const base = (name) => `http://127.0.0.1:${port}/${name}`;
const options = { apiKey: "k", maxRetries: 0 };
const CALLS = '[[do: call f {"a":"b","list":[1,2]} & g {}; text Both are done: 好.]]';
const schema = { type: "object", properties: {}, additionalProperties: true };
let count = 0;

async function check(name, judge) {
  await judge();
  count++;
  console.log(`ok ${name}`);
}

// -- Anthropic --
async function messages(model) {
  const client = new Anthropic({ ...options, baseURL: base("anthropic") });
  const tools = ["f", "g"].map((name) => ({ name, input_schema: schema }));
  const ask = { model, max_tokens: 4000, tools, messages: [{ role: "user", content: CALLS }] };
  const streamed = await client.messages.stream(ask).finalMessage();
  const whole = await client.messages.create(ask);
  const calls = (message) =>
    message.content.filter((block) => block.type === "tool_use").map((block) => [block.name, block.input]);
  assert.deepEqual(calls(streamed), [["f", { a: "b", list: [1, 2] }], ["g", {}]]);
  assert.deepEqual(calls(whole), calls(streamed));
  assert.equal(streamed.stop_reason, "tool_use");
  assert.equal(streamed.usage.output_tokens, whole.usage.output_tokens);
  ask.messages.push({ role: "assistant", content: streamed.content });
  ask.messages.push({
    role: "user",
    content: streamed.content
      .filter((block) => block.type === "tool_use")
      .map((block) => ({ type: "tool_result", tool_use_id: block.id, content: "ok" })),
  });
  const last = await client.messages.stream(ask).finalMessage();
  assert.equal(last.content.at(-1).text, "Both are done: 好.");
  assert.equal(last.stop_reason, "end_turn");
}

// -- Responses --
async function responses(model) {
  const client = new OpenAI({ ...options, baseURL: base("openai") + "/v1" });
  const tools = ["f", "g"].map((name) => ({ type: "function", name, parameters: schema, strict: false }));
  const ask = { model, store: false, tools, input: [{ role: "user", content: CALLS }] };
  const streamed = await client.responses.stream(ask).finalResponse();
  const whole = await client.responses.create(ask);
  const calls = (response) =>
    response.output.filter((item) => item.type === "function_call").map((item) => [item.name, JSON.parse(item.arguments)]);
  assert.deepEqual(calls(streamed), [["f", { a: "b", list: [1, 2] }], ["g", {}]]);
  assert.deepEqual(calls(whole), calls(streamed));
  assert.equal(streamed.usage.total_tokens, whole.usage.total_tokens);
  for (const { parsed_arguments, ...item } of streamed.output) ask.input.push(item);
  for (const item of streamed.output)
    if (item.type === "function_call") ask.input.push({ type: "function_call_output", call_id: item.call_id, output: "ok" });
  const last = await client.responses.stream(ask).finalResponse();
  assert.equal(last.output_text, "Both are done: 好.");
}

// -- Chat completions --
async function chat(profile, model, merges) {
  const client = new OpenAI({ ...options, baseURL: base(profile) + "/v1" });
  const tools = ["f", "g"].map((name) => ({ type: "function", function: { name, parameters: schema } }));
  const ask = { model, tools, messages: [{ role: "user", content: CALLS }] };
  const counted = { ...ask, stream_options: { include_usage: true } };
  const whole = await client.chat.completions.create(ask);
  const calls = (completion) =>
    completion.choices[0].message.tool_calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]);
  assert.deepEqual(calls(whole), [["f", { a: "b", list: [1, 2] }], ["g", {}]]);
  assert.equal(whole.choices[0].finish_reason, "tool_calls");
  const streamed = merges ? whole : await client.chat.completions.stream(counted).finalChatCompletion();
  assert.deepEqual(calls(streamed), calls(whole));
  assert.equal(streamed.usage.total_tokens, whole.usage.total_tokens);
  ask.messages.push(whole.choices[0].message);
  for (const call of whole.choices[0].message.tool_calls)
    ask.messages.push({ role: "tool", tool_call_id: call.id, content: "ok" });
  const last = await client.chat.completions.create({ ...ask, stream: true });
  let text = "";
  for await (const chunk of last) text += chunk.choices[0]?.delta?.content ?? "";
  assert.equal(text, "Both are done: 好.");
}

// -- errors --
async function fails(kind, fault, status, ask) {
  await assert.rejects(ask(`[[fault:${fault} times=9]] [[do: text no]]`), (error) => {
    assert.ok(error instanceof kind, `${error.constructor.name}: ${error.message}`);
    assert.equal(error.status, status);
    return true;
  });
}

for (const model of ["claude-sonnet-5-5", "claude-fable-5-2", "claude-haiku-4-5", "claude-opus-4-8"])
  await check(`messages ${model}`, () => messages(model));
for (const model of ["gpt-4o", "gpt-5.4", "gpt-6-astra"]) await check(`responses ${model}`, () => responses(model));
for (const [profile, model, merges] of [
  ["openai", "gpt-5.4"],
  ["deepseek", "deepseek-flash"],
  ["kimi", "kimi-k3"],
  ["qwen", "qwen3.8-max"],
  ["glm", "glm-5.3"],
  ["gemini", "gemini-3.8-flash"],
  ["openrouter", "anthropic/claude-sonnet-5.5"],
  ["ollama", "qwen3:8b", true], // all calls under one index: this library merges them
  ["llamacpp", "m"],
  ["vllm", "m"],
  ["groq", "m"],
])
  await check(`chat ${profile} ${model}`, () => chat(profile, model, merges));

const claude = (text) =>
  new Anthropic({ ...options, baseURL: base("anthropic") }).messages.create({
    model: "claude-sonnet-5-5", max_tokens: 100, messages: [{ role: "user", content: text }],
  });
const gpt = (text) =>
  new OpenAI({ ...options, baseURL: base("openai") + "/v1" }).responses.create({
    model: "gpt-5.4", store: false, input: [{ role: "user", content: text }],
  });
await check("errors", async () => {
  await fails(Anthropic.RateLimitError, "rate", 429, claude);
  await fails(Anthropic.InternalServerError, "overloaded", 529, claude);
  await fails(Anthropic.NotFoundError, "nomodel", 404, claude);
  await fails(OpenAI.RateLimitError, "billing", 429, gpt);
  await fails(OpenAI.InternalServerError, "overloaded", 503, gpt);
  await fails(OpenAI.BadRequestError, "overflow", 400, gpt);
});
console.log(`${count} judged`);
