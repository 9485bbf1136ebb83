// A running service with a simulated model, and Chromium that is signed in to its page.
// BUILD: the build folder that holds the program.
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import puppeteer from "puppeteer-core";

const build = process.env.BUILD;
const program = build + "/src/cli/shipmyagent";
const simulators = build + "/src/libexec/shipmyagent/simulate-";
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const botToken = "7001234567:AAE-fake_token_of_the_test_bot_00001"; // the simulator's
const deadline = 60000; // of anything that is waited for

export async function until(what, look) {
  const end = Date.now() + deadline;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error("never came: " + what);
    await new Promise(done => setTimeout(done, 30));
  }
}
let failures = 0;
export function check(what, is) {
  if (!is) failures++;
  console.log((is ? "ok   " : "FAIL ") + what);
}
function run(path, args, cwd) {
  const child = spawn(path, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  child.said = "";
  child.stdout.on("data", bytes => (child.said += bytes));
  child.stderr.on("data", bytes => (child.said += bytes));
  child.ended = new Promise(done => child.on("exit", done));
  return child;
}

export class World {
  faults = []; // errors of pages, requests to other hosts, what a policy stopped
  children = [];
  async simulate(name, ...args) {
    const child = run(simulators + name, args, this.folder);
    this.children.push(child);
    return (await until(name, () => child.said.match(/PORT (\d+)/)))[1];
  }
  async open({ hasTelegram = false } = {}) {
    this.folder = mkdtempSync(tmpdir() + "/sma-page-");
    this.project = this.folder + "/project";
    const port = await this.simulate("model", "--key", "k");
    if (hasTelegram) this.telegram = await this.simulate("telegram");
    mkdirSync(this.project + "/docs", { recursive: true });
    writeFileSync(this.project + "/Agent.md", "You help.\n");
    writeFileSync(this.project + "/docs/tides.md", "# Tides\n\nHours are local time.\n");
    writeFileSync(this.project + "/.env", `LLM_API_KEY=k\nTELEGRAM_BOT_TOKEN=${botToken}\n`);
    chmodSync(this.project + "/.env", 0o600);
    const config = {
      name: "harbour",
      start: { port: 0 },
      llm: {
        provider: "custom",
        model: "fake-1",
        baseUrl: `http://127.0.0.1:${port}/v1`,
        apiKey: "${LLM_API_KEY}",
      },
      permissions: { write_repo: { paths: ["docs/**"], requiresApproval: true } },
      ...(hasTelegram && {
        adapters: {
          telegram: {
            enabled: true,
            botToken: "${TELEGRAM_BOT_TOKEN}",
            apiRoot: "http://127.0.0.1:" + this.telegram,
          },
        },
      }),
    };
    writeFileSync(this.project + "/ship.json", JSON.stringify(config));
    await this.start();
    this.browser = await puppeteer.launch({
      executablePath: browserPath,
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--lang=en-GB"],
      userDataDir: this.folder + "/browser",
    });
  }
  async start(port = 0) {
    const args = ["start", this.project, "--port", String(port)];
    this.service = run(program, args, this.folder);
    this.children.push(this.service);
    const file = this.project + "/.ship/service.json";
    this.port = await until("the service", () => {
      try {
        const { pid, port: at } = JSON.parse(readFileSync(file, "utf8"));
        return pid === this.service.pid && at;
      } catch {
        return false;
      }
    });
    this.base = "http://127.0.0.1:" + this.port;
  }
  async stop(signal = "SIGTERM") {
    this.service.kill(signal);
    await this.service.ended;
  }
  link = () =>
    execFileSync(program, ["page", this.project], { stdio: ["ignore", "pipe", "ignore"] })
      .toString()
      .trim();
  token = () => readFileSync(this.project + "/.ship/api-token", "utf8").trim();
  async api(path, body) {
    const answer = await fetch(this.base + path, {
      method: body ? "POST" : "GET",
      headers: { "x-api-token": this.token() },
      body: body && JSON.stringify(body),
    });
    return answer.json();
  }
  /** A command to the simulated Telegram: simulators/README.md. */
  async onTelegram(command) {
    const url = `http://127.0.0.1:${this.telegram}/control`;
    return (await fetch(url, { method: "POST", body: JSON.stringify(command) })).json();
  }
  /** A new tab; whatever goes wrong in it is a fault. */
  async tab(size = { width: 1280, height: 800 }) {
    const tab = await this.browser.newPage();
    await tab.setViewport(size);
    tab.setDefaultTimeout(deadline);
    const note = text => this.faults.push(text);
    tab.on("pageerror", e => note("error: " + e));
    tab.on("dialog", d => {
      note("dialog: " + d.message());
      d.dismiss();
    });
    tab.on("console", m => {
      const isCut = /ERR_CONNECTION_REFUSED|ERR_INTERNET_DISC|WebSocket|status of 4\d\d|INCOMPLETE|RESET|EMPTY/;
      if (m.type() === "error" && !isCut.test(m.text())) note("console: " + m.text());
    });
    tab.on("request", r => {
      if (!r.url().startsWith(this.base) && !r.url().startsWith("data:"))
        note("foreign request: " + r.url());
    });
    return tab;
  }
  async signedIn(size) {
    const tab = await this.tab(size);
    await tab.goto(this.link());
    await tab.waitForSelector(".composer textarea");
    return tab;
  }
  async close() {
    check("no fault in any tab: " + this.faults.slice(0, 5).join(" | "), this.faults.length === 0);
    await this.browser?.close().catch(() => {});
    for (const child of this.children) child.kill("SIGKILL");
    await Promise.all(this.children.map(child => child.ended));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    process.exitCode = failures > 0 ? 1 : 0;
  }
}
export async function say(tab, text) {
  await tab.focus(".composer textarea");
  await tab.evaluate(words => {
    const area = document.querySelector(".composer textarea");
    area.value = words;
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }, text);
  await tab.keyboard.press("Enter");
}
export const seen = (tab, selector, text) =>
  tab.waitForFunction(
    (s, t) => [...document.querySelectorAll(s)].some(e => e.textContent.includes(t)),
    { polling: 30 },
    selector,
    text
  );
export async function inWorld(test, more) {
  const world = new World();
  try {
    await world.open(more);
    await test(world);
  } catch (e) {
    check(String(e?.stack ?? e), false);
    console.log(world.service?.said.split("\n").slice(-15).join("\n"));
  }
  await world.close();
}
