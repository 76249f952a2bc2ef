import type { LoggedChange } from "@memslot/agent-kit";
import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { diffComm } from "node-diff3";
import { languageOf } from "../../components/common-components.tsx";
import { t } from "../../words/translate.ts";

const few = 24;
/** More pairs of lines are not compared. */
const mostPairs = 4_000_000;

interface Line {
  sign: "+" | "-" | " ";
  text: ComponentChildren;
}

/** The lines of a change that were removed and added, with the changed words marked. */
export function ChangedLines({ change: { before, after } }: { change: Pick<LoggedChange, "before" | "after"> }): VNode {
  const [isWhole, setWhole] = useState(false);
  const lines = linesOf(before.replace(/\n$/u, ""), after.replace(/\n$/u, ""));
  return (
    <>
      <pre class="changed" lang={languageOf(before + after)} tabIndex={0}>
        {lines.slice(0, isWhole ? lines.length : few).map(({ sign, text }, index) => {
          const Line = ({ "+": "ins", "-": "del", " ": "span" } as const)[sign];
          return (
            <Line key={index}>
              <i aria-hidden="true">{sign}</i> {text}
              {"\n"}
            </Line>
          );
        })}
      </pre>
      {lines.length > few && !isWhole && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          {t("changes.allLines", { count: lines.length })}
        </button>
      )}
    </>
  );
}

function linesOf(before: string, after: string): Line[] {
  const [old, now] = [before, after].map((text) => (text === "" ? [] : text.split("\n"))) as [string[], string[]];
  const parts = old.length * now.length > mostPairs ? [{ buffer1: old, buffer2: now }] : diffComm(old, now);
  return parts.flatMap((part): Line[] => {
    if ("common" in part && part.common) return part.common.map((text) => ({ sign: " ", text }));
    const { buffer1: mine = [], buffer2: theirs = [] } = part;
    const pairs = mine.map((line, index) => changedWords(line, theirs[index] ?? ""));
    return [
      ...mine.map((line, index): Line => ({ sign: "-", text: index < theirs.length ? pairs[index]?.[0] : line })),
      ...theirs.map((line, index): Line => ({ sign: "+", text: pairs[index]?.[1] ?? line })),
    ];
  });
}

/** Both lines with the part between their common words marked. */
function changedWords(before: string, after: string): readonly [ComponentChildren, ComponentChildren] {
  const wordsOf = (line: string): string[] => line.match(/\p{Script=Han}|[\p{L}\p{N}]+|[^\p{L}\p{N}]/gu) ?? [];
  const [a, b] = [wordsOf(before), wordsOf(after)];
  const most = Math.min(a.length, b.length);
  let head = 0;
  while (head < most && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < most - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  // Lines without anything in common are no versions of each other.
  if (head + tail === 0) return [before, after];
  const marked = (words: string[]): ComponentChildren => [
    words.slice(0, head).join(""),
    <mark>{words.slice(head, words.length - tail).join("")}</mark>,
    words.slice(words.length - tail).join(""),
  ];
  return [marked(a), marked(b)];
}
