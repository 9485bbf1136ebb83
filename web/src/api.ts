// All traffic of the page. What signs in has two halves: a cookie that no script reads, and a key
// that is kept for this origin alone and sent as a header. Neither is of use without the other.
import { signal } from "@preact/signals";

export interface Status {
  version: string;
  agent: string;
  degraded: string[];
  pendingApprovalsCount: number;
  llm: { provider: string; model: string };
  platforms: Record<string, Link>;
  latency?: Record<string, { count: number; p50Ms: number; p99Ms: number }>;
  models: Record<string, Link & { state: string; lastAnswerAt?: string }>;
  store: {
    project: { name: string };
    uptimeMs: number;
    queue: { waiting: number };
    runs: { open: number; answered: number; failed: number; waitingForModel: number };
    troubles?: { name: string; what: string; remedy: string }[];
    usageToday?: Usage;
    budgets?: { total?: { tokens?: { day?: { used: number; limit?: number } } } };
  };
}
interface Link {
  connected?: boolean;
  lastEventAt?: string;
  lastError?: { text: string };
}
export interface Usage {
  requests: number;
  input: number;
  cached: number;
  written: number;
  output: number;
  costNano: number;
}
export const status = signal<Status | null>(null);
export const isLost = signal(false);
/** null: not known yet */
export const isSignedIn = signal<boolean | null>(null);

const keyName = "sma-page-key";
let key = localStorage.getItem(keyName) ?? "";

export class Refused extends Error {
  constructor(
    readonly code: number,
    message: string
  ) {
    super(message);
  }
}

function send(method: string, path: string, body?: unknown, more?: Record<string, string>) {
  const headers: Record<string, string> = { accept: "application/json", ...more };
  if (key) headers["x-page-key"] = key;
  if (body !== undefined) headers["content-type"] = "application/json";
  return fetch(path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
    redirect: "error",
  });
}

async function ask<T>(method: string, path: string, body?: unknown, more?: Record<string, string>) {
  const answer = await send(method, path, body, more);
  const json = await answer.json().catch(() => ({}));
  if (answer.status === 401 && path.startsWith("/api/")) isSignedIn.value = false;
  if (!answer.ok) throw new Refused(answer.status, json.message ?? answer.statusText);
  return json as T;
}
export const get = <T>(path: string) => ask<T>("GET", path);
export const post = <T>(path: string, body: unknown = {}, more?: Record<string, string>) =>
  ask<T>("POST", path, body, more);
export const del = (path: string) => ask<{ message: string }>("DELETE", path);

// -- sign-in ---------------------------------------------------------------------------------------
export async function signIn(by: { code: string } | { token: string }) {
  const answer = await post<{ key: string }>("/sign-in", by);
  key = answer.key;
  localStorage.setItem(keyName, key);
  isSignedIn.value = true;
}
export async function signOut(everywhere: boolean) {
  await post("/api/sign-out", { everywhere });
  localStorage.removeItem(keyName);
  key = "";
  isSignedIn.value = false;
  socket?.close();
}
/** What went wrong with the code of the link, or "". */
export async function begin(): Promise<string> {
  const code = location.hash.match(/^#code=([0-9a-f]+)$/)?.[1];
  let trouble = "";
  if (code) {
    history.replaceState(null, "", location.pathname);
    await signIn({ code }).catch((e: Error) => (trouble = e.message));
  }
  for (;;) {
    try {
      status.value = await get<Status>("/api/status");
      isSignedIn.value = true;
      isLost.value = false;
      return "";
    } catch (e) {
      if (e instanceof Refused && e.code === 401) break;
      isLost.value = true;
      await new Promise(done => setTimeout(done, 2000));
    }
  }
  isSignedIn.value = false;
  return trouble;
}

// -- how the service is ----------------------------------------------------------------------------
// Told when it changes, once a second at most. Closed while nobody looks at the page.
let socket: WebSocket | null = null, isOpening = false, pause = 500;
export async function watch() {
  if (document.hidden || socket || isOpening || !isSignedIn.value) return;
  isOpening = true;
  try {
    const { url } = await post<{ url: string }>("/api/tickets", { path: "/ws" });
    socket = new WebSocket(location.origin.replace("http", "ws") + url);
  } catch {
    again();
    return;
  } finally {
    isOpening = false;
  }
  socket.onmessage = e => {
    status.value = JSON.parse(e.data);
    isLost.value = false;
    pause = 500;
  };
  socket.onclose = () => {
    socket = null;
    again();
  };
}
function again() {
  if (document.hidden || !isSignedIn.value) return;
  isLost.value = true;
  setTimeout(watch, (pause = Math.min(pause * 2, 15000)));
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden) socket?.close();
  else watch();
});

// -- what a run tells ------------------------------------------------------------------------------
/** Every event of a run until its end, over broken connections, too. */
export async function follow(
  runId: string,
  told: (event: string, data: any) => void,
  cut: AbortSignal
) {
  let last = "", wait = 300;
  while (!cut.aborted) {
    try {
      const headers: Record<string, string> = { accept: "text/event-stream", "x-page-key": key };
      if (last) headers["last-event-id"] = last;
      const path = `/api/runs/${runId}/events`;
      const answer = await fetch(path, { headers, cache: "no-store", signal: cut });
      if (answer.status === 401) isSignedIn.value = false;
      if (answer.status === 204 || (answer.status >= 400 && answer.status < 500)) return;
      if (answer.ok && answer.body) {
        for await (const { id, event, data } of events(answer.body)) {
          wait = 300;
          if (id) last = id;
          told(event, data);
          if (event === "result") return;
        }
      }
    } catch {
      if (cut.aborted) return;
    }
    await new Promise(done => setTimeout(done, (wait = Math.min(wait * 2, 10000))));
  }
}
async function* events(body: ReadableStream<Uint8Array>) {
  const reader = body.getReader(), decoder = new TextDecoder();
  let left = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    left += decoder.decode(value, { stream: true });
    const frames = left.split("\n\n");
    left = frames.pop() ?? "";
    for (const frame of frames) {
      const field = (name: string) =>
        frame.split("\n").find(l => l.startsWith(name + ": "))?.slice(name.length + 2);
      const data = field("data");
      if (data !== undefined)
        yield { id: field("id"), event: field("event") ?? "message", data: JSON.parse(data) };
    }
  }
}
