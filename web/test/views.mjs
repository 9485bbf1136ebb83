// Every place, light and dark, on a desk and on a phone, in English and in Chinese: no fault, nothing
// wider than the screen, nothing serious that axe finds. And all of it by keyboard.
// SHOTS=folder keeps a picture of each.
import { readFileSync } from "node:fs";
import { check, inWorld, say, seen } from "./world.mjs";

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const places = ["", "now", "runs", "runs/1", "approvals", "chats", "people", "usage", "logs"];
const sizes = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const isChinese = /[\u4e00-\u9fff]/;

await inWorld(async world => {
  const tab = await world.signedIn();
  await say(tab, "[[plain]]\n\n# Title\n\nSome **words**, a [link](https://a.example).\n\n" +
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n```c\nint a = 1; /* why */\n```\n");
  await seen(tab, ".turn.agent", "Title");
  const room = new URL(tab.url()).pathname;
  await say(tab, '[[call exec_shell {"command":"date -u"}]]');
  await tab.waitForSelector(".ask");
  const wrong = [];
  for (const language of ["en", "zh"])
    for (const theme of ["light", "dark"])
      for (const [name, size] of Object.entries(sizes)) {
        await tab.setViewport(size);
        await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
        await tab.evaluate(l => localStorage.setItem("sma-language", l), language);
        for (const path of [...places.map(p => "/ui/" + p), room]) {
          await tab.goto(world.base + path);
          await tab.waitForFunction(
            () => document.querySelector("main:not([aria-busy=true]) :is(h1, h2, .turn)")
          );
          await new Promise(done => setTimeout(done, 250));
          const where = [path, language, theme, name].join(" ");
          const found = await tab.evaluate(() => {
            const wide = document.documentElement.scrollWidth > innerWidth;
            return { wide, words: document.querySelector("main").textContent };
          });
          if (found.wide) wrong.push(where + ": wider than the screen");
          if (language === "zh" && path !== room && !isChinese.test(found.words))
            wrong.push(where + ": no Chinese");
          await tab.evaluate(axe); // by the debugger: the page itself could not
          const { violations } = await tab.evaluate(() =>
            axe.run({ resultTypes: ["violations"] })
          );
          for (const v of violations.filter(x => /serious|critical/.test(x.impact)))
            wrong.push(`${where}: ${v.id}: ${v.nodes[0].html.slice(0, 100)}`);
          if (process.env.SHOTS)
            await tab.screenshot({
              path: `${process.env.SHOTS}/${where.replace(/\W+/g, "_")}.png`,
            });
        }
      }
  for (const line of wrong.slice(0, 20)) console.log("     " + line);
  check("every place in every form is in order", wrong.length === 0);

  // By keyboard alone.
  await tab.evaluate(() => localStorage.setItem("sma-language", "en"));
  await tab.setViewport(sizes.desk);
  await tab.goto(world.base + "/ui/now");
  await seen(tab, "h1", "All is well");
  await tab.keyboard.press("a");
  await tab.waitForSelector(".ask .primary");
  await tab.focus(".ask .primary");
  await tab.keyboard.press("Enter");
  await seen(tab, ".muted", "Nothing waits for you");
  check("a question is allowed by keyboard", true);
  await tab.keyboard.press("n");
  await tab.waitForSelector(".composer textarea:focus");
  await tab.keyboard.type("[[plain]] typed");
  await tab.keyboard.press("Enter");
  await seen(tab, ".turn.agent", "typed");
  check("a message is written by keyboard", true);
  await tab.goBack();
  await seen(tab, "h1", "Approvals");
  check("the back key works", true);
});
