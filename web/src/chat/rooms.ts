// The conversations: rooms of this page and chats of every platform, with a line to know them by.
import { signal } from "@preact/signals";
import { get } from "../api.ts";
import { t } from "../words.ts";

export interface Room {
  chatKey: string;
  platform: string;
  lastActiveAt: string;
  waiting: number;
  waitingForModel: number;
  approvals: number;
  undelivered: number;
  isRunning: boolean;
}
export interface Line {
  ts: number;
  role: string;
  text: string;
  messageId?: string;
  meta?: { notice?: unknown; runId?: string };
}
export const isRoom = (chatKey: string) => chatKey.startsWith("web:room:");
export const rooms = signal<Room[]>([]);
/** What a room is called here: the first words that were said in it, or the newest. */
export const titles = signal<Record<string, string>>({});

const name = "sma-titles", kept = 200;
let begun: Record<string, string> = {};
try {
  begun = JSON.parse(localStorage.getItem(name) ?? "{}");
} catch {
  localStorage.removeItem(name);
}
titles.value = begun;
export function nameRoom(chatKey: string, text: string) {
  if (begun[chatKey]) return;
  begun = Object.fromEntries([...Object.entries(begun), [chatKey, text.slice(0, 60)]].slice(-kept));
  localStorage.setItem(name, JSON.stringify(begun));
  titles.value = { ...titles.value, ...begun };
}
export const titleOf = (chatKey: string) =>
  titles.value[chatKey] ?? (isRoom(chatKey) ? t("newRoom") : (chatKey.split(":").pop() ?? ""));

export const history = (chatKey: string, limit: number) =>
  get<Line[] | { error: string }>(
    `/api/history?limit=${limit}&chatKey=${encodeURIComponent(chatKey)}`
  ).then(lines => {
    if (!Array.isArray(lines)) throw new Error(lines.error);
    return lines;
  });
export async function loadRooms() {
  rooms.value = (await get<{ chats: Room[] }>("/api/chats?limit=100")).chats;
  const unknown = rooms.value.filter(r => !titles.value[r.chatKey]).slice(0, 20);
  for (const room of unknown) {
    const line = (await history(room.chatKey, 1).catch(() => []))[0];
    if (line) titles.value = { ...titles.value, [room.chatKey]: line.text.slice(0, 60) };
  }
}
