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
  ALLOWED_ATTR: ["href", "class", "title", "start", "target", "role", "aria-label"],
  // The pattern below is for addresses; these are none.
  ADD_URI_SAFE_ATTR: ["start", "target", "aria-label"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|\/notes(?:[/?]|$))/iu,
};

const elsewhere = /^(?:https?:\/\/|mailto:)/iu;

const markdown = new MarkdownIt({ html: false, linkify: true });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
markdown.validateLink = (address) => elsewhere.test(address) || !/^[^/?#]*:/u.test(address.trim());

const wikiLink = /!?\[\[([^[\]|\n]+)(?:\|([^[\]\n]*))?\]\]/uy;

markdown.inline.ruler.before("link", "wiki", (state, isSilent) => {
  wikiLink.lastIndex = state.pos;
  const [written, name = "", shown = ""] = wikiLink.exec(state.src) ?? [];
  if (written === undefined) return false;
  if (!isSilent) {
    // In a table, the line before the shown text is written `\|`.
    const target = name.replace(/\\$/u, "").trim();
    Object.assign(state.push("link_open", "a", 1), { attrs: [["href", target]], markup: "wiki" });
    state.push("text", "", 0).content = shown.trim() || target;
    state.push("link_close", "a", -1);
  }
  state.pos += written.length;
  return true;
});

// The rest of the line is added after the sign.
markdown.core.ruler.before("inline", "task", ({ tokens, Token }) => {
  for (const [index, token] of tokens.entries()) {
    if (token.type !== "inline" || tokens[index - 2]?.type !== "list_item_open") continue;
    const [written, mark] = /^\[([ xX])\]\s+/u.exec(token.content) ?? [];
    if (written === undefined) continue;
    const [sign, name] = mark === " " ? (["☐", "open"] as const) : (["☑", "done"] as const);
    const label = markdown.utils.escapeHtml(t(`notes.task.${name}`));
    const task = new Token("html_inline", "", 0);
    task.content = `<span class="task" role="img" aria-label="${label}">${sign}</span> `;
    token.content = token.content.slice(written.length);
    token.children = [task];
  }
});

const { rules } = markdown.renderer;
rules["link_open"] = (tokens, index, options, env, self) => {
  const token = tokens[index] as Token;
  const target = String(token.attrGet("href"));
  const { hrefOf } = env as unknown as RenderOptions;
  const href = elsewhere.test(target) ? target : hrefOf(token.markup === "wiki" ? "wiki" : "markdown", target);
  token.attrs =
    href === undefined
      ? [
          ["class", "missing"],
          ["title", t("notes.link.missing")],
        ]
      : [["href", href]];
  if (href === target) token.attrSet("target", "_blank");
  return self.renderToken(tokens, index, options);
};
rules["image"] = (tokens, index) => {
  const token = tokens[index] as Token;
  const { escapeHtml } = markdown.utils;
  const address = String(token.attrGet("src"));
  const text = escapeHtml(`${t("notes.image")}: ${[token.content, address].filter(Boolean).join(" · ")}`);
  // A link around the image raises its level.
  if (token.level > 0 || !elsewhere.test(address)) return `<span class="image">${text}</span>`;
  return `<a class="image" href="${escapeHtml(address)}" target="_blank">${text}</a>`;
};
for (const name of ["th_open", "td_open"])
  rules[name] = (tokens, index, options, _env, self) => {
    const cell = tokens[index] as Token;
    // The policy of the page refuses the attribute `style`.
    cell.attrs = cell.attrs?.map(([, style]) => ["class", String(style).replace("text-align:", "align-")]) ?? null;
    return self.renderToken(tokens, index, options);
  };

/** Renders a note without its front matter. HTML in it is text, and the output is sanitised. */
export function renderMarkdown(text: string, options: RenderOptions): RenderedBlock[] {
  const lines = text.split("\n").fill("", 0, frontMatterOf(text).lines);
  const env = { ...options };
  const tokens = markdown.parse(lines.join("\n"), env);
  const blocks: RenderedBlock[] = [];
  let begin = 0;
  for (const [index, token] of tokens.entries()) {
    if (token.level !== 0 || token.nesting > 0) continue;
    const own = tokens.slice(begin, index + 1);
    const [first, end] = own[0]?.map ?? [0, 0];
    begin = index + 1;
    const html = markdown.renderer.render(own, markdown.options, env);
    const content = DOMPurify.sanitize(html, allowed) as unknown as DocumentFragment;
    highlight(content, options.highlighted);
    blocks.push({ from: first + 1, to: Math.max(first + 1, end), content });
  }
  return blocks;
}

const letter = String.raw`[[\p{L}\p{N}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]]`;
/** A place that is not inside a word. Han characters and kana are words of their own. */
const edge = `(?:(?<!${letter})|(?!${letter}))`;

function highlight(root: DocumentFragment, words: readonly string[]): void {
  const longestFirst = words.filter(Boolean).toSorted((a, b) => b.length - a.length);
  if (longestFirst.length === 0) return;
  const pattern = new RegExp(`${edge}(?:${longestFirst.map(RegExp.escape).join("|")})${edge}`, "giv");
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
