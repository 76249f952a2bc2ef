import type { LoggedChange } from "@memslot/agent-kit";
import type { ComponentChildren, VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { diffComm } from "node-diff3";
import { languageOf } from "../../components/common-components.tsx";
import { t } from "../../words/translate.ts";

const few = 24;
/** More pairs of lines are not compared. */
const mostPairs = 4_000_000;

/** `other`: the line that it replaces, or that replaces it. */
type Line = readonly [sign: "+" | "-" | " ", text: string, other?: string | undefined];

/** The lines of a change that were removed and added, with the changed words marked. */
export function ChangedLines({ before, after }: Pick<LoggedChange, "before" | "after">): VNode {
  const [isWhole, setWhole] = useState(false);
  const lines = useMemo(() => linesOf(before.replace(/\n$/u, ""), after.replace(/\n$/u, "")), [before, after]);
  return (
    <>
      <pre class="changed" lang={languageOf(before + after)} tabIndex={0}>
        {lines.slice(0, isWhole ? lines.length : few).map(([sign, text, other], index) => {
          const Line = ({ "+": "ins", "-": "del", " ": "span" } as const)[sign];
          return (
            <Line key={index}>
              <i aria-hidden="true">{sign}</i> {withChangedWords(text, other)}
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
    if ("common" in part && part.common) return part.common.map((text) => [" ", text]);
    const { buffer1: removed = [], buffer2: added = [] } = part;
    return [
      ...removed.map((line, index): Line => ["-", line, added[index]]),
      ...added.map((line, index): Line => ["+", line, removed[index]]),
    ];
  });
}

/** A line with the words marked that are between those that it has in common with its other version. */
function withChangedWords(line: string, other: string | undefined): ComponentChildren {
  if (other === undefined) return line;
  const wordsOf = (text: string): string[] => text.match(/\p{Script=Han}|[\p{L}\p{N}]+|[^\p{L}\p{N}]/gu) ?? [];
  const [a, b] = [wordsOf(line), wordsOf(other)];
  const most = Math.min(a.length, b.length);
  let head = 0;
  while (head < most && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < most - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  // Lines without anything in common are no versions of each other.
  if (head + tail === 0) return line;
  const end = a.length - tail;
  return [a.slice(0, head).join(""), <mark>{a.slice(head, end).join("")}</mark>, a.slice(end).join("")];
}
