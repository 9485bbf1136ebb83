// Where a message is written.
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons.tsx";
import { t } from "../words.ts";

const filesMax = 16, bytesMax = 20 * 1024 * 1024;
interface Props {
  room: string;
  takesFiles: boolean;
  send: (text: string, files: File[]) => void;
  stop?: () => void;
}
export function Composer({ room, takesFiles, send, stop }: Props) {
  const draft = "sma-draft-" + room;
  const [text, setText] = useState(sessionStorage.getItem(draft) ?? "");
  const [files, setFiles] = useState<File[]>([]), [trouble, setTrouble] = useState("");
  const [isOver, setOver] = useState(false);
  const pick = useRef<HTMLInputElement>(null), area = useRef<HTMLTextAreaElement>(null);
  const composed = useRef(-1000);
  const isEmpty = text.trim() === "" && files.length === 0;
  useEffect(() => {
    if (!matchMedia("(pointer: coarse)").matches) area.current?.focus();
  }, [room]);
  function write(words: string) {
    setText(words);
    sessionStorage.setItem(draft, words);
  }
  function add(list: Iterable<File> | null) {
    const all = [...files, ...(takesFiles && list ? list : [])].slice(0, filesMax);
    const isTooBig = all.reduce((sum, f) => sum + f.size, 0) > bytesMax;
    setTrouble(isTooBig ? t("tooBig") : "");
    if (!isTooBig) setFiles(all);
  }
  function submit(e?: Event) {
    e?.preventDefault();
    if (isEmpty) return;
    send(text.trim(), files);
    write("");
    setFiles([]);
  }
  // Enter that ends a composition (pinyin, kana) is no "send"; Safari tells the end before the key.
  function onKey(e: KeyboardEvent) {
    const isComposing =
      e.isComposing || e.keyCode === 229 || performance.now() - composed.current < 50;
    const isTouch = matchMedia("(pointer: coarse)").matches;
    if (e.key === "Enter" && !e.shiftKey && !isComposing && !isTouch) submit(e);
    if (e.key === "Escape") stop?.();
  }
  return (
    <form
      class={"composer" + (isOver ? " is-over" : "")}
      onSubmit={submit}
      onDragOver={e => {
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={e => {
        e.preventDefault();
        setOver(false);
        add(e.dataTransfer?.files ?? null);
      }}
    >
      {files.length > 0 && (
        <div class="files">
          {files.map((f, i) => (
            <button
              type="button"
              key={i}
              class="file"
              onClick={() => setFiles(files.filter((_, k) => k !== i))}
            >
              {f.name} ×
            </button>
          ))}
        </div>
      )}
      {trouble && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
      <div class="row">
        {takesFiles && (
          <button
            type="button"
            class="ghost"
            aria-label={t("attach")}
            onClick={() => pick.current?.click()}
          >
            <Icon name="clip" />
          </button>
        )}
        <input
          ref={pick}
          type="file"
          multiple
          hidden
          onChange={e => {
            add(e.currentTarget.files);
            e.currentTarget.value = "";
          }}
        />
        <textarea
          ref={area}
          rows={1}
          value={text}
          placeholder={t("ask")}
          aria-label={t("ask")}
          onInput={e => write(e.currentTarget.value)}
          onKeyDown={onKey}
          onCompositionEnd={() => {
            composed.current = performance.now();
          }}
          onPaste={e => {
            if (!e.clipboardData?.files.length) return;
            e.preventDefault();
            add(e.clipboardData.files);
          }}
        />
        {stop && isEmpty ? (
          <button type="button" class="round" onClick={stop} aria-label={t("stop")}>
            <Icon name="stop" />
          </button>
        ) : (
          <button class="round" disabled={isEmpty} aria-label={t("send")}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
