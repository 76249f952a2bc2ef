import type { MemoryFileFacts } from "@memslot/core";
import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { ShownLine } from "../../../src/api-types.ts";
import { languageOf } from "../../components/common-components.tsx";
import { pathWith } from "../../state/api-client.ts";
import { decoded, noteHref } from "./note-addresses.ts";
import type { RenderedBlock } from "./render-markdown.ts";

const renderer = signal<typeof import("./render-markdown.ts").renderMarkdown | undefined>(undefined);

export interface NoteText {
  path: string;
  text: string;
  /** With the passages and links of the note. */
  facts?: MemoryFileFacts | null | undefined;
  /** Words to highlight. */
  matches?: readonly string[] | undefined;
}

/** The blocks of a note or a part of one as Markdown. Undefined while the renderer loads, on first use. */
export function useMarkdown(note: NoteText): RenderedBlock[] | undefined {
  const { text, facts, matches = [] } = note;
  const render = renderer.value;
  useEffect(() => {
    void import("./render-markdown.ts").then(({ renderMarkdown }) => (renderer.value = renderMarkdown));
  }, []);
  return useMemo(
    () => render?.(text, { hrefOf: (kind, target) => linkOf(kind, target, note), highlighted: matches }),
    [render, note.path, text, facts, matches.join("\n")],
  );
}

/** Shows rendered blocks, which are sanitised, before the next paint: they appear once, as they stay. */
export function Markdown({ blocks }: { blocks: readonly RenderedBlock[] }): VNode {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(
    () => place.current?.replaceChildren(...blocks.map(({ content }) => content.cloneNode(true))),
    blocks,
  );
  const text = blocks.map(({ content }) => content.textContent).join("\n");
  return <div ref={place} class="markdown" lang={languageOf(text)} />;
}

/** Some lines of a note as Markdown, with their matches highlighted. */
export function Passage({ lines, path }: { lines: readonly ShownLine[]; path: string }): VNode {
  const texts = lines.map((line) => (line.kind === "gap" ? "\n…\n" : line.text));
  const isTable = texts.some((line) => /^\s*\|[\s:|-]+$/u.test(line));
  const text = texts
    .map((line) => (isTable ? line : withoutCells(line)))
    .join("\n")
    .replace(/^\s*…\n|\n…\s*$/gu, "");
  const blocks = useMarkdown({ path, text, matches: matchesIn(lines) });
  if (blocks !== undefined) return <Markdown blocks={blocks} />;
  return (
    <div class="markdown plain-text" lang={languageOf(text)}>
      {text}
    </div>
  );
}

/** A row of a table without its head as an item of a list. */
function withoutCells(line: string): string {
  const row = /^\s*\|(.*)\|\s*$/u.exec(line)?.[1];
  const cells = row?.split(/(?<!\\)\|/u).map((cell) => cell.trim());
  return cells === undefined ? line : `- ${cells.filter(Boolean).join(" · ")}`;
}

/** Matching parts of lines, each once. */
export function matchesIn(lines: readonly ShownLine[]): string[] {
  return [...new Set(lines.flatMap((line) => (line.kind === "gap" ? [] : line.matches)))];
}

/** Where a link of a note leads on this page. Without the links of the note, the tree looks up `[[name]]`. */
function linkOf(kind: "wiki" | "markdown", target: string, { path, facts }: NoteText): string | undefined {
  if (facts) {
    const written = [target, decoded(target)];
    const link = facts.links.find((each) => each.kind === kind && written.includes(each.target));
    // Beyond the end of a list that is cut, a note may exist.
    if (link !== undefined || facts.links.length === facts.linkCount) return link?.path && noteHref(link.path);
  }
  if (kind === "wiki") return pathWith("/notes", { filter: target.split("#")[0] });
  const address = URL.parse(target, `http://notes/${path}`);
  return address === null ? undefined : noteHref(decoded(address.pathname.slice(1)));
}
