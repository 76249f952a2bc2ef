import DOMPurify, { type Config } from "dompurify";
import MarkdownIt, { type Token } from "markdown-it";

/** A top-level block of a note, with its lines, 1-based and inclusive. */
export interface RenderedBlock {
  from: number;
  to: number;
  content: DocumentFragment;
}

/** Resolves links of the note, and supplies texts. */
export interface RenderWorld {
  /** The address on this page; undefined: no such note. */
  hrefOf: (kind: "wiki" | "markdown", target: string) => string | undefined;
  words: { image: string; done: string; open: string; missing: string };
}

/** The environment of the rules. */
type Env = { world: RenderWorld };

/** The only HTML that a note can produce. */
const allowed: Config = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS:
    "p h1 h2 h3 h4 h5 h6 ul ol li a em strong s code pre blockquote table thead tbody tr th td hr br span #text".split(
      " ",
    ),
  ALLOWED_ATTR: ["href", "class", "title", "start", "rel", "target", "role", "aria-label", "data-from", "data-to"],
  // The pattern below is for addresses; these are none.
  ADD_URI_SAFE_ATTR: ["start", "rel", "target", "aria-label", "data-from", "data-to"],
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
rules["task"] = (tokens, index, _options, env = {}) => {
  const isDone = tokens[index]?.content === "x";
  const label = escaped(isDone ? worldIn(env).words.done : worldIn(env).words.open);
  return `<span class="task" role="img" aria-label="${label}">${isDone ? "☑" : "☐"}</span> `;
};
rules["wiki"] = (tokens, index, _options, env = {}) => {
  const token = tokens[index];
  return linkTo(
    worldIn(env).hrefOf("wiki", String(token?.meta?.["leadsTo"])),
    escaped(token?.content ?? ""),
    worldIn(env),
  );
};
rules["image"] = (tokens, index, _options, env = {}) => {
  const token = tokens[index];
  const address = String(token?.attrGet("src") ?? "");
  const text = escaped(`${worldIn(env).words.image}: ${[token?.content, address].filter(Boolean).join(" · ")}`);
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
  const href = worldIn(env).hrefOf("markdown", address);
  return href === undefined
    ? `<a class="missing" title="${escaped(worldIn(env).words.missing)}">`
    : `<a href="${escaped(href)}">`;
};
for (const name of ["th_open", "td_open"])
  rules[name] = (tokens, index) => {
    const token = tokens[index];
    const side = /text-align:(left|center|right)/u.exec(String(token?.attrGet("style") ?? ""))?.[1];
    return `<${token?.tag}${side === undefined ? "" : ` class="align-${side}"`}>`;
  };

function linkTo(href: string | undefined, text: string, { words }: RenderWorld): string {
  return href === undefined
    ? `<a class="missing" title="${escaped(words.missing)}">${text}</a>`
    : `<a href="${escaped(href)}">${text}</a>`;
}

function worldIn(env: Record<string, unknown>): RenderWorld {
  return (env as Env).world;
}

function escaped(text: string): string {
  return markdown.utils.escapeHtml(text);
}

/**
 * Renders a note. HTML in it is text, and the output is sanitised. `skip`: lines at the start that are shown elsewhere.
 */
export function renderMarkdown(lines: readonly string[], skip: number, world: RenderWorld): RenderedBlock[] {
  const text = [...Array.from({ length: skip }, () => ""), ...lines.slice(skip)].join("\n");
  const tokens = markdown.parse(text, { world });
  const blocks: RenderedBlock[] = [];
  let begin = 0;
  for (const [index, token] of tokens.entries()) {
    const [from, to] = token.map ?? [0, 0];
    // List items have lines of their own.
    if (token.type === "list_item_open" && token.level === 1) {
      token.attrSet("data-from", String(from + 1));
      token.attrSet("data-to", String(to));
    }
    if (token.level !== 0 || token.nesting > 0) continue;
    const own = tokens.slice(begin, index + 1);
    const map = own[0]?.map ?? [0, 0];
    begin = index + 1;
    const html = markdown.renderer.render(own, markdown.options, { world });
    const content = DOMPurify.sanitize(html, allowed) as unknown as DocumentFragment;
    blocks.push({ from: map[0] + 1, to: Math.max(map[0] + 1, map[1]), content });
  }
  return blocks;
}
