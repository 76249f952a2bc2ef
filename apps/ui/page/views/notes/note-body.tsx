import type { VNode } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { MemoryFileFacts } from "@memslot/core";
import { languageOf, Loading } from "../../components/common-components.tsx";
import { t } from "../../words/translate.ts";
import { noteHref } from "./note-addresses.ts";
import { markdownWords, useMarkdown } from "./passage.tsx";
import type { RenderedBlock } from "./render-markdown.ts";

interface NoteBodyProps {
  text: string;
  facts: MemoryFileFacts | undefined;
  /** First and last requested line. */
  asked: readonly [from: number, to: number] | undefined;
}

/** A note as a preview, with lines and passages in the margin, scrolled to the requested line. */
export function NoteBody({ text, facts, asked }: NoteBodyProps): VNode {
  const body = useRef<HTMLDivElement>(null);
  const render = useMarkdown();
  const blocks = useMemo(() => {
    const lines = text.split("\n");
    return render?.(lines, frontMatterOf(lines).lines, {
      hrefOf: (kind, target) => hrefOf(facts, kind, target),
      words: markdownWords(),
    });
  }, [text, facts, render]);
  useEffect(() => {
    const target = body.current?.querySelector(".asked");
    const pane = target?.closest(".detail");
    // In a pane beside a list, the list must not scroll.
    if (target && pane && pane.scrollHeight > pane.clientHeight)
      pane.scrollTop += target.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 3;
    else target?.scrollIntoView({ block: "center" });
  }, [asked?.[0], render, text]);
  if (blocks === undefined) return <Loading />;
  return (
    <div ref={body} class="rendered">
      <FrontMatter text={text} />
      {blocks.map((block, index) => (
        <div key={index} class={isWithin(asked, block.from, block.to) ? "asked block" : "block"}>
          <Margin from={block.from} to={block.to} facts={facts} />
          <Block block={block} />
        </div>
      ))}
    </div>
  );
}

/** Names and values of the front matter. */
export function FrontMatter({ text }: { text: string }): VNode | null {
  const { rows } = frontMatterOf(text.split("\n", mostLines));
  if (rows.length === 0) return null;
  return (
    <ul class="plain row front-matter" aria-label={t("notes.frontMatter")}>
      {rows.map(([name, value]) => (
        <li key={name} class="chip">
          <span>{name}</span> <strong>{value}</strong>
        </li>
      ))}
    </ul>
  );
}

/** Inserts rendered HTML, which is sanitised already. */
function Block({ block }: { block: RenderedBlock }): VNode {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.replaceChildren(block.content.cloneNode(true));
  }, [block]);
  return <div ref={place} class="markdown" lang={languageOf(block.content.textContent)} />;
}

/** The line number, and the start of a passage. */
function Margin({ from, to, facts }: { from: number; to: number; facts: MemoryFileFacts | undefined }): VNode {
  const begun = facts?.passages.find(({ startLine }) => startLine >= from && startLine <= to);
  return (
    <span class="margin">
      <span class="line-number">{from}</span>
      {begun && (
        <span
          class="passage-mark"
          role="img"
          title={t("notes.passage", { from: begun.startLine, to: begun.endLine })}
          aria-label={t("notes.passage", { from: begun.startLine, to: begun.endLine })}
        >
          ¶
        </span>
      )}
    </span>
  );
}

function isWithin(asked: NoteBodyProps["asked"], from: number, to: number): boolean {
  return asked !== undefined && asked[0] <= to && asked[1] >= from;
}

/** The target of a link on this page, from the index. */
function hrefOf(facts: MemoryFileFacts | undefined, kind: "wiki" | "markdown", target: string): string | undefined {
  const decoded = plainText(target);
  const link = facts?.links.find((each) => each.kind === kind && (each.target === target || each.target === decoded));
  return link?.path === undefined ? undefined : noteHref(link.path, { heading: link.heading });
}

function plainText(target: string): string {
  try {
    return decodeURI(target);
  } catch {
    return target;
  }
}

/** The front matter between two lines `---` at the start of a note. */
interface FrontMatter {
  /** Its number of lines, 0 without one. */
  lines: number;
  /** Names and values as text. */
  rows: readonly (readonly [name: string, value: string])[];
}

const mostLines = 200;

/** Reads names at the start of lines; indented lines and lists belong to the name above. */
function frontMatterOf(lines: readonly string[]): FrontMatter {
  const end = lines.slice(0, mostLines).findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)\s*$/u.test(line));
  if (lines[0]?.trimEnd() !== "---" || end < 0) return { lines: 0, rows: [] };
  const rows: [string, string][] = [];
  for (const line of lines.slice(1, end)) {
    const [, name, value] = /^([^\s:#-][^:]*):(?:\s+(.*))?$/u.exec(line) ?? [];
    const last = rows.at(-1);
    if (name !== undefined) rows.push([name, (value ?? "").trim()]);
    else if (last !== undefined && line.trim() !== "")
      last[1] = [last[1], line.trim().replace(/^- /u, "")].filter(Boolean).join(", ");
  }
  return { lines: end + 1, rows };
}
