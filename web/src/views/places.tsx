// Every place beside the chat: its address, its key, and the file that shows it, which is loaded
// when somebody goes there.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { decoded, Trouble } from "../parts.tsx";
import { t, type Word } from "../words.ts";

type View = ComponentType<{ rest: string }>;
interface Place {
  name: Word;
  to: string;
  key: string;
  isTab?: boolean;
  load: () => Promise<View>;
}
export const places: Place[] = [
  {
    name: "now",
    to: "/ui/now",
    key: "g",
    isTab: true,
    load: () => import("./now.tsx").then(m => m.Now),
  },
  { name: "runs", to: "/ui/runs", key: "r", load: () => import("./runs.tsx").then(m => m.Runs) },
  {
    name: "approvals",
    to: "/ui/approvals",
    key: "a",
    isTab: true,
    load: () => import("./approvals.tsx").then(m => m.Approvals),
  },
  { name: "chats", to: "/ui/chats", key: "c", load: () => import("./chats.tsx").then(m => m.Chats) },
  {
    name: "people",
    to: "/ui/people",
    key: "p",
    load: () => import("./people.tsx").then(m => m.PeopleView),
  },
  {
    name: "usage",
    to: "/ui/usage",
    key: "u",
    load: () => import("./usage.tsx").then(m => m.UsageView),
  },
  { name: "logs", to: "/ui/logs", key: "l", load: () => import("./logs.tsx").then(m => m.Logs) },
];
const loaded = new Map<string, View>();

function Loaded({ place, rest }: { place: Place; rest: string }) {
  const [, setCount] = useState(0), [isOld, setOld] = useState(false);
  const View = loaded.get(place.name);
  useEffect(() => {
    if (View) return;
    place.load().then(
      view => {
        loaded.set(place.name, view);
        setCount(n => n + 1);
      },
      () => setOld(true) // its file has another name after an upgrade
    );
  }, [place.name]);
  if (View) return <View rest={rest} />;
  return (
    <main class="plain" aria-busy={!isOld}>
      {isOld && <Trouble text={t("newVersion")} again={() => location.reload()} />}
    </main>
  );
}
export function viewOf(path: string) {
  for (const place of places)
    if (path === place.to || path.startsWith(place.to + "/")) {
      const rest = decoded(path.slice(place.to.length + 1));
      return <Loaded key={place.name} place={place} rest={rest} />;
    }
  return (
    <main class="plain">
      <p>{t("noSuchPlace")}</p>
    </main>
  );
}
