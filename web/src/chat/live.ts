// What is under way in a room: the run that answers, and messages that are not in the history yet.
import { signal, type Signal } from "@preact/signals";
import { follow, get, post, Refused } from "../api.ts";

export interface Answer {
  runId: string;
  text: string;
  tools: string[];
}
export interface Sending {
  messageId: string;
  text: string;
  files: { name: string; mime?: string; data: string }[];
  state: "sending" | "accepted" | "failed";
  said: string; // why it failed
  ts: number;
}
interface Live {
  answer: Answer | null;
  sending: Sending[];
}
const lives = new Map<string, Signal<Live>>(), followed = new Set<string>();
export function live(chatKey: string) {
  let it = lives.get(chatKey);
  if (!it) lives.set(chatKey, (it = signal<Live>({ answer: null, sending: [] })));
  return it;
}

/** Show what a run tells until its end. Many pieces a second, one picture a frame. */
export async function show(chatKey: string, runId: string, ended: () => void) {
  const at = live(chatKey);
  if (followed.has(runId)) return;
  followed.add(runId);
  const answer: Answer = { runId, text: "", tools: [] };
  let frame = 0;
  const paint = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      if (followed.has(runId)) at.value = { ...at.value, answer: { ...answer } };
    });
  };
  paint();
  const told = (event: string, data: any) => {
    if (event === "progress") answer.text = data.text ?? answer.text;
    else if (event === "delta") answer.text += data.text;
    else if (event === "tool") answer.tools = [...answer.tools, data.name];
    paint();
  };
  await follow(runId, told, new AbortController().signal);
  followed.delete(runId);
  cancelAnimationFrame(frame);
  ended();
}
export function forget(chatKey: string, runId: string) {
  const at = live(chatKey);
  if (at.value.answer?.runId === runId) at.value = { ...at.value, answer: null };
}

/** Go on where an answer is under way: after a reload, or when somebody else has asked. */
export async function resume(chatKey: string, ended: () => void) {
  const key = encodeURIComponent(chatKey);
  const { runs } = await get<{ runs: { runId: string; status: string }[] }>(
    `/api/runs?status=open&limit=1&chatKey=${key}`
  );
  if (runs[0] && runs[0].status !== "parked") show(chatKey, runs[0].runId, ended);
}

function change(chatKey: string, message: Sending, to: Partial<Sending>) {
  const at = live(chatKey);
  Object.assign(message, to);
  at.value = { ...at.value, sending: [...at.value.sending] };
}
/** One message, whatever happens on the way: it is repeated under its id. */
export async function deliver(chatKey: string, message: Sending, ended: () => void) {
  const isRoom = chatKey.startsWith("web:room:");
  const { messageId, text, files } = message;
  const request = () =>
    isRoom
      ? post<{ runId?: string }>(
          "/api/execute",
          {
            instructions: text,
            chatId: chatKey.slice("web:room:".length),
            messageId,
            ...(files.length && { attachments: files }),
          },
          { prefer: "respond-async" }
        )
      : post<{ runId?: string }>(`/api/chats/${encodeURIComponent(chatKey)}/messages`, {
          text,
          messageId,
        });
  change(chatKey, message, { state: "sending", said: "" });
  for (let tries = 0, wait = 400; ; tries++, wait *= 3) {
    try {
      const { runId } = await request();
      change(chatKey, message, { state: "accepted" });
      if (runId) show(chatKey, runId, ended);
      else ended();
      return;
    } catch (e) {
      const isFinal = e instanceof Refused && e.code < 500;
      if (isFinal || tries === 2) {
        change(chatKey, message, { state: "failed", said: (e as Error).message });
        return;
      }
      await new Promise(done => setTimeout(done, wait));
    }
  }
}
