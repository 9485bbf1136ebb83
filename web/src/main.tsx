// The frame of the page: the side, the places, the keys.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { begin, isLost, isSignedIn, signOut, status, watch } from "./api.ts";
import { Chat } from "./chat/chat.tsx";
import { loadRooms, rooms, titleOf, type Room } from "./chat/rooms.ts";
import { Icon, type IconName } from "./icons.tsx";
import { chatPath, decoded, fresh, go, newRoom, notice, path } from "./parts.tsx";
import { SignIn } from "./sign_in.tsx";
import { places, viewOf } from "./views/places.tsx";
import { lang, setLanguage, t } from "./words.ts";
import { signal } from "@preact/signals";

const isMenuOpen = signal(false);
function Link(props: { to: string; class?: string; children: preact.ComponentChildren }) {
  const isHere = path.value === props.to || path.value.startsWith(props.to + "/");
  return (
    <a
      href={props.to}
      class={props.class}
      aria-current={isHere ? "page" : undefined}
      onClick={e => {
        if (e.metaKey || e.ctrlKey || e.shiftKey) return;
        e.preventDefault();
        isMenuOpen.value = false;
        go(props.to);
      }}
    >
      {props.children}
    </a>
  );
}
const waiting = () => status.value?.pendingApprovalsCount ?? 0;
const Badge = ({ count }: { count: number }) =>
  count > 0 ? <span class="badge">{count}</span> : null;

function Side() {
  const isBad = isLost.value || (status.value?.degraded.length ?? 0) > 0;
  const mine = rooms.value.filter(r => r.platform === "web");
  const others = rooms.value.filter(r => r.platform !== "web");
  return (
    <nav class={"side" + (isMenuOpen.value ? " is-open" : "")} aria-label={t("menu")}>
      <div class="brand">
        <span class={"dot " + (isBad ? "bad" : "good")} />
        <b>{status.value?.store.project.name || "ShipMyAgent"}</b>
      </div>
      <button class="new" type="button" onClick={begone}>
        <Icon name="plus" />
        {t("newRoom")}
        <kbd>N</kbd>
      </button>
      <div class="lists">
        <Rooms title={t("rooms")} list={mine} />
        <Rooms title={t("elsewhere")} list={others} />
      </div>
      <div class="places">
        {places.map(({ name, to }) => (
          <Link key={name} to={to}>
            <Icon name={name as IconName} />
            {t(name)}
            {name === "approvals" && <Badge count={waiting()} />}
          </Link>
        ))}
      </div>
      <div class="ends">
        <button type="button" onClick={() => setLanguage(lang.value === "zh" ? "en" : "zh")}>
          {t("language")}
        </button>
        <button type="button" onClick={() => signOut(false)}>
          {t("signOut")}
        </button>
        <button type="button" onClick={() => signOut(true)}>
          {t("outEverywhere")}
        </button>
      </div>
    </nav>
  );
}
function begone() {
  isMenuOpen.value = false;
  fresh.value = newRoom();
  go("/ui/");
}
function Rooms({ title, list }: { title: string; list: Room[] }) {
  return list.length === 0 ? null : (
    <section>
      <h2>{title}</h2>
      {list.map(r => (
        <Link key={r.chatKey} to={chatPath(r.chatKey)} class="room">
          <span class="title">{titleOf(r.chatKey)}</span>
          {r.approvals > 0 ? (
            <Badge count={r.approvals} />
          ) : r.isRunning ? (
            <span class="dot busy" />
          ) : r.platform !== "web" ? (
            <span class="tag">{r.platform}</span>
          ) : null}
        </Link>
      ))}
    </section>
  );
}
function Tabs() {
  const ways = places.filter(p => p.isTab);
  return (
    <nav class="tabs" aria-label={t("menu")}>
      <Link to="/ui/">
        <Icon name="chat" />
        {t("chat")}
      </Link>
      {ways.map(({ name, to }) => (
        <Link key={name} to={to}>
          <Icon name={name as IconName} />
          {t(name)}
          {name === "approvals" && <Badge count={waiting()} />}
        </Link>
      ))}
      <button
        type="button"
        aria-expanded={isMenuOpen.value}
        onClick={() => {
          isMenuOpen.value = !isMenuOpen.value;
        }}
      >
        <Icon name="menu" />
        {t("more")}
      </button>
    </nav>
  );
}
function View() {
  const chat = path.value.match(/^\/ui\/chat\/(.+)$/);
  if (chat) {
    const chatKey = decoded(chat[1]);
    return <Chat key={chatKey} chatKey={chatKey} />;
  }
  if (path.value === "/ui/") return <Chat key={fresh.value} chatKey={fresh.value} />;
  return viewOf(path.value);
}

function onKey(e: KeyboardEvent) {
  const target = e.target as HTMLElement;
  if (e.key === "Escape") isMenuOpen.value = false;
  if (target.closest?.("input,textarea,select") || e.metaKey || e.ctrlKey || e.altKey) return;
  const place = places.find(p => p.key === e.key);
  if (e.key === "n") begone();
  else if (e.key === "/") document.querySelector<HTMLElement>(".composer textarea")?.focus();
  else if (place) go(place.to);
  else return;
  e.preventDefault();
}

function App() {
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    begin().then(said => {
      setTrouble(said);
      watch();
    });
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  useEffect(() => {
    if (isSignedIn.value) loadRooms().catch(() => {});
  }, [isSignedIn.value, status.value]);
  if (isSignedIn.value === false) return <SignIn trouble={trouble} />;
  return (
    <>
      {isMenuOpen.value && (
        <div
          class="veil"
          onClick={() => {
            isMenuOpen.value = false;
          }}
        />
      )}
      <Side />
      <div class="view">
        {isLost.value && (
          <div class="lost" role="status">
            {t("lost")}
          </div>
        )}
        {isSignedIn.value && <View />}
        <div class="notice-bar" role="status">
          {notice.value}
        </div>
      </div>
      <Tabs />
    </>
  );
}
const root = document.getElementById("app")!;
root.replaceChildren();
render(<App />, root);
