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

/** What two lists have in common and what not, in order; long ones have nothing in common. */
function compared(old: string[], now: string[]): { common?: string[]; buffer1?: string[]; buffer2?: string[] }[] {
  return old.length * now.length > mostPairs ? [{ buffer1: old, buffer2: now }] : diffComm(old, now);
}

function linesOf(before: string, after: string): Line[] {
  const listOf = (text: string): string[] => (text === "" ? [] : text.split("\n"));
  return compared(listOf(before), listOf(after)).flatMap(
    ({ common = [], buffer1: old = [], buffer2: now = [] }): Line[] => [
      ...common.map((text): Line => ({ sign: " ", text })),
      ...old.map((line, index): Line => ({ sign: "-", text: changedWords(line, line, now[index]) })),
      ...now.map((line, index): Line => ({ sign: "+", text: changedWords(line, old[index], line) })),
    ],
  );
}

/** A line with the words marked that its other version does not have. */
function changedWords(shown: string, before = "", after = ""): ComponentChildren {
  const wordsOf = (line: string): string[] => line.match(/\p{Script=Han}|[\p{L}\p{N}]+|[^\p{L}\p{N}]/gu) ?? [];
  const parts = compared(wordsOf(before), wordsOf(after));
  const kept = parts.flatMap(({ common = [] }) => common).join("");
  // Lines that have little in common are not versions of each other.
  if (kept.length * 2 < shown.length) return shown;
  return parts.map(({ common, buffer1, buffer2 }, index) => {
    const words = common ?? (shown === before ? buffer1 : buffer2) ?? [];
    return common ? words.join("") : <mark key={index}>{words.join("")}</mark>;
  });
}
