// What was used: by day, and by who and what used it.
import { useState } from "preact/hooks";
import { get, status, type Usage } from "../api.ts";
import { many, Trouble, useLoaded } from "../parts.tsx";
import { t, type Word } from "../words.ts";
import { Meter } from "./now.tsx";

type Row = Usage & Record<string, string | number>;
interface Report {
  total: Usage;
  days: Row[];
  [list: string]: Row[] | Usage | string;
}
const lists: { title: Word; list: string; name: string }[] = [
  { title: "byDay", list: "days", name: "day" },
  { title: "byModel", list: "targets", name: "target" },
  { title: "byPlatform", list: "platforms", name: "platform" },
  { title: "byPerson", list: "persons", name: "person" },
  { title: "byChat", list: "chats", name: "chatKey" },
];
const tokens = (u: Usage) => u.input + u.cached + u.written + u.output;
const cost = (u: Usage) => (u.costNano > 0 ? (u.costNano / 1e9).toFixed(4) : "");

export function UsageView() {
  const [days, setDays] = useState(30);
  const { value, error, again } = useLoaded(
    () => get<Report>("/api/usage?days=" + days),
    [days, status.value]
  );
  return (
    <main class="plain">
      <h1>{t("usage")}</h1>
      <div class="filters" role="group" aria-label={t("filter")}>
        {[1, 7, 30, 365].map(n => (
          <button key={n} type="button" aria-pressed={n === days} onClick={() => setDays(n)}>
            {n === 1 ? t("today") : `${n} ${t("days")}`}
          </button>
        ))}
      </div>
      <Trouble text={error} again={again} />
      {value?.total.requests === 0 && <p class="muted">{t("noUsage")}</p>}
      {value &&
        lists.map(({ title, list, name }) => (
          <Sums key={list} title={title} rows={value[list] as Row[]} name={name} />
        ))}
    </main>
  );
}
function Sums({ title, rows, name }: { title: Word; rows: Row[]; name: string }) {
  const most = Math.max(1, ...rows.map(tokens));
  if (rows.length === 0) return null;
  return (
    <section class="card sums-of">
      <h2>{t(title)}</h2>
      <div class="table" tabIndex={0} role="region" aria-label={t(title)}>
        <table class="rows">
          <tbody>
            {rows.map((row, i) => (
              <tr key={i}>
                <td class="wide">{String(row[name]) || t("others")}</td>
                <td class="meters">
                  <Meter share={tokens(row) / most} />
                </td>
                <td class="num">
                  {many(tokens(row))} {t("tokens")}
                </td>
                <td class="num muted">
                  {row.requests} ×
                </td>
                <td class="num muted">{cost(row)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
