// A question for consent: what is asked, and the four answers.
import { useState } from "preact/hooks";
import { post, Refused } from "../api.ts";
import { Icon } from "../icons.tsx";
import { tell, time } from "../parts.tsx";
import { Diff } from "../text/markdown.tsx";
import { t } from "../words.ts";

interface Item {
  item: number;
  title: string;
  input?: { path?: string };
  program?: string;
  reason?: string;
  diff?: string;
  details?: { diff?: string; sandbox?: string };
}
export interface Approval {
  id: string;
  createdAt: string;
  chatKey?: string;
  items: Item[];
  meta: { runId?: string; actorId?: string; chatKey?: string };
}
// What turns the order of letters, or is not seen at all, is shown as what it is.
const hidden = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]/g;
const plain = (text: string) =>
  text.replace(hidden, c => `\\u{${c.charCodeAt(0).toString(16).toUpperCase()}}`);

export function Ask({ ask, done }: { ask: Approval; done: () => void }) {
  const [isRefusing, setRefusing] = useState(false), [word, setWord] = useState("");
  const [said, setSaid] = useState(""), [isBusy, setBusy] = useState(false);
  async function decide(verb: "approve" | "reject", body: object) {
    setBusy(true);
    try {
      const answer = await post<{ message: string }>(`/api/approvals/${ask.id}/${verb}`, body);
      tell(answer.message);
    } catch (e) {
      setSaid((e as Error).message);
      if (!(e instanceof Refused)) setBusy(false); // it may not have arrived: press again
    }
    setTimeout(done, 300);
  }
  return (
    <section class="ask" aria-label={t("needs")} data-id={ask.id}>
      <header>
        <Icon name="shield" />
        <b>{t("needs")}</b>
        <span class="muted">
          {ask.meta.actorId} · {time(ask.createdAt)}
        </span>
      </header>
      {ask.items.map(item => (
        <Shown key={item.item} item={item} />
      ))}
      {isRefusing ? (
        <form
          onSubmit={e => {
            e.preventDefault();
            decide("reject", word ? { response: word } : {});
          }}
        >
          <input
            value={word}
            onInput={e => setWord(e.currentTarget.value)}
            placeholder={t("whyNot")}
            aria-label={t("whyNot")}
            ref={e => e?.focus()}
          />
          <button class="danger" disabled={isBusy}>
            {t("refuse")}
          </button>
        </form>
      ) : (
        <div class="buttons">
          <button class="primary" disabled={isBusy} onClick={() => decide("approve", {})}>
            {t("allow")}
          </button>
          <button disabled={isBusy} onClick={() => decide("approve", { grant: "10m" })}>
            {t("allow10")}
          </button>
          <button disabled={isBusy} onClick={() => decide("approve", { grant: "always" })}>
            {t("always")}
          </button>
          <span class="gap" />
          <button class="danger" disabled={isBusy} onClick={() => setRefusing(true)}>
            {t("refuse")}
          </button>
        </div>
      )}
      {said && (
        <p role="status" class="muted">
          {said}
        </p>
      )}
    </section>
  );
}
function Shown({ item }: { item: Item }) {
  const diff = item.diff || item.details?.diff;
  const facts = [
    item.program && item.reason && `${item.program}: ${item.reason}`,
    item.details?.sandbox === "no-network" && t("sandboxed"),
  ].filter(Boolean);
  return (
    <div class="item">
      {diff ? (
        <>
          <code class="path">{plain(item.input?.path ?? item.title)}</code>
          <Diff text={plain(diff)} />
        </>
      ) : (
        <pre class="command" tabIndex={0}>
          {plain(item.title)}
        </pre>
      )}
      {facts.length > 0 && <p class="muted">{facts.join(" · ")}</p>}
    </div>
  );
}
