// How everything stands: one sentence, what is wrong and what to do, who is connected, what it costs.
import { get, status, type Status } from "../api.ts";
import { Icon } from "../icons.tsx";
import { go, many, span, time, Trouble, useLoaded } from "../parts.tsx";
import { lang, t } from "../words.ts";
import { RunTable, type Run } from "./runs.tsx";

export function Now() {
  const s = status.value;
  const { value, error, again } = useLoaded(
    () => get<{ runs: Run[] }>("/api/runs?status=all&limit=8"),
    [s]
  );
  if (!s) return <main class="now" aria-busy="true" />;
  const troubles = s.store.troubles ?? [], waiting = s.pendingApprovalsCount;
  const isWell = s.degraded.length === 0 && troubles.length === 0;
  return (
    <main class="now">
      <header>
        <h1>{t(isWell ? "allWell" : "notWell")}</h1>
        <p class="muted">
          {[
            `ShipMyAgent ${s.version}`,
            s.llm.model,
            `${t("up")} ${span(s.store.uptimeMs)}`,
            `${s.store.runs.answered} ${t("answered")}`,
            `${s.store.runs.failed} ${t("failures")}`,
          ].join(" · ")}
        </p>
      </header>
      {s.degraded.map(reason => (
        <p class="alarm" key={reason}>
          {reason}
        </p>
      ))}
      {troubles.map(trouble => (
        <p class="alarm" key={trouble.name}>
          <b>{trouble.what}</b> {trouble.remedy}
        </p>
      ))}
      {waiting > 0 && (
        <button class="call" type="button" onClick={() => go("/ui/approvals")}>
          <Icon name="shield" />
          <b>{waiting}</b> {t("needsYou")}
          <span class="gap" />→
        </button>
      )}
      <section class="strip" aria-label={t("platforms")}>
        {Object.entries(s.platforms).map(([name, p]) => (
          <Chip
            key={name}
            name={name}
            is={p.connected ? "good" : "bad"}
            says={p.connected ? p.lastEventAt && time(p.lastEventAt) : p.lastError?.text}
          />
        ))}
        {Object.entries(s.models).map(([name, m]) => (
          <Chip
            key={name}
            name={name.split(" ").pop()!}
            is={m.state === "ok" ? "good" : m.state === "unused" ? "" : "bad"}
            says={m.state === "ok" ? m.lastAnswerAt && time(m.lastAnswerAt) : m.lastError?.text}
          />
        ))}
      </section>
      <section class="card wide">
        <h2>
          {t("latency")} <small class="muted">{t("medianP99")}</small>
        </h2>
        <Latency of={s.latency ?? {}} />
      </section>
      <section class="card">
        <h2>{t("today")}</h2>
        <Today s={s} />
      </section>
      <section class="card">
        <h2>{t("latestRuns")}</h2>
        <Trouble text={error} again={again} />
        {value?.runs.length === 0 ? (
          <p class="muted">{t("noRuns")}</p>
        ) : (
          <RunTable runs={value?.runs ?? []} />
        )}
      </section>
    </main>
  );
}
const Chip = ({ name, is, says }: { name: string; is: string; says?: string | false }) => (
  <div class="chip">
    <span class={"dot " + is} />
    <b>{name}</b>
    <span class="muted">{says || (is === "bad" ? t("offline") : "")}</span>
  </div>
);
function Today({ s }: { s: Status }) {
  const usage = s.store.usageToday, of = s.store.budgets?.total?.tokens?.day;
  const sums: [string, string][] = [
    [t("requests"), many(usage?.requests ?? 0)],
    [t("tokens"), many(usage ? usage.input + usage.cached + usage.written + usage.output : 0)],
    [t("open"), String(s.store.runs.open)],
    [t("waiting"), String(s.store.queue.waiting)],
  ];
  return (
    <>
      <dl class="sums">
        {sums.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {of?.limit && (
        <>
          <Meter share={of.used / of.limit} />
          <p class="muted">
            {t("budget")} {many(of.used)} / {many(of.limit)}
          </p>
        </>
      )}
    </>
  );
}
export const Meter = ({ share }: { share: number }) => (
  <svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect class="rail" width="100" height="6" rx="3" />
    <rect width={Math.min(100, 100 * share)} height="6" rx="3" />
  </svg>
);
// From a microsecond to 100 seconds, a decade an eighth.
const place = (ms: number) => Math.min(100, Math.max(0, (Math.log10(Math.max(ms, 0.001)) + 3) * 12.5));
const stages: [string, string, string][] = [
  ["read_to_durable", "read → disk", "读 → 落盘"],
  ["read_to_model", "read → model asked", "读 → 问模型"],
  ["model_first_token", "model: first token", "模型：首个词元"],
  ["model_total", "model: whole answer", "模型：完整回答"],
  ["delivery_attempt", "delivery", "投递"],
  ["read_to_reply", "read → reply on the platform", "读 → 平台上的回复"],
];
function Latency({ of }: { of: NonNullable<Status["latency"]> }) {
  const shown = stages.filter(([name]) => of[name]?.count);
  if (shown.length === 0) return <p class="muted">{t("noRuns")}</p>;
  return (
    <div class="latency">
      {shown.map(([name, en, zh]) => {
        const { p50Ms, p99Ms } = of[name];
        return (
          <div class="line" key={name}>
            <span>{lang.value === "zh" ? zh : en}</span>
            <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
              <rect class="rail" y="3" width="100" height="2" />
              <rect
                class="span"
                x={place(p50Ms)}
                y="2"
                width={Math.max(1, place(p99Ms) - place(p50Ms))}
                height="4"
                rx="2"
              />
            </svg>
            <span class="num">
              {span(p50Ms)} <span class="muted">/ {span(p99Ms)}</span>
            </span>
          </div>
        );
      })}
    </div>
  );
}
