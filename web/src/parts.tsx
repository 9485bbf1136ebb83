// Small things that several places use.
import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { Icon } from "./icons.tsx";
import { lang, t } from "./words.ts";

export const path = signal(location.pathname);
addEventListener("popstate", () => {
  path.value = location.pathname;
});
export function go(to: string) {
  history.pushState(null, "", to);
  path.value = to;
}
/** The address of a chat; its key may hold anything. */
export const chatPath = (chatKey: string) =>
  "/ui/chat/" + encodeURI(chatKey).replace(/[?#]/g, encodeURIComponent);
/** What an address says, however somebody has written it. */
export function decoded(text: string) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
export const newRoom = () => "web:room:" + uuid();
/** crypto.randomUUID is not there on an address without TLS that is not this machine. */
export function uuid() {
  const hex = [...crypto.getRandomValues(new Uint8Array(16))]
    .map(byte => byte.toString(16).padStart(2, "0"))
    .join("");
  return hex.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
/** The room that has no address yet. */
export const fresh = signal(newRoom());
// What is said in it gives it one.
export function settle(chatKey: string) {
  if (path.value !== "/ui/" || fresh.value !== chatKey) return;
  history.replaceState(null, "", chatPath(chatKey));
  path.value = location.pathname;
  fresh.value = newRoom();
}

export function Copy({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () =>
    navigator.clipboard?.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  return (
    <button type="button" onClick={copy}>
      <Icon name="copy" />
      <span>{t(isCopied ? "copied" : "copy")}</span>
    </button>
  );
}

const locale = () => (lang.value === "zh" ? "zh-CN" : "en-GB");
export const time = (at: number | string) =>
  new Date(at).toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit" });
export const day = (at: number | string) =>
  new Date(at).toLocaleDateString(locale(), { weekday: "long", day: "numeric", month: "long" });
export const moment = (at?: string) =>
  at ? new Date(at).toLocaleString(locale(), { dateStyle: "short", timeStyle: "medium" }) : "";
export const many = (n: number) =>
  n < 1000 ? String(n) : n < 1e6 ? (n / 1000).toFixed(1) + " k" : (n / 1e6).toFixed(1) + " M";
export function span(ms?: number) {
  if (ms === undefined) return "";
  if (ms < 1000) return Math.round(ms) + " ms";
  if (ms < 60000) return (ms / 1000).toFixed(1) + " s";
  return ms < 3600000 ? Math.round(ms / 60000) + " min" : (ms / 3600000).toFixed(1) + " h";
}

/** Said at the edge of the page for a while. */
export const notice = signal("");
let noticeEnd = 0;
export function tell(text: string) {
  notice.value = text;
  clearTimeout(noticeEnd);
  noticeEnd = setTimeout(() => (notice.value = ""), 8000);
}

/** What `load` gives, asked again when `on` changes; the error is a sentence to show. */
export function useLoaded<T>(load: () => Promise<T>, on: unknown[]) {
  const [value, setValue] = useState<T | null>(null), [error, setError] = useState("");
  const again = () =>
    load().then(
      v => {
        setValue(v);
        setError("");
      },
      (e: Error) => setError(e.message)
    );
  useEffect(() => {
    again();
  }, on);
  return { value, error, again };
}
export function Trouble({ text, again }: { text: string; again?: () => void }) {
  return text === "" ? null : (
    <p class="alarm" role="alert">
      {text}{" "}
      {again && (
        <button type="button" onClick={again}>
          {t("again")}
        </button>
      )}
    </p>
  );
}
