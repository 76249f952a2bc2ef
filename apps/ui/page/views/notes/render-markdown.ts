import DOMPurify, { type Config } from "dompurify";
import MarkdownIt, { type Token } from "markdown-it";
import { t } from "../../words/translate.ts";
import { frontMatterOf } from "./front-matter.tsx";

/** A top-level block of a note, with its lines, 1-based and inclusive. */
export interface RenderedBlock {
  from: number;
  to: number;
  content: DocumentFragment;
}

interface RenderOptions {
  /** The address of a link on this page; undefined: no such note. */
  hrefOf: (kind: "wiki" | "markdown", target: string) => string | undefined;
  /** Words to highlight. */
  highlighted: readonly string[];
}

/** The only HTML that a note can produce. */
const allowed: Config = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS:
    "p h1 h2 h3 h4 h5 h6 ul ol li a em strong s code pre blockquote table thead tbody tr th td hr br span #text".split(
      " ",
    ),
  ALLOWED_ATTR: ["href", "class", "title", "start", "rel", "target", "role", "aria-label"],
  // The pattern below is for addresses; these are none.
  ADD_URI_SAFE_ATTR: ["start", "rel", "target", "aria-label"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|\/notes(?:[/?]|$))/iu,
};

const elsewhere = /^(?:https?:\/\/|mailto:)/iu;

const markdown = new MarkdownIt({ html: false, linkify: true });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
markdown.validateLink = (address) => elsewhere.test(address) || !/^[^/?#]*:/u.test(address.trim());

markdown.inline.ruler.before("link", "wiki", (state, isSilent) => {
  const start = state.src.startsWith("![[", state.pos) ? state.pos + 1 : state.pos;
  if (!state.src.startsWith("[[", start)) return false;
  const end = state.src.indexOf("]]", start);
  const inner = end < 0 ? "" : state.src.slice(start + 2, end);
  if (inner === "" || /[[\]\n]/u.test(inner)) return false;
  if (!isSilent) {
    const [target = "", ...shown] = inner.split("|");
    const token = state.push("wiki", "", 0);
    const leadsTo = target.replace(/\\$/u, "").trim();
    token.meta = { leadsTo };
    token.content = shown.join("|").trim() || leadsTo;
  }
  state.pos = end + 2;
  return true;
});

// Before links and after words: otherwise `[x]` would be a link.
markdown.core.ruler.after("inline", "tasks", ({ tokens }) => {
  for (const [index, token] of tokens.entries()) {
    if (token.type !== "inline" || tokens[index - 2]?.type !== "list_item_open") continue;
    const first = token.children?.[0];
    const mark = first?.type === "text" ? /^\[([ xX])\]\s+/u.exec(first.content) : null;
    if (first === undefined || mark === null) continue;
    first.content = first.content.slice(mark[0].length);
    const task = Object.assign(Object.create(first) as Token, { type: "task", content: mark[1] === " " ? "" : "x" });
    token.children?.unshift(task);
  }
});

const { rules } = markdown.renderer;
rules["task"] = (tokens, index) => {
  const isDone = tokens[index]?.content === "x";
  const label = escaped(t(isDone ? "notes.task.done" : "notes.task.open"));
  return `<span class="task" role="img" aria-label="${label}">${isDone ? "☑" : "☐"}</span> `;
};
rules["wiki"] = (tokens, index, _options, env = {}) => {
  const token = tokens[index];
  return `${linkTo("wiki", String(token?.meta?.["leadsTo"]), env)}${escaped(token?.content ?? "")}</a>`;
};
rules["image"] = (tokens, index) => {
  const token = tokens[index];
  const address = String(token?.attrGet("src") ?? "");
  const text = escaped(`${t("notes.image")}: ${[token?.content, address].filter(Boolean).join(" · ")}`);
  const before = tokens.slice(0, index);
  const isInLink =
    before.filter(({ type }) => type === "link_open").length >
    before.filter(({ type }) => type === "link_close").length;
  if (isInLink || !elsewhere.test(address)) return `<span class="image">${text}</span>`;
  return `<a class="image" href="${escaped(address)}" target="_blank" rel="noopener noreferrer">${text}</a>`;
};
rules["link_open"] = (tokens, index, _options, env = {}) => {
  const address = String(tokens[index]?.attrGet("href") ?? "");
  if (elsewhere.test(address)) return `<a href="${escaped(address)}" target="_blank" rel="noopener noreferrer">`;
  return linkTo("markdown", address, env);
};
for (const name of ["th_open", "td_open"])
  rules[name] = (tokens, index) => {
    const token = tokens[index];
    const side = /text-align:(left|center|right)/u.exec(String(token?.attrGet("style") ?? ""))?.[1];
    return `<${token?.tag}${side === undefined ? "" : ` class="align-${side}"`}>`;
  };

/** The start of a link on this page. `env`: the options of `renderMarkdown`. */
function linkTo(kind: "wiki" | "markdown", target: string, env: Record<string, unknown>): string {
  const href = (env as unknown as RenderOptions).hrefOf(kind, target);
  return href === undefined
    ? `<a class="missing" title="${escaped(t("notes.link.missing"))}">`
    : `<a href="${escaped(href)}">`;
}

function escaped(text: string): string {
  return markdown.utils.escapeHtml(text);
}

/** Renders a note without its front matter. HTML in it is text, and the output is sanitised. */
export function renderMarkdown(text: string, options: RenderOptions): RenderedBlock[] {
  const lines = text.split("\n");
  const skip = frontMatterOf(text).lines;
  const env = { ...options };
  const tokens = markdown.parse(lines.fill("", 0, skip).join("\n"), env);
  const pattern = patternOf(options.highlighted);
  const blocks: RenderedBlock[] = [];
  let begin = 0;
  for (const [index, token] of tokens.entries()) {
    if (token.level !== 0 || token.nesting > 0) continue;
    const own = tokens.slice(begin, index + 1);
    const map = own[0]?.map ?? [0, 0];
    begin = index + 1;
    const html = markdown.renderer.render(own, markdown.options, env);
    const content = DOMPurify.sanitize(html, allowed) as unknown as DocumentFragment;
    if (pattern !== undefined) highlight(content, pattern);
    blocks.push({ from: map[0] + 1, to: Math.max(map[0] + 1, map[1]), content });
  }
  return blocks;
}

/** Whole words; Han characters also within others. Undefined without a word. */
function patternOf(words: readonly string[]): RegExp | undefined {
  const parts = words
    .filter((word) => word !== "")
    .toSorted((a, b) => b.length - a.length)
    .map((word) => {
      const [start, end] = [word.slice(0, 1), word.slice(-1)].map((sign) => /[\p{L}\p{N}]/u.test(sign) && !isHan(sign));
      const text = word.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`);
      return `${start ? String.raw`(?<![\p{L}\p{N}])` : ""}${text}${end ? String.raw`(?![\p{L}\p{N}])` : ""}`;
    });
  return parts.length === 0 ? undefined : new RegExp(parts.join("|"), "giu");
}

function highlight(root: DocumentFragment, pattern: RegExp): void {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const node of texts)
    for (const found of [...node.data.matchAll(pattern)].toReversed()) {
      const range = document.createRange();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      range.surroundContents(document.createElement("mark"));
    }
}

function isHan(sign: string): boolean {
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(sign);
}
