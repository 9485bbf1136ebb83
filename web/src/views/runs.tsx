// Runs: which there are, and the life of one: where its time went, and why it did not answer.
import { useState } from "preact/hooks";
import { del, get, status, type Usage } from "../api.ts";
import { chatPath, go, many, moment, span, Trouble, useLoaded } from "../parts.tsx";
import { t, type Word } from "../words.ts";

export interface Run {
  runId: string;
  status: string;
  chatKey?: string;
  platform?: string;
  userName?: string;
  userId?: string;
  acceptedAt?: string;
  durationMs?: number;
  usage?: Usage;
  reason?: string;
  reasonText?: string;
  remedy?: string;
}
interface Stage {
  stage: string;
  at?: string;
  atUs?: number;
  outcome?: string;
  ms?: number;
  tool?: string;
  target?: string;
  queuedMs?: number;
  firstTokenMs?: number;
  waitMs?: number;
  isError?: boolean;
  input?: number;
  cached?: number;
  output?: number;
}
interface Trace extends Run {
  waitsFor?: string;
  messageId?: string;
  sentAt?: string;
  endedAt?: string;
  stages: Stage[];
  deliveries: {
    outboxId: number;
    platform: string;
    state: string;
    attempts: number;
    ms?: number;
    error?: string;
  }[];
}
const filters: Word[] = ["all", "open", "waiting", "parked", "failed", "done", "cancelled"];

export function RunTable({ runs }: { runs: Run[] }) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={t("runs")}>
      <table class="rows">
        <tbody>
          {runs.map(r => (
            <tr key={r.runId} onClick={() => go("/ui/runs/" + r.runId)}>
              <td>
                <a
                  href={"/ui/runs/" + r.runId}
                  onClick={e => {
                    e.preventDefault();
                  }}
                >
                  #{r.runId}
                </a>
              </td>
              <td>
                <span class={"state " + r.status}>{stateName(r.status)}</span>
              </td>
              <td class="wide">{r.userName ?? r.userId}</td>
              <td class="muted">{r.platform ?? r.chatKey}</td>
              <td class="num">{span(r.durationMs)}</td>
              <td class="num muted">
                {r.usage && many(r.usage.input + r.usage.cached + r.usage.output)}
              </td>
              <td class="num muted">{moment(r.acceptedAt)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
const stateName = (state: string) =>
  state === "waiting_for_model"
    ? t("waitingForModel")
    : state === "running" || filters.includes(state as Word)
      ? t(state as Word)
      : state;

export function Runs({ rest }: { rest: string }) {
  return rest ? <One key={rest} runId={rest} /> : <List />;
}
function List() {
  const [filter, setFilter] = useState<Word>("all"), [pages, setPages] = useState(1);
  const { value, error, again } = useLoaded(async () => {
    let runs: Run[] = [], next: string | undefined;
    for (let page = 0; page < pages && (page === 0 || next); page++) {
      const before = next ? "&before=" + next : "";
      const got = await get<{ runs: Run[]; next?: string }>(
        `/api/runs?limit=50&status=${filter}${before}`
      );
      runs = [...runs, ...got.runs];
      next = got.next;
    }
    return { runs, next };
  }, [filter, pages, status.value]);
  return (
    <main class="plain">
      <h1>{t("runs")}</h1>
      <div class="filters" role="group" aria-label={t("filter")}>
        {filters.map(f => (
          <button
            key={f}
            type="button"
            aria-pressed={f === filter}
            onClick={() => {
              setFilter(f);
              setPages(1);
            }}
          >
            {t(f)}
          </button>
        ))}
      </div>
      <Trouble text={error} again={again} />
      {value?.runs.length === 0 && <p class="muted">{t("noRuns")}</p>}
      {value && value.runs.length > 0 && <RunTable runs={value.runs} />}
      {value?.next && (
        <button type="button" class="earlier" onClick={() => setPages(pages + 1)}>
          {t("older")}
        </button>
      )}
    </main>
  );
}

function One({ runId }: { runId: string }) {
  const load = () => get<Trace>(`/api/runs/${encodeURIComponent(runId)}/trace`);
  const { value: run, error, again } = useLoaded(load, [runId, status.value]);
  const [said, setSaid] = useState("");
  const isOpen = run && !["done", "failed", "cancelled"].includes(run.status);
  const stop = () =>
    del("/api/runs/" + runId)
      .then(a => setSaid(a.message), (e: Error) => setSaid(e.message))
      .finally(again);
  return (
    <main class="plain">
      <h1>
        {t("run")} #{runId} {run && <span class={"state " + run.status}>{stateName(run.status)}</span>}
      </h1>
      <Trouble text={error} again={again} />
      {run && (
        <div class="column">
          {(run.reasonText || run.waitsFor) && (
            <p class="alarm why">
              <b>{run.reasonText ?? run.waitsFor}</b> {run.remedy}
            </p>
          )}
          <p class="muted">
            {[run.userName ?? run.userId, run.platform, moment(run.acceptedAt), span(run.durationMs)]
              .filter(Boolean)
              .join(" · ")}
          </p>
          <p>
            {run.chatKey && (
              <button type="button" class="link" onClick={() => go(chatPath(run.chatKey!))}>
                {t("openChat")}
              </button>
            )}{" "}
            {isOpen && (
              <button type="button" class="danger" onClick={stop}>
                {t("stop")}
              </button>
            )}{" "}
            <span role="status">{said}</span>
          </p>
          <Line stages={run.stages} />
          {run.deliveries.map(d => (
            <p key={d.outboxId} class="entry">
              {t("delivery")} {d.platform}: <span class={"state " + d.state}>{d.state}</span>{" "}
              <span class="muted">
                {[d.attempts + " ×", span(d.ms), d.error].filter(Boolean).join(" · ")}
              </span>
            </p>
          ))}
        </div>
      )}
    </main>
  );
}
// Each stage under the one before it; a bar is as long as its part of the longest.
function Line({ stages }: { stages: Stage[] }) {
  const longest = Math.max(1, ...stages.map(s => s.ms ?? s.waitMs ?? 0));
  const begun = stages[0]?.atUs ?? 0;
  const facts = (s: Stage) =>
    [
      s.atUs !== undefined && "+" + span((s.atUs - begun) / 1000),
      s.target,
      s.firstTokenMs !== undefined && `${t("firstToken")} ${span(s.firstTokenMs)}`,
      s.input !== undefined &&
        `${many(s.input + (s.cached ?? 0))} → ${many(s.output ?? 0)} ${t("tokens")}`,
      s.outcome !== "ok" && s.outcome,
      s.isError && t("failed"),
    ]
      .filter(Boolean)
      .join(" · ");
  return (
    <ol class="line">
      {stages.map((s, i) => (
        <li key={i}>
          <b>{s.tool ?? s.stage}</b>
          <svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect width={(100 * (s.ms ?? s.waitMs ?? 0)) / longest} height="6" rx="3" />
          </svg>
          <span class="num">{span(s.ms ?? s.waitMs)}</span>
          <span class="muted">{facts(s)}</span>
        </li>
      ))}
    </ol>
  );
}
