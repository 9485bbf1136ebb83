// Who is not signed in is told how.
import { useState } from "preact/hooks";
import { begin, signIn, watch } from "./api.ts";
import { Trouble } from "./parts.tsx";
import { t } from "./words.ts";

export function SignIn({ trouble }: { trouble: string }) {
  const [token, setToken] = useState(""), [said, setSaid] = useState("");
  async function submit(e: Event) {
    e.preventDefault();
    try {
      await signIn({ token: token.trim() });
      await begin();
      watch();
    } catch (error) {
      setSaid((error as Error).message);
    }
  }
  return (
    <main class="sign-in">
      <h1>ShipMyAgent</h1>
      <Trouble text={said || trouble} />
      <p>{t("signInHow")}</p>
      <pre>shipmyagent page</pre>
      <form onSubmit={submit}>
        <label>
          {t("signInElse")}
          <input
            type="password"
            autocomplete="off"
            value={token}
            onInput={e => setToken(e.currentTarget.value)}
            aria-label={t("token")}
          />
        </label>
        <button class="primary" disabled={token.trim() === ""}>
          {t("signIn")}
        </button>
      </form>
    </main>
  );
}
