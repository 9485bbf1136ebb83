// Markdown to nodes, never to HTML text: markdown-it only cuts the text into tokens. No place of
// this page takes HTML as text, so there is nothing to clean; HTML in a message is shown as the
// characters it is.
import MarkdownIt from "markdown-it";
import { Component, type ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../words.ts";
import { Copy } from "../parts.tsx";
import type { Painted } from "./paint.ts";

type Token = ReturnType<InstanceType<typeof MarkdownIt>["parse"]>[number];
interface Node {
  token: Token;
  children: Node[];
}
const reader = new MarkdownIt({ html: false, linkify: false, breaks: true });
const schemes = /^(https?:|mailto:)/i;
reader.validateLink = () => true; // judged where the link is made

function tree(tokens: Token[]): Node[] {
  const root: Node[] = [], stack = [root];
  for (const token of tokens) {
    if (token.nesting < 0) {
      stack.pop();
      continue;
    }
    const node = { token, children: token.children ? tree(token.children) : [] };
    stack[stack.length - 1].push(node);
    if (token.nesting > 0) stack.push(node.children);
  }
  return root;
}

// An address that is shown differs from where a link leads only by the words of its writer: the
// title tells where. Anything but the three schemes is text.
const link = (href: string, words: ComponentChildren) =>
  schemes.test(href) ? (
    <a href={href} target="_blank" rel="noreferrer noopener" title={href}>
      {words}
    </a>
  ) : (
    <>
      {words} ({href})
    </>
  );
const bare = /(https?:\/\/[^\s<>"'`()（）]*[^\s<>"'`()（）.,;:!?，。；：！？])/;
const plain = (text: string) =>
  text.includes("://") ? text.split(bare).map((s, i) => (i % 2 ? link(s, s) : s)) : text;
const attribute = (token: Token, name: string) => String(token.attrGet(name) ?? "");
const align = (token: Token) => attribute(token, "style").replace("text-align:", "");
const same = new Set(["p", "ul", "li", "blockquote", "strong", "em", "s", "thead", "tbody", "tr"]);

function show({ token, children }: Node): ComponentChildren {
  const inner = children.map(show);
  switch (token.type) {
    case "inline":
      return inner;
    case "text":
      return plain(token.content);
    case "code_inline":
      return <code>{token.content}</code>;
    case "softbreak":
    case "hardbreak":
      return <br />;
    case "fence":
    case "code_block":
      return (
        <Code
          text={token.content.replace(/\n$/, "")}
          language={token.info.trim().split(/\s/)[0] ?? ""}
        />
      );
    case "hr":
      return <hr />;
    case "image": // never fetched: an address can carry away what was said
      return link(attribute(token, "src"), token.content || attribute(token, "src"));
    case "link_open":
      return link(attribute(token, "href"), inner);
    case "heading_open": {
      const Heading = ("h" + Math.min(+token.tag[1] + 2, 6)) as "h3";
      return <Heading>{inner}</Heading>;
    }
    case "ordered_list_open":
      return <ol start={+(attribute(token, "start") || 1)}>{inner}</ol>;
    case "table_open":
      return (
        <div class="table" tabIndex={0} role="region" aria-label={t("table")}>
          <table>{inner}</table>
        </div>
      );
    case "th_open":
      return <th class={align(token)}>{inner}</th>;
    case "td_open":
      return <td class={align(token)}>{inner}</td>;
    case "paragraph_open":
      return token.hidden ? <>{inner}</> : <p>{inner}</p>;
  }
  if (token.nesting > 0 && same.has(token.tag)) {
    const Tag = token.tag as "p";
    return <Tag>{inner}</Tag>;
  }
  return token.content;
}

// A block is made again only when its own text has changed: while an answer grows, the last one.
class Block extends Component<{ node: Node; raw: string }> {
  shouldComponentUpdate(next: { raw: string }) {
    return next.raw !== this.props.raw;
  }
  render() {
    return show(this.props.node);
  }
}
export function Markdown({ text }: { text: string }) {
  const lines = text.split("\n");
  const raw = (token: Token) =>
    token.map ? lines.slice(token.map[0], token.map[1]).join("\n") : token.content;
  return (
    <div class="md">
      {tree(reader.parse(text, {})).map((node, i) => (
        <Block key={i} node={node} raw={raw(node.token)} />
      ))}
    </div>
  );
}

let painter: Promise<typeof import("./paint.ts")> | undefined;
function Code({ text, language }: { text: string; language: string }) {
  const [painted, setPainted] = useState<{ text: string; nodes: Painted[] } | null>(null);
  useEffect(() => {
    if (!language || text.length > 20000) return;
    let isHere = true;
    (painter ??= import("./paint.ts")).then(
      p => {
        const nodes = p.paint(language, text);
        if (isHere && nodes) setPainted({ text, nodes });
      },
      () => (painter = undefined) // plain code is code as well
    );
    return () => {
      isHere = false;
    };
  }, [text, language]);
  return (
    <figure class="code">
      <figcaption>
        <span>{language}</span>
        <Copy text={text} />
      </figcaption>
      <pre tabIndex={0}>
        <code>{painted?.text === text ? nodes(painted.nodes) : text}</code>
      </pre>
    </figure>
  );
}
const nodes = (list: Painted[]): ComponentChildren =>
  list.map(n =>
    n.type === "text" ? n.value : (
      <span class={n.properties?.className?.join(" ")}>{nodes(n.children ?? [])}</span>
    )
  );

const kind = (line: string) =>
  line[0] === "+" ? "add" : line[0] === "-" ? "del" : line[0] === "@" ? "at" : "";
export const Diff = ({ text }: { text: string }) => (
  <pre class="diff" tabIndex={0}>
    {text
      .replace(/^--- .*\n\+\+\+ .*\n/, "")
      .trimEnd()
      .split("\n")
      .map((line, i) => (
        <span key={i} class={kind(line)}>
          {line + "\n"}
        </span>
      ))}
  </pre>
);
