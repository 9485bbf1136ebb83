// One conversation: what was said, what is being said, what waits for consent.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { del, get, status } from "../api.ts";
import { Icon } from "../icons.tsx";
import { Copy, day, settle, time, Trouble, uuid } from "../parts.tsx";
import { Markdown } from "../text/markdown.tsx";
import { t } from "../words.ts";
import { Ask, type Approval } from "./ask.tsx";
import { Composer } from "./composer.tsx";
import { deliver, forget, live, resume, type Answer, type Sending } from "./live.ts";
import { history, isRoom, loadRooms, nameRoom, titleOf, type Line } from "./rooms.ts";

const windowLines = 60, linesMax = 200;

export function Chat({ chatKey }: { chatKey: string }) {
  const isMine = isRoom(chatKey), at = live(chatKey);
  const [lines, setLines] = useState<Line[] | null>(null), [limit, setLimit] = useState(windowLines);
  const [asks, setAsks] = useState<Approval[]>([]);
  const [trouble, setTrouble] = useState(""), [isBelow, setBelow] = useState(false);
  const box = useRef<HTMLDivElement>(null), wanted = useRef(0);

  // What is asked for last counts; an answer of before is old.
  const again = () => load();
  async function load(ended?: string) {
    const turn = ++wanted.current;
    try {
      const [all, waiting] = await Promise.all([
        history(chatKey, limit),
        get<{ approvals: Approval[] }>("/api/approvals?chatKey=" + encodeURIComponent(chatKey)),
      ]);
      if (turn !== wanted.current && !ended) return;
      setAsks(waiting.approvals);
      const known = new Set(all.map(l => l.messageId));
      at.value = { ...at.value, sending: at.value.sending.filter(s => !known.has(s.messageId)) };
      if (ended) forget(chatKey, ended);
      setLines(all);
      setTrouble("");
    } catch (e) {
      setTrouble((e as Error).message);
    }
  }
  const end = () => {
    const runId = at.value.answer?.runId;
    load(runId);
    loadRooms().catch(() => {});
  };
  // The status changes with whatever happens; a quiet service asks for nothing here.
  useEffect(() => {
    load();
    resume(chatKey, end).catch(() => {});
  }, [chatKey, limit, status.value]);

  // The view stands still while an answer grows: the question goes to the top once.
  const count = (lines?.length ?? 0) + at.value.sending.length, wasShown = useRef(false);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el || count === 0 || wasShown.current) return;
    el.scrollTop = el.scrollHeight;
    wasShown.current = true;
  }, [count]);
  const look = () => {
    const el = box.current;
    if (el) setBelow(el.scrollHeight - el.scrollTop - el.clientHeight > 120);
  };
  useLayoutEffect(look);

  async function send(text: string, files: File[]) {
    const message: Sending = {
      messageId: uuid(),
      text,
      files: await Promise.all(files.map(packed)),
      state: "sending",
      said: "",
      ts: Date.now(),
    };
    wasShown.current = true;
    at.value = { ...at.value, sending: [...at.value.sending, message] };
    if (isMine) nameRoom(chatKey, text || files[0].name);
    settle(chatKey);
    requestAnimationFrame(() => {
      const all = box.current?.querySelectorAll(".turn.user");
      all?.[all.length - 1]?.scrollIntoView({ block: "start" });
    });
    await deliver(chatKey, message, end);
  }
  // The words of a question that is still open: the question itself stands below.
  const isOpenQuestion = (line: Line) =>
    !!line.meta?.notice && asks.some(a => a.items.some(i => line.text.includes(i.title)));
  const shown = lines?.filter(line => !isOpenQuestion(line));
  const answer = at.value.answer, isEmpty = lines?.length === 0 && count === 0 && !answer;
  return (
    <main class={"chat" + (isEmpty ? " is-empty" : "")}>
      <header class="bar">
        <h1>{titleOf(chatKey)}</h1>
      </header>
      <div class="scroll" ref={box} onScroll={look} tabIndex={-1}>
        <div class="thread">
          <Trouble text={trouble} again={again} />
          {lines === null && !trouble && <p class="muted">{t("loading")}</p>}
          {isEmpty && (
            <div class="empty">
              <h2>{isMine ? t("empty") : titleOf(chatKey)}</h2>
              <p>{t(isMine ? "emptySub" : "emptyThere")}</p>
            </div>
          )}
          {lines && lines.length >= limit && limit < linesMax && (
            <button type="button" class="earlier" onClick={() => setLimit(linesMax)}>
              {t("earlier")}
            </button>
          )}
          {shown?.map((line, i) => (
            <Turn key={(line.messageId ?? line.ts) + line.role} line={line} before={shown[i - 1]} />
          ))}
          {at.value.sending.map(m => (
            <Unsent key={m.messageId} message={m} again={() => deliver(chatKey, m, end)} />
          ))}
          {asks.map(a => (
            <Ask key={a.id} ask={a} done={again} />
          ))}
          {answer && <Growing answer={answer} />}
          <div class="foot" />
        </div>
      </div>
      {isBelow && (
        <button
          class="below"
          type="button"
          onClick={() => box.current?.scrollTo({ top: box.current.scrollHeight })}
          aria-label={t("newer")}
        >
          <Icon name="down" />
        </button>
      )}
      {!isMine && <p class="hint">{t("asBot")}</p>}
      <Composer
        room={chatKey}
        takesFiles={isMine}
        send={send}
        stop={answer ? () => del("/api/runs/" + answer.runId) : undefined}
      />
    </main>
  );
}

const packed = (file: File) =>
  new Promise<{ name: string; mime?: string; data: string }>((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => {
      const data = String(reader.result).replace(/^[^,]*,/, "");
      done({ name: file.name, ...(file.type && { mime: file.type }), data });
    };
    reader.onerror = () => fail(reader.error);
    reader.readAsDataURL(file);
  });

function Turn({ line, before }: { line: Line; before?: Line }) {
  const isUser = line.role === "user";
  const isNewDay = before && day(before.ts) !== day(line.ts);
  return (
    <>
      {isNewDay && <div class="day">{day(line.ts)}</div>}
      <article
        class={"turn " + (isUser ? "user" : "agent") + (line.meta?.notice ? " notice" : "")}
      >
        {isUser ? <div class="bubble">{line.text}</div> : <Markdown text={line.text} />}
        <footer>
          <time dateTime={new Date(line.ts).toISOString()}>{time(line.ts)}</time>
          <Copy text={line.text} />
        </footer>
      </article>
    </>
  );
}
function Unsent({ message, again }: { message: Sending; again: () => void }) {
  return (
    <article class={"turn user is-" + message.state}>
      <div class="bubble">
        {message.text}
        {message.files.map(f => (
          <span class="file" key={f.name}>
            <Icon name="clip" />
            {f.name}
          </span>
        ))}
      </div>
      {message.state === "failed" && (
        <p class="trouble" role="alert">
          {message.said}{" "}
          <button type="button" onClick={again}>
            {t("sendAgain")}
          </button>
        </p>
      )}
    </article>
  );
}
function Growing({ answer }: { answer: Answer }) {
  const isWriting = answer.text !== "";
  return (
    <article class="turn agent live" aria-busy="true">
      {answer.tools.length > 0 && (
        <ul class="tools">
          {answer.tools.map((name, i) => (
            <li key={i} class={!isWriting && i === answer.tools.length - 1 ? "is-on" : ""}>
              {name}
            </li>
          ))}
        </ul>
      )}
      {isWriting ? (
        <Markdown text={answer.text} />
      ) : (
        <div class="working">
          <i />
          <i />
          <i />
          <span class="only-heard">{t("thinking")}</span>
        </div>
      )}
    </article>
  );
}
