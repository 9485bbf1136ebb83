// All chats of all platforms: what goes on in each, and what was said.
import { useState } from "preact/hooks";
import { status } from "../api.ts";
import { loadRooms, rooms, titleOf } from "../chat/rooms.ts";
import { chatPath, go, moment, Trouble, useLoaded } from "../parts.tsx";
import { t } from "../words.ts";

export function Chats() {
  const { error, again } = useLoaded(loadRooms, [status.value]);
  const [words, setWords] = useState("");
  const fits = (text: string) => text.toLowerCase().includes(words.toLowerCase());
  const list = rooms.value.filter(r => fits(r.chatKey) || fits(titleOf(r.chatKey)));
  return (
    <main class="plain">
      <h1>{t("chats")}</h1>
      <Trouble text={error} again={again} />
      <input
        class="search"
        type="search"
        value={words}
        placeholder={t("narrow")}
        aria-label={t("narrow")}
        onInput={e => setWords(e.currentTarget.value)}
      />
      {list.length === 0 && <p class="muted">{t("noChats")}</p>}
      <div class="table" tabIndex={0} role="region" aria-label={t("chats")}>
        <table class="rows">
          <tbody>
            {list.map(r => (
              <tr key={r.chatKey} onClick={() => go(chatPath(r.chatKey))}>
                <td class="wide">
                  <a href={chatPath(r.chatKey)} onClick={e => e.preventDefault()}>
                    {titleOf(r.chatKey)}
                  </a>
                </td>
                <td class="muted">{r.platform}</td>
                <td>
                  {r.approvals > 0 && <span class="state parked">{t("parked")}</span>}
                  {r.isRunning && <span class="state running">{t("running")}</span>}
                  {r.waiting > 0 && (
                    <span class="state">
                      {r.waiting} {t("waiting")}
                    </span>
                  )}
                  {r.undelivered > 0 && (
                    <span class="state failed">
                      {r.undelivered} {t("undelivered")}
                    </span>
                  )}
                </td>
                <td class="num muted">{moment(r.lastActiveAt)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </main>
  );
}
