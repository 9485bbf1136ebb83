// The owner's places beside the chat, with a simulated Telegram: a stranger is let in on the page, a
// question of Telegram is decided on the page while it is pressed there, and everything is found again.
import { check, inWorld, seen, until } from "./world.mjs";

const ann = { chat: 1001, user: 1001 };
const press = (tab, selector, words) =>
  tab.$$eval(selector, (all, w) => all.find(b => b.textContent === w).click(), words);

await inWorld(async world => {
  const tab = await world.signedIn();
  const place = async name => {
    await tab.goto(world.base + "/ui/" + name);
    await tab.waitForSelector("main h1");
  };
  // 1 a stranger writes, and is let in
  await world.onTelegram({ do: "say", ...ann, text: "Hello!" });
  await place("people");
  await tab.waitForSelector(".person button");
  check("a stranger waits with a code", (await tab.$$(".person")).length === 1);
  await press(tab, ".person button", "Member");
  await tab.waitForSelector(".person select");
  check("let in as a member", (await tab.$eval(".person select", e => e.value)) === "member");
  await tab.select(".person select", "owner");
  await until("an owner", async () => (await world.api("/api/pairings")).people[0].role === "owner");
  check("a role is changed on the page", true);

  // 2 a question is decided on the page, and pressed on Telegram after that
  await world.onTelegram({ do: "say", ...ann, text: '[[call exec_shell {"command":"date -u"}]]' });
  await place("approvals");
  await seen(tab, ".ask .command", "date -u");
  check("its chat is named", (await tab.$eval(".where", e => e.textContent)).includes("telegram"));
  const list = async () => JSON.stringify(await world.onTelegram({ do: "list", chat: 1001 }));
  await until("the question there", async () => (await list()).includes("date -u"));
  await press(tab, ".ask button", "Allow once");
  await seen(tab, ".muted", "Nothing waits for you");
  await until("the answer there", async () => !(await list()).includes('"callback_data"') ||
    /Approved|approved/.test(await list()));
  check("Telegram is told", true);

  // 3 the chat of Telegram, and a word of the bot in it
  await place("chats");
  await tab.waitForSelector(".rows tr");
  await tab.type(".search", "telegram");
  await tab.click(".rows tr");
  await tab.waitForSelector(".turn.user");
  check("the chat is shown", await seen(tab, ".turn.user", "Hello!"));
  await tab.type(".composer textarea", "The harbour is closed today.");
  await tab.keyboard.press("Enter");
  await until("it there", async () => (await list()).includes("The harbour is closed today."));
  await seen(tab, ".turn.agent", "The harbour is closed today.");
  check("the bot says what is written here", true);

  const odd = "100% ?#/ü";
  await world.api("/api/execute", { instructions: "[[plain]] odd", chatId: odd });
  await place("chats");
  await seen(tab, ".room", "odd");
  await tab.$$eval(".room", all => all.find(e => e.textContent.includes("odd")).click());
  await seen(tab, ".turn.agent", "odd");
  await tab.reload();
  check("a chat may be called anything", await seen(tab, ".turn.agent", "odd"));

  // 4 usage and logs
  await place("usage");
  await seen(tab, "td", "telegram");
  check("usage names who", true);
  await place("logs");
  await tab.waitForSelector(".logs li .link");
  await press(tab, ".filters button", "Actions");
  await tab.type(".search", "approved");
  await tab.waitForFunction(
    () => [...document.querySelectorAll(".logs li")].every(e => /approved/i.test(e.textContent))
  );
  check("the log is narrowed", (await tab.$$(".logs li")).length > 0);
}, { hasTelegram: true });
