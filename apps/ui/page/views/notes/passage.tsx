import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ShownLine } from "../../../src/api-types.ts";
import { languageOf } from "../../components/common-components.tsx";
import { pathWith } from "../../state/api-client.ts";
import { t } from "../../words/translate.ts";
import { noteHref } from "./note-addresses.ts";

type Render = typeof import("./render-markdown.ts").renderMarkdown;
type Lines = readonly ShownLine[];

let loaded: Render | undefined;

/** The renderer of Markdown, which is loaded on first use. */
export function useMarkdown(): Render | undefined {
  const [render, setRender] = useState(() => loaded);
  useEffect(() => {
    if (render === undefined)
      void import("./render-markdown.ts").then(({ renderMarkdown }) => setRender(() => (loaded = renderMarkdown)));
  }, []);
  return render;
}

/** Texts that a rendered note contains. */
export function markdownWords(): { image: string; done: string; open: string; missing: string } {
  return {
    image: t("notes.image"),
    done: t("notes.task.done"),
    open: t("notes.task.open"),
    missing: t("notes.link.missing"),
  };
}

/** Some lines of a note as Markdown, with their matches highlighted. */
export function Passage({ lines, path }: { lines: Lines; path: string }): VNode {
  const place = useRef<HTMLDivElement>(null);
  const render = useMarkdown();
  const texts = lines.map((line) => (line.kind === "gap" ? "\n…\n" : line.parts.map(({ text }) => text).join("")));
  const text = withoutFrontMatter(texts)
    .join("\n")
    .replace(/^\s*…\n|\n…\s*$/gu, "");
  const matches = lines.flatMap((line) => (line.kind === "gap" ? [] : line.parts.filter(({ match }) => match)));
  const words = [...new Set(matches.map((part) => part.text.toLowerCase()))].join("\n");
  // Before the paint: a result appears once, as it stays.
  useLayoutEffect(() => {
    if (render === undefined) return;
    const hrefOf = (kind: "wiki" | "markdown", target: string): string => linkOf(kind, target, path);
    const blocks = render(text.split("\n"), 0, { hrefOf, words: markdownWords() });
    place.current?.replaceChildren(...blocks.map(({ content }) => content));
    if (place.current !== null && words !== "") highlight(place.current, words.split("\n"));
  }, [render, text, words]);
  const isPlain = render === undefined;
  return (
    <div key={String(isPlain)} ref={place} class={isPlain ? "markdown plain-text" : "markdown"} lang={languageOf(text)}>
      {isPlain && text}
    </div>
  );
}

function withoutFrontMatter(texts: readonly string[]): readonly string[] {
  const end = texts.findIndex((line, index) => index > 0 && line.trimEnd() === "---");
  return texts[0]?.trimEnd() === "---" && end > 0 ? texts.slice(end + 1) : texts;
}

/** Where a link of a passage leads. Without the index of its note, the target of `[[name]]` is looked up by the tree. */
function linkOf(kind: "wiki" | "markdown", target: string, path: string): string {
  const [name = "", heading] = target.split("#");
  if (kind === "wiki") return pathWith("/notes", { filter: name });
  const { pathname } = new URL(name, `http://notes/${path}`);
  return noteHref(decodeURIComponent(pathname.slice(1)), { heading });
}

/** Highlights whole words of a rendered text; Han characters also within others. */
function highlight(root: Element, words: readonly string[]): void {
  const parts = words
    .toSorted((a, b) => b.length - a.length)
    .map((word) => {
      const [start, end] = [word.slice(0, 1), word.slice(-1)].map((sign) => /[\p{L}\p{N}]/u.test(sign) && !isHan(sign));
      const text = word.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`);
      return `${start ? String.raw`(?<![\p{L}\p{N}])` : ""}${text}${end ? String.raw`(?![\p{L}\p{N}])` : ""}`;
    });
  const pattern = new RegExp(parts.join("|"), "giu");
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
