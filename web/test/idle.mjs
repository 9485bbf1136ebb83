// A page that is open costs a quiet service nothing: nobody is woken, nobody is asked. And what
// does change is told within a second or so.
import { readFileSync, readdirSync } from "node:fs";
import { check, inWorld, say, seen, until } from "./world.mjs";

const quietMs = 6000, wakesMax = 4;
function wakes(pid) {
  const sums = {};
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const at = `/proc/${pid}/task/${thread}/`;
    const name = readFileSync(at + "comm", "utf8").trim();
    const count = +readFileSync(at + "status", "utf8").match(/^voluntary_ctxt_switches:\s+(\d+)/m)[1];
    sums[name + " " + thread] = count;
  }
  return sums;
}
async function quiet(world, what) {
  await new Promise(done => setTimeout(done, 4000)); // what was begun ends
  const before = wakes(world.service.pid);
  await new Promise(done => setTimeout(done, quietMs));
  const after = wakes(world.service.pid);
  const busy = Object.keys(after).filter(n => after[n] - (before[n] ?? 0) > 0);
  const all = busy.reduce((sum, n) => sum + after[n] - (before[n] ?? 0), 0);
  const names = busy.map(n => `${n}: ${after[n] - (before[n] ?? 0)}`).join(", ");
  console.log(`     ${what}: ${all} wake-ups in ${quietMs / 1000} s (${names})`);
  return all;
}
await inWorld(async world => {
  const none = await quiet(world, "no page");
  const tab = await world.signedIn();
  await say(tab, "[[plain]] hello");
  await seen(tab, ".turn.agent", "hello");
  const open = await quiet(world, "a quiet page");
  check("a quiet page wakes nobody", open <= none + wakesMax);
  const asked = Date.now();
  await world.api("/api/execute", { instructions: "[[plain]] from elsewhere", chatId: "other" });
  await until("the other chat", () => tab.$$eval(".room", all => all.length === 2));
  check("a change is shown soon", Date.now() - asked < 5000);
});
