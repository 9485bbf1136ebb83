// The chat: an answer is seen while it is written, and survives a reload, a cut connection and a
// kill of the service; a message is one, whatever happens on its way.
import { check, inWorld, say, seen, until } from "./world.mjs";

const long = Array.from({ length: 40 }, (_, i) => `Paragraph ${i}: the tide turns **twice**.\n`);
const turns = tab => tab.$$eval(".turn", all => all.map(e => e.className));

await inWorld(async world => {
  const tab = await world.signedIn();
  // 1 piece by piece, and nothing moves under the reader
  await say(tab, "[[plain]] [[fault:drip bytes=60 ms=300]]\n\n# A long answer\n\n" + long.join("\n"));
  await tab.waitForSelector(".live .md");
  const early = await tab.$eval(".live .md", e => e.textContent.length);
  const top = await tab.$eval(".scroll", e => e.scrollTop);
  await until("more text", () => tab.$eval(".live .md", (e, n) => e.textContent.length > n, early));
  check("an answer grows", early > 0);
  check("the view stands still", (await tab.$eval(".scroll", e => e.scrollTop)) === top);
  check("the room has an address", /\/ui\/chat\/web:room:[0-9a-f-]{36}$/.test(tab.url()));
  // 2 a reload in the middle goes on
  await tab.reload();
  await tab.waitForSelector(".live .md");
  await tab.waitForFunction(() => !document.querySelector(".live"), { polling: 30 });
  await seen(tab, ".turn.agent", "Paragraph 39");
  check("one question and one answer", (await turns(tab)).length === 2);
  const key = decodeURIComponent(tab.url().split("/ui/chat/")[1]);
  const lines = await world.api("/api/history?limit=50&chatKey=" + encodeURIComponent(key));
  check("the person is the owner", lines[0].channel === "web" && lines[0].userId === "owner");

  // 3 the service is killed in the middle of an answer, and comes again
  await say(tab, "[[plain]] [[fault:drip bytes=60 ms=200]]\n\nsecond\n\n" + long.join("\n"));
  await tab.waitForSelector(".live .md");
  await world.stop("SIGKILL");
  await tab.waitForSelector(".lost");
  await world.start(world.port);
  await tab.waitForFunction(() => document.querySelectorAll(".turn.agent:not(.live)").length === 2, {
    polling: 50,
  });
  await tab.waitForFunction(() => !document.querySelector(".lost"), { polling: 50 });
  check("the session outlives a restart", true);
  check("the message was one", (await turns(tab)).filter(c => c.includes("user")).length === 2);

  // 4 stop
  await say(tab, "[[plain]] [[fault:drip bytes=20 ms=150]]\n\nthird\n\n" + long.join("\n"));
  await tab.waitForSelector(".live .md");
  await tab.click('button[aria-label="Stop"]');
  await tab.waitForFunction(() => !document.querySelector(".live"), { polling: 30 });
  check("an answer can be stopped", true);

  // 5 a second tab sees what the first one says
  const other = await world.tab();
  await other.goto(tab.url());
  await other.waitForSelector(".turn.user");
  await say(tab, "[[plain]] heard elsewhere");
  await seen(other, ".turn.agent", "heard elsewhere");
  check("another tab follows", true);

  // 6 Enter that ends a composition sends nothing
  const before = (await turns(tab)).length;
  await tab.evaluate(() => {
    const area = document.querySelector(".composer textarea"), at = { bubbles: true };
    const key = more => new KeyboardEvent("keydown", { key: "Enter", ...at, ...more });
    area.value = "ni";
    area.dispatchEvent(new Event("input", at));
    area.dispatchEvent(new CompositionEvent("compositionstart", at));
    area.dispatchEvent(key({ isComposing: true }));
    area.dispatchEvent(new CompositionEvent("compositionend", at));
    area.dispatchEvent(key({}));
  });
  check("a composition is no message",
    (await tab.$eval(".composer textarea", e => e.value)) === "ni" &&
      (await turns(tab)).length === before);
});
