// Every place beside the chat: its address, its key, and what shows it.
import type { ComponentChildren } from "preact";
import { t, type Word } from "../words.ts";

interface Place {
  name: Word;
  to: string;
  key: string;
  isTab?: boolean;
  view: (rest: string) => ComponentChildren;
}
export const places: Place[] = [];
export function viewOf(path: string) {
  for (const place of places)
    if (path === place.to || path.startsWith(place.to + "/"))
      return place.view(decodeURIComponent(path.slice(place.to.length + 1)));
  return (
    <main class="plain">
      <p>{t("noSuchPlace")}</p>
    </main>
  );
}
