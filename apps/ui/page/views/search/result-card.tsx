import type { VNode } from "preact";
import type { FoundResult, ShownLine } from "../../../src/api-types.ts";
import { Icon, type IconName, languageOf } from "../../components/common-components.tsx";
import { pathWith } from "../../state/api-client.ts";
import { t, when } from "../../words/translate.ts";
import type { NoteName } from "../../state/notes-list.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { Passage } from "../notes/passage.tsx";
import { PartsBar } from "./score-bar.tsx";

/** The first line with a word of the query. */
export function firstMatch({ lines, startLine }: Pick<FoundResult, "lines" | "startLine">): number {
  const match = lines.find((line) => line.kind === "line" && line.parts.some(({ match: isMatch }) => isMatch));
  return (match?.kind === "line" ? match.number : undefined) ?? startLine;
}

/** The page of a result, at its first match. */
export function resultHref(result: FoundResult): string {
  return isConversation(result)
    ? pathWith("/sessions", { file: result.path })
    : noteHref(result.path, { line: String(firstMatch(result)) });
}

export function isConversation({ source }: Pick<FoundResult, "source">): boolean {
  return source !== "memory";
}

/** The name of a result for people: the title of its note, or its file name. */
function titleOf(path: string, file: NoteName | undefined): string {
  return file?.title ?? path.split("/").at(-1)?.replace(/\.md$/u, "") ?? path;
}

function iconOf({ source, path }: FoundResult): IconName {
  if (source === "journal") return "archive";
  if (source !== "memory") return "messages-square";
  return /(?:^|\/)\d{4}-\d{2}-\d{2}[^/]*$/u.test(path) ? "file-clock" : "file-text";
}

/** The heading of the section, and the title of the note. */
function isShownAbove(line: ShownLine, title: string): boolean {
  if (line.kind === "gap") return false;
  return line.number === undefined || line.parts.map(({ text }) => text).join("") === `# ${title}`;
}

interface ResultCardProps {
  result: FoundResult;
  file: NoteName | undefined;
  isChosen: boolean;
  onChoose: () => void;
}

/** One result: its title, its place, the rendered passage, and behind Explain the parts of its score. */
export function ResultCard({ result, file, isChosen, onChoose }: ResultCardProps): VNode {
  const { path, source, heading, parts, score } = result;
  const title = titleOf(path, file);
  const day = file?.day;
  const headings = heading?.replace(/^#+\s*/u, "");
  const name = source === "memory" ? path : `${source} · ${path}`;
  return (
    <li class="result" aria-current={isChosen} onClick={onChoose} onFocusCapture={onChoose}>
      <h2>
        <a href={resultHref(result)} title={name}>
          <Icon name={iconOf(result)} />
          <span lang={languageOf(title)}>{title}</span>
        </a>
      </h2>
      <p class="faint small result-facts">
        {headings !== undefined && headings !== title && <span lang={languageOf(headings)}>{headings}</span>}
        {day !== undefined && <span>{when(day, { dateStyle: "medium", timeZone: "UTC" })}</span>}
        <span class="mono">
          {path}:{firstMatch(result)}
        </span>
      </p>
      <Passage lines={result.lines.filter((line) => !isShownAbove(line, title))} path={path} />
      <details>
        <summary class="faint small">{t("search.explain")}</summary>
        <p class="small">{t("search.score", { score: score.toFixed(2) })}</p>
        {parts ? <PartsBar parts={parts} /> : <p class="faint small">{t("search.noParts")}</p>}
      </details>
    </li>
  );
}
