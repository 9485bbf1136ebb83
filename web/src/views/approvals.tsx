// Everything that waits for consent, on all platforms, and what is allowed already.
import { get, post, status } from "../api.ts";
import { Ask, type Approval } from "../chat/ask.tsx";
import { moment, Trouble, useLoaded } from "../parts.tsx";
import { t } from "../words.ts";

interface Grant {
  id: string;
  tool: string;
  rule: string;
  chatKey?: string;
  until?: string;
  by?: string;
}
export function Approvals() {
  const { value, error, again } = useLoaded(
    async () => ({
      ...(await get<{ approvals: Approval[] }>("/api/approvals")),
      ...(await get<{ grants: Grant[] }>("/api/grants")),
    }),
    [status.value]
  );
  return (
    <main class="plain">
      <h1>{t("approvals")}</h1>
      <Trouble text={error} again={again} />
      <div class="column">
        {value?.approvals.length === 0 && <p class="muted">{t("noApprovals")}</p>}
        {value?.approvals.map(a => (
          <div key={a.id}>
            <p class="where">{a.chatKey ?? a.meta.chatKey}</p>
            <Ask ask={a} done={again} />
          </div>
        ))}
        <h2>{t("grants")}</h2>
        {value?.grants.length === 0 && <p class="muted">{t("noGrants")}</p>}
        {value?.grants.map(g => (
          <GrantRow key={g.id} grant={g} done={again} />
        ))}
      </div>
    </main>
  );
}
function GrantRow({ grant, done }: { grant: Grant; done: () => void }) {
  const end = grant.until ? moment(grant.until) : t("always");
  return (
    <div class="entry">
      <pre class="command">{`${grant.tool} ${grant.rule.replace(/^=/, "")}`}</pre>
      <p class="muted">
        {[grant.chatKey, grant.by, end].filter(Boolean).join(" · ")}{" "}
        <button
          type="button"
          class="danger"
          onClick={() => post(`/api/grants/${grant.id}/revoke`).finally(done)}
        >
          {t("takeBack")}
        </button>
      </p>
    </div>
  );
}
