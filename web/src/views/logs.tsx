// The newest lines of the log, as they come; a line of a run opens it.
import { useState } from "preact/hooks";
import { get, status } from "../api.ts";
import { go, moment, Trouble, useLoaded } from "../parts.tsx";
import { t, type Word } from "../words.ts";

interface Entry {
  id: string;
  timestamp: string;
  level: string;
  message: string;
  details?: { runId?: string };
}
const shownMax = 200; // in the document; more of them make a page slow
const levels: Word[] = ["all", "action", "warn", "error"];
const isOf = (level: Word, entry: Entry) =>
  level === "all" || entry.level === level || (level === "warn" && entry.level === "error");

export function Logs() {
  const [level, setLevel] = useState<Word>("all"), [words, setWords] = useState("");
  const { value, error, again } = useLoaded(
    () => get<{ logs: Entry[] }>("/api/logs?limit=2000"),
    [status.value]
  );
  const fits = (e: Entry) =>
    isOf(level, e) && e.message.toLowerCase().includes(words.toLowerCase());
  const list = (value?.logs ?? []).filter(fits).slice(-shownMax).reverse();
  return (
    <main class="plain">
      <h1>{t("logs")}</h1>
      <div class="filters" role="group" aria-label={t("filter")}>
        {levels.map(l => (
          <button key={l} type="button" aria-pressed={l === level} onClick={() => setLevel(l)}>
            {t(l)}
          </button>
        ))}
        <input
          class="search"
          type="search"
          value={words}
          placeholder={t("narrow")}
          aria-label={t("narrow")}
          onInput={e => setWords(e.currentTarget.value)}
        />
      </div>
      <Trouble text={error} again={again} />
      {value && list.length === 0 && <p class="muted">{t("noLogs")}</p>}
      <ol class="logs">
        {list.map(e => (
          <li key={e.id} class={e.level}>
            <time>{moment(e.timestamp)}</time>
            <span class="level">{e.level}</span>
            <span class="words">{e.message}</span>
            {e.details?.runId && (
              <button
                type="button"
                class="link"
                onClick={() => go("/ui/runs/" + e.details!.runId)}
              >
                #{e.details.runId}
              </button>
            )}
          </li>
        ))}
      </ol>
    </main>
  );
}
