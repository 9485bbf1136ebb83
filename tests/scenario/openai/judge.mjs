// The official library `openai` talks to the agent: answers whole and as streams, conversations that are known again by their
// words, names of conversations, pictures, refusals, errors of its own classes.
//   node judge.mjs PORT TOKEN
import assert from "node:assert/strict";
import OpenAI from "openai";

const [port, token] = process.argv.slice(2);
const baseURL = `http://127.0.0.1:${port}/v1`;
const client = new OpenAI({ apiKey: token, baseURL, maxRetries: 0 });
const user = (content) => ({ role: "user", content });
const assistant = (content) => ({ role: "assistant", content });
let count = 0;

async function check(name, judge) {
  await judge();
  count++;
  console.log(`ok ${name}`);
}
async function complete(messages, more = {}, options = {}) {
  return await client.chat.completions.create({ model: "any", messages, ...more }, options);
}
const text = (answer) => answer.choices[0].message.content;
async function refused(status, part, ask) {
  const error = await ask().then(
    () => assert.fail(`not refused: ${part}`),
    (error) => error,
  );
  assert.equal(error.status, status, `${error}`);
  assert.match(error.message, part);
  assert.equal(typeof error.type, "string");
  return error;
}

await check("the agent is the one model", async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.deepEqual(ids, ["tested"]);
  assert.equal((await client.models.retrieve("tested")).object, "model");
  await refused(404, /one model/, () => client.models.retrieve("gpt-4o"));
});

await check("a whole chat completion", async () => {
  const answer = await complete([user("how are you")], { temperature: 0.3, max_tokens: 5, seed: 7, logit_bias: {} });
  assert.equal(answer.object, "chat.completion");
  assert.equal(answer.model, "any");
  assert.match(answer.id, /^chatcmpl-\d+$/);
  assert.match(text(answer), /how are you/);
  assert.equal(answer.choices[0].finish_reason, "stop");
  assert.ok(answer.usage.prompt_tokens > 0 && answer.usage.completion_tokens > 0);
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
});

await check("a streamed chat completion gives the text of the whole one", async () => {
  const ask = { stream: true, stream_options: { include_usage: true } };
  const stream = await complete([user("tell me of the sea, 好 and 🌊")], ask);
  let all = "";
  const reasons = [];
  let usage = null;
  for await (const chunk of stream) {
    assert.equal(chunk.object, "chat.completion.chunk");
    if (chunk.usage) usage = chunk.usage;
    for (const choice of chunk.choices) {
      all += choice.delta.content ?? "";
      if (choice.finish_reason) reasons.push(choice.finish_reason);
    }
  }
  assert.match(all, /tell me of the sea, 好 and 🌊/);
  assert.deepEqual(reasons, ["stop"]);
  assert.ok(usage.total_tokens > 0);
  const runner = client.chat.completions.stream({ model: "any", messages: [user("tell me of the sea, 好 and 🌊")] });
  assert.equal((await runner.finalChatCompletion()).choices[0].message.content, all);
});

await check("a conversation is known again by its words", async () => {
  const messages = [{ role: "system", content: "Be terse." }, user("first of all")];
  for (const words of ["second", "third"]) {
    messages.push(assistant(text(await complete(messages))), user(words));
  }
  const answer = text(await complete(messages));
  assert.doesNotMatch(answer, /so far/); // the model is told the new words alone
  assert.match(answer, /third/);
});

await check("who goes on from the same place a second time begins a chat of its own", async () => {
  const first = [user("a fork in the road")];
  const told = assistant(text(await complete(first)));
  const left = text(await complete([...first, told, user("left")]));
  assert.doesNotMatch(left, /so far/);
  const right = text(await complete([...first, told, user("right")]));
  assert.match(right, /The conversation so far/);
  assert.doesNotMatch(right, /\bleft\b/);
});

await check("instructions are told once, and again when they change", async () => {
  const system = (content) => ({ role: "system", content });
  const one = text(await complete([system("Rhyme."), user("hello there")]));
  assert.match(one, /Instructions of the program[^]*Rhyme\.[^]*hello there/);
  const two = text(await complete([system("Rhyme."), user("hello there"), assistant(one), user("and now")]));
  assert.doesNotMatch(two, /Rhyme/);
  const talk = [system("Rhyme."), user("hello there"), assistant(one), user("and now"), assistant(two), user("last")];
  talk[0] = system("Do not rhyme.");
  assert.match(text(await complete(talk)), /Do not rhyme\.[^]*last/);
});

await check("pictures come as data URLs, addresses are refused", async () => {
  const png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const part = (url) => [{ type: "text", text: "what is it" }, { type: "image_url", image_url: { url } }];
  assert.match(text(await complete([user(part(`data:image/png;base64,${png}`))])), /what is it/);
  await refused(400, /data: URLs/, () => complete([user(part("https://example.org/a.png"))]));
  const answer = await client.responses.create({
    model: "any",
    input: [user([{ type: "input_text", text: "see" }, { type: "input_image", image_url: `data:image/png;base64,${png}`, detail: "auto" }])],
  });
  assert.match(answer.output_text, /see/);
});

await check("what cannot be done is refused by name", async () => {
  const tool = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };
  const error = await refused(400, /tools of its own/, () => complete([user("x")], { tools: [tool] }));
  assert.equal(error.param, "tools");
  assert.equal(error.type, "invalid_request_error");
  await complete([user("x")], { tools: [tool], tool_choice: "none" });
  await refused(400, /one answer/, () => complete([user("x")], { n: 2 }));
  await refused(400, /schema/, () => complete([user("x")], { response_format: { type: "json_object" } }));
  await refused(400, /the user's/, () => complete([user("x"), assistant("y")]));
  await refused(400, /list/, () => complete([]));
  await refused(400, /background/, () => client.responses.create({ model: "any", input: "x", background: true }));
  await refused(400, /no response/, () => client.responses.create({ model: "any", input: "x", previous_response_id: "resp_1" }));
});

await check("errors have the library's classes", async () => {
  const stranger = new OpenAI({ apiKey: "wrong", baseURL, maxRetries: 0 });
  const error = await refused(401, /token/, () => stranger.models.list());
  assert.ok(error instanceof OpenAI.AuthenticationError);
  assert.equal(error.code, "invalid_api_key");
  await refused(404, /404/, () => client.get("/nothing"));
  await refused(405, /method/, () => client.get("/responses"));
});

await check("a whole response, and the next one by its id", async () => {
  const first = await client.responses.create({ model: "any", input: "look at the harbour", instructions: "Be kind." });
  assert.equal(first.object, "response");
  assert.equal(first.status, "completed");
  assert.match(first.output_text, /Be kind\.[^]*look at the harbour/);
  assert.equal(first.usage.total_tokens, first.usage.input_tokens + first.usage.output_tokens);
  const second = await client.responses.create({ model: "any", input: "and then", previous_response_id: first.id });
  assert.equal(second.previous_response_id, first.id);
  assert.match(second.output_text, /and then/);
  assert.doesNotMatch(second.output_text, /so far/);
  const named = await client.responses.create({ model: "any", input: "x", conversation: "harbour" });
  assert.equal(named.conversation.id, "harbour");
});

await check("a streamed response", async () => {
  const stream = client.responses.stream({ model: "any", input: "tell me of the sea" });
  const types = [];
  let number = 0;
  let all = "";
  for await (const event of stream) {
    assert.equal(event.sequence_number, number++);
    if (types.at(-1) !== event.type) types.push(event.type);
    if (event.type === "response.output_text.delta") all += event.delta;
  }
  assert.deepEqual(types, [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
  ]);
  const final = await stream.finalResponse();
  assert.equal(final.output_text, all);
  assert.match(all, /tell me of the sea/);
});

await check("a run that waits for people asks in words, and the next message answers it", async () => {
  const first = [user('please [[call exec_shell {"command":"echo done >> yes.txt"}]]')];
  const question = await complete(first);
  assert.equal(question.choices[0].finish_reason, "stop");
  assert.match(text(question), /echo done/);
  assert.doesNotMatch(text(question), /You said/);
  const answer = await complete([...first, assistant(text(question)), user("yes")]);
  assert.match(text(answer), /Result: .*"success":true/);
});

await check("an Idempotency-Key makes one run", async () => {
  const options = { headers: { "Idempotency-Key": "judge-1" } };
  const [one, two] = [await complete([user("once")], {}, options), await complete([user("once")], {}, options)];
  assert.equal(one.id, two.id);
  await refused(422, /./, () => complete([user("twice")], {}, options));
});

console.log(`${count} checks`);
