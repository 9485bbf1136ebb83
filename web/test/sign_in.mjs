// Who gets in: a link once; neither half of a session alone; another origin not at all; and where
// nobody is signed in the page says how.
import { createServer } from "node:http";
import { check, inWorld, seen, until } from "./world.mjs";

await inWorld(async world => {
  const stranger = await world.tab();
  await stranger.goto(world.base + "/");
  await stranger.waitForSelector(".sign-in");
  check("the root leads to the page", stranger.url() === world.base + "/ui/");
  check("it says how to sign in", await seen(stranger, ".sign-in pre", "shipmyagent page"));
  const link = world.link();
  await stranger.goto("about:blank");
  await stranger.goto(link);
  await stranger.waitForSelector(".composer textarea");
  check("the code leaves the address", !stranger.url().includes("code"));

  // The same link in another browser opens nothing.
  const context = await world.browser.createBrowserContext();
  const thief = await context.newPage();
  await thief.goto(link);
  await thief.waitForSelector(".sign-in [role=alert]");
  check("a link opens once", await seen(thief, ".alarm", "shipmyagent page"));
  // The token does, and a wrong one is told.
  await thief.type('input[type="password"]', "wrong-token-of-somebody");
  await thief.click(".sign-in button");
  await seen(thief, ".alarm", "not the token");
  await thief.$eval('input[type="password"]', e => (e.value = ""));
  await thief.type('input[type="password"]', world.token());
  await thief.click(".sign-in button");
  await thief.waitForSelector(".composer textarea");
  check("the token signs in, too", true);
  await context.close();

  // Halves: the cookie is seen by no script, and each alone opens nothing.
  const ask = headers =>
    stranger.evaluate(async h => (await fetch("/api/status", { headers: h })).status, headers);
  const key = await stranger.evaluate(() => localStorage.getItem("sma-page-key"));
  check("no script sees the cookie", (await stranger.evaluate(() => document.cookie)) === "");
  check("the cookie alone opens nothing", (await ask({})) === 401);
  check("both open", (await ask({ "x-page-key": key })) === 200);
  const alone = await fetch(world.base + "/api/status", { headers: { "x-page-key": key } });
  check("the key alone opens nothing", alone.status === 401);

  // A server of another account on this host is sent neither half by the browser.
  let heard = "";
  const other = createServer((request, answer) => {
    heard += JSON.stringify(request.headers);
    answer.setHeader("content-type", "text/html");
    answer.end("<p>other</p>");
  });
  await new Promise(done => other.listen(0, "127.0.0.1", done));
  const foreign = await world.browser.newPage();
  await foreign.goto(`http://127.0.0.1:${other.address().port}/api/x`);
  check("another port hears no key", !heard.includes(key));
  const tried = await foreign.evaluate(async base => {
    const codes = [];
    for (const options of [
      { method: "POST", mode: "no-cors", credentials: "include", body: "{}" },
      { method: "POST", credentials: "include", headers: { "x-page-key": "0".repeat(64) } },
      { credentials: "include" },
    ])
      codes.push(
        await fetch(base + "/api/sign-out", options).then(a => a.status, () => "stopped")
      );
    const socket = new WebSocket(base.replace("http", "ws") + "/ws");
    codes.push(await new Promise(done => {
      socket.onopen = () => done("open");
      socket.onerror = () => done("stopped");
    }));
    return codes.join();
  }, world.base);
  check("another origin reaches nothing: " + tried, /^(0|stopped)(,stopped){3}$/.test(tried));
  check("and nobody was signed out", (await ask({ "x-page-key": key })) === 200);
  await foreign.close();
  other.close();

  // Out, in every tab.
  const second = await world.tab();
  await second.goto(world.base + "/ui/now");
  await second.waitForSelector(".side");
  await stranger.evaluate(() =>
    [...document.querySelectorAll(".ends button")].find(b => b.textContent === "Sign out").click()
  );
  await stranger.waitForSelector(".sign-in");
  check("signed out", (await ask({ "x-page-key": key })) === 401);
  await until("the other tab", async () => {
    await second.reload();
    return second.$(".sign-in");
  });
});
