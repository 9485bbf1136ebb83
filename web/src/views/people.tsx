// Who waits to be let in, who was, and which groups.
import { get, post, status } from "../api.ts";
import { moment, tell, Trouble, useLoaded } from "../parts.tsx";
import { t, type Word } from "../words.ts";

interface Person {
  code?: string;
  channel: string;
  userId?: string;
  chatId?: string;
  group?: string;
  userName?: string;
  role?: string;
  via?: string;
  created?: string;
}
interface People {
  pairings: Person[];
  people: Person[];
  groups?: Person[];
}
const roles: Word[] = ["member", "admin", "owner"];

export function PeopleView() {
  const load = () => get<People>("/api/pairings");
  const { value, error, again } = useLoaded(load, [status.value]);
  async function decide(id: string, verb: "approve" | "reject", body = {}) {
    const path = `/api/pairings/${encodeURI(id)}/${verb}`;
    await post<{ message: string }>(path, body).then(
      answer => tell(answer.message),
      (e: Error) => tell(e.message)
    );
    again();
  }
  const nobody = value && value.pairings.length + value.people.length === 0;
  return (
    <main class="plain">
      <h1>{t("people")}</h1>
      <Trouble text={error} again={again} />
      {nobody && !value.groups?.length && <p class="muted">{t("noPeople")}</p>}
      <div class="column">
        {value?.pairings.map(p => (
          <div class="entry person" key={p.code}>
            <b>{p.userName || p.userId || p.group}</b>
            <span class="muted">
              {[p.channel, p.group ?? p.userId, p.code, moment(p.created)]
                .filter(Boolean)
                .join(" · ")}
            </span>
            <span class="gap" />
            {(p.group ? (["letIn"] as Word[]) : roles).map(role => (
              <button
                key={role}
                type="button"
                onClick={() => decide(p.code!, "approve", p.group ? {} : { role })}
              >
                {t(role)}
              </button>
            ))}
            <button type="button" class="danger" onClick={() => decide(p.code!, "reject")}>
              {t("refuse")}
            </button>
          </div>
        ))}
        {value?.people.map(p => (
          <div class="entry person" key={p.channel + p.userId}>
            <b>{p.userName || p.userId}</b>
            <span class="muted">
              {[p.channel, p.userId, p.via].filter(Boolean).join(" · ")}
            </span>
            <span class="gap" />
            <select
              aria-label={t("role")}
              value={p.role}
              onChange={e =>
                decide(`${p.channel}:${p.userId}`, "approve", { role: e.currentTarget.value })
              }
            >
              {roles.map(role => (
                <option key={role} value={role}>
                  {t(role)}
                </option>
              ))}
            </select>
            <button
              type="button"
              class="danger"
              onClick={() => decide(`${p.channel}:${p.userId}`, "reject")}
            >
              {t("takeBack")}
            </button>
          </div>
        ))}
        {!!value?.groups?.length && <h2>{t("groups")}</h2>}
        {value?.groups?.map(g => (
          <div class="entry person" key={g.channel + g.chatId}>
            <b>{g.chatId}</b>
            <span class="muted">
              {g.channel} · {g.via}
            </span>
          </div>
        ))}
      </div>
    </main>
  );
}
