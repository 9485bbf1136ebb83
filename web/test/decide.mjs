// What waits for consent is decided on the page: with the command or the diff before one's eyes, by
// mouse and by keyboard, with a word of refusal; a second tab and a program that come late are told.
import { readFileSync } from "node:fs";
import { check, inWorld, say, seen, until } from "./world.mjs";

const call = (name, input) => `[[call ${name} ${JSON.stringify(input)}]]`;
const run = command => call("exec_shell", { command });
const none = tab => tab.waitForFunction(() => !document.querySelector(".ask"), { polling: 30 });
const press = (tab, words) =>
  tab.$$eval(".ask button", (all, w) => all.find(b => b.textContent === w).click(), words);

await inWorld(async world => {
  const tab = await world.signedIn();
  // 1 a command, in the chat
  await say(tab, run("echo hello > docs/made.txt"));
  await seen(tab, ".ask .command", "echo hello > docs/made.txt");
  const other = await world.tab();
  await other.goto(world.base + "/ui/approvals");
  await seen(other, ".ask .command", "made.txt");
  check("it waits in the chat and in the list", true);
  check("and is asked once", !(await tab.$(".turn.notice")));
  await tab.bringToFront();
  check("the side counts it", await tab.waitForSelector(".places .badge"));
  await press(tab, "Allow once");
  await none(tab);
  check("the command ran", await until("the file", () => {
    try {
      return readFileSync(world.project + "/docs/made.txt", "utf8") === "hello\n";
    } catch {
      return false;
    }
  }));
  await other.bringToFront();
  await none(other);
  await tab.bringToFront();
  check("the other tab sees that it is decided", true);
  await tab.waitForFunction(() => document.querySelectorAll(".turn.agent:not(.notice)").length > 0);

  // 2 a file, as a diff, refused with a word by keyboard alone
  const edit = { path: "docs/tides.md", old_text: "local time", new_text: "UTC" };
  await say(tab, call("edit_file", edit));
  await tab.waitForSelector(".ask .diff .add");
  check("a diff is shown", (await tab.$eval(".ask .diff .del", e => e.textContent)).includes("local"));
  await tab.focus(".ask .buttons .danger");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector(".ask form input");
  await tab.keyboard.type("the table is local");
  await tab.keyboard.press("Enter");
  await none(tab);
  check("the file is as it was", readFileSync(world.project + "/docs/tides.md", "utf8").includes("local"));

  // 3 decided elsewhere between looking and pressing
  await say(tab, run("echo two > docs/two.txt"));
  await seen(tab, ".ask .command", "two.txt");
  await tab.setOfflineMode(true); // it does not hear that a program is quicker
  const { approvals } = await world.api("/api/approvals");
  const answer = await world.api(`/api/approvals/${approvals[0].id}/approve`, {});
  check("a program decides", answer.success);
  await press(tab, "Allow once");
  await seen(tab, ".ask [role=status]", "");
  await tab.setOfflineMode(false);
  await none(tab);
  check("the page sees it when it is back", true);

  // 4 what hides in a command is shown
  await say(tab, run("echo safe\u202E\u200B"));
  await seen(tab, ".ask .command", "\\u{202E}\\u{200B}");
  check("what turns letters round is shown", true);
  await press(tab, "Refuse");
  await tab.keyboard.press("Enter");
  await none(tab);

  // 5 a grant, and taking it back
  await say(tab, run("date -u"));
  await seen(tab, ".ask .command", "date -u");
  await press(tab, "For 10 minutes");
  await none(tab);
  await other.bringToFront();
  await other.reload();
  await until("the grant", () => other.$(".entry .danger"));
  await other.click(".entry .danger");
  await other.waitForFunction(() => !document.querySelector(".entry .danger"), { polling: 30 });
  check("a grant can be taken back", (await world.api("/api/grants")).grants.length === 0);

  // 6 how everything stands, and the life of a run
  await other.goto(world.base + "/ui/now");
  await seen(other, "h1", "All is well");
  await seen(other, ".rows td", "Done");
  await other.click(".rows tr");
  await other.waitForSelector("ol.line li");
  check("a run has its stages", (await other.$$("ol.line li")).length >= 4);
  await other.goto(world.base + "/ui/runs");
  await seen(other, ".rows td", "#1");
  await other.$$eval(".filters button", all => all.find(b => b.textContent === "Failed").click());
  await seen(other, ".muted", "No runs yet");
  check("runs can be narrowed", true);
});
