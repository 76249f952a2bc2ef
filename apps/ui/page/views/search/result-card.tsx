import type { VNode } from "preact";
import type { ScoreParts } from "@memslot/core";
import type { FoundResult, ShownLine } from "../../../src/api-types.ts";
import { Icon, type IconName, languageOf } from "../../components/common-components.tsx";
import { pathWith } from "../../state/api-client.ts";
import { formatted, t, when } from "../../words/translate.ts";
import type { NoteName } from "../../state/notes-list.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { matchesIn, Passage } from "../notes/passage.tsx";

/** Lines of a card before and after the best one. The preview has all. */
const [linesBefore, linesAfter] = [1, 2];
const fence = /^(?:```|~~~)/u;
const isDay = /^\d{4}-\d{2}-\d{2}$/u;

/** Index of the line with the most words of the query; 0 if none has one. */
function bestLine(lines: readonly ShownLine[]): number {
  const counts = lines.map((line) => matchesIn([line]).length);
  return Math.max(0, counts.indexOf(Math.max(...counts)));
}

/** Number of the line with the most words of the query. */
export function bestLineNumber({ lines, startLine }: Pick<FoundResult, "lines" | "startLine">): number {
  const best = lines[bestLine(lines)];
  return (best?.kind === "line" ? best.number : undefined) ?? startLine;
}

/** The best line and few around it, of one section. */
function linesAround(lines: readonly ShownLine[]): readonly ShownLine[] {
  const best = bestLine(lines);
  const filled = lines.flatMap((line, index) => (textOf(line) === "" ? [] : index));
  const at = Math.max(0, filled.indexOf(best));
  const before = isHeading(lines[best]) ? 0 : linesBefore;
  const next = lines.findIndex((line, index) => index > best && (line.kind === "gap" || isHeading(line)));
  const until = (filled[at + linesAfter] ?? lines.length) + 1;
  const shown = lines.slice(filled[Math.max(0, at - before)], next < 0 ? until : Math.min(next, until));
  const fences = shown.filter((line) => fence.test(textOf(line)));
  const [last] = shown.slice(-1);
  // A block of code that ends here has begun before.
  return last !== undefined && last === fences.at(-1) && fences.length % 2 === 1 ? [last, ...shown] : shown;
}

function textOf(line: ShownLine | undefined): string {
  return line?.kind === "line" ? line.text.trim() : "";
}

function isHeading(line: ShownLine | undefined): boolean {
  return /^#{1,6} /u.test(textOf(line));
}

/** The page of a result, at its best line. */
export function resultHref(result: FoundResult): string {
  return result.source === "memory"
    ? noteHref(result.path, { line: String(bestLineNumber(result)) })
    : pathWith("/sessions", { file: result.path });
}

function iconOf({ source, path }: FoundResult): IconName {
  if (source === "journal") return "archive";
  if (source !== "memory") return "messages-square";
  return /(?:^|\/)\d{4}-\d{2}-\d{2}[^/]*$/u.test(path) ? "file-clock" : "file-text";
}

interface ResultCardProps {
  result: FoundResult;
  file: NoteName | undefined;
  isChosen: boolean;
  onChoose: () => void;
}

/** One result: its title, its place, the rendered lines around the best match, and behind Explain its score. */
export function ResultCard({ result, file, isChosen, onChoose }: ResultCardProps): VNode {
  const { path, source, heading, sections = [heading ?? ""], parts, score } = result;
  const title = file?.title ?? path.split("/").at(-1)?.replace(/\.md$/u, "") ?? path;
  const sectionPath = sections.filter((each) => each !== "" && each !== title && !isDay.test(each)).join(" › ");
  const above = [title, ...sections];
  const isShownAbove = (line: ShownLine): boolean => above.includes(/^#+ (.*)$/u.exec(textOf(line))?.[1] ?? "–");
  // The heading is the first line.
  const lines = linesAround(heading === undefined || source !== "memory" ? result.lines : result.lines.slice(1));
  return (
    <li class="result" aria-current={isChosen} onClick={onChoose} onFocusCapture={onChoose}>
      <h2>
        <a href={resultHref(result)} title={source === "memory" ? path : `${source} · ${path}`}>
          <Icon name={iconOf(result)} />
          <span lang={languageOf(title)}>{title}</span>
        </a>
      </h2>
      <p class="faint small result-facts">
        {sectionPath !== "" && <span lang={languageOf(sectionPath)}>{sectionPath}</span>}
        {file?.day !== undefined && <span>{when(file.day, { dateStyle: "medium", timeZone: "UTC" })}</span>}
        <span class="mono">
          {path}:{bestLineNumber(result)}
        </span>
      </p>
      <Passage lines={lines.filter((line) => !isShownAbove(line))} path={path} />
      <details>
        <summary class="faint small">{t("search.explain")}</summary>
        <p class="small">{t("search.score", { score: score.toFixed(2) })}</p>
        {parts ? <Parts parts={parts} /> : <p class="faint small">{t("search.noParts")}</p>}
      </details>
    </li>
  );
}

const partNames = ["words", "names", "dates", "meaning"] as const;

/** What a score is made of. */
export function Parts({ parts }: { parts: ScoreParts }): VNode {
  const { rerank } = parts;
  return (
    <div class="parts small">
      {partNames.map(
        (name) =>
          parts[name] >= 0.005 && (
            <label key={name}>
              {t(`search.part.${name}`)} <meter value={parts[name]} /> {parts[name].toFixed(2)}
            </label>
          ),
      )}
      {rerank && t("search.part.rerank", { before: formatted(rerank.before), after: formatted(rerank.after) })}
    </div>
  );
}
