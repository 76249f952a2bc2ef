import { isConversation, lazily } from "@memslot/core/host";
import type { ChunkRow } from "../index-row-types.ts";
import { isSameSession, sessionOf } from "../sources/session-folders.ts";
import type { TermScanner } from "../text/languages/chunk-terms.ts";
import { anyOf, isFunctionWord } from "../text/languages/detect-language.ts";

/** The score of a conversation beside that of a note: where both hold the answer, the note comes first. */
export const conversationShare = 0.8;
/** The weight of a message that asks, that repeats the query, or that knows no answer. */
const questionShare = 0.25;
/** The weight of a line of a digest beside the other lines of its note. */
const digestShare = 0.5;
/** The transcript of a session is shown instead of its journal, unless it scores less than this share. */
const transcriptShare = 0.8;
const longestDenial = 400;
const comparedLength = 80;

const digestStart =
  /^- \d{2}:\d{2} Digest of (?:a conversation \([^\n]*, session ([^(),:]+)\)|dropped messages \([^\n]*\)):$/u;
const mayBeDigest = /Digest of |^ {2,}- \d{2}:\d{2} (?:user|assistant): /mu;
const digestLine = /^ {2,}(?:- \d{2}:\d{2} (?<role>user|assistant): |… and \d+ more )/u;
const messageLine = /^(?<role>User|Assistant): /u;
const sentenceEnd = /(?<=[.!](?=\s|$)|[?？。！])/u;
const asking = lazily(() => anyOf("questionWords", "giu"));
const denial = lazily(() => anyOf("noAnswer"));

export interface SaidShares {
  /** How much each line counts. */
  readonly shares: readonly number[];
  /** All of it is of conversations. */
  readonly isTalk: boolean;
  /** It holds nothing but digests of sessions that are found themselves. */
  readonly isRepeated: boolean;
}

interface SaidLine {
  /** Absent: the heading of a digest. */
  readonly role?: string | undefined;
  readonly text: string;
  /** The session of a digest, as far as it is known. */
  readonly session?: string | undefined;
}

/** Weighs the lines of conversations. A line of a digest counts nothing if its session is one of the rows found. */
export function conversationWeights(query: string, found: readonly ChunkRow[]) {
  const talks = found.filter(isConversation);
  const sessions = [...new Set(talks.map(({ path }) => sessionOf(path)))];
  // The heading of a digest may be in the chunk before.
  const isFound = ({ session, text }: SaidLine): boolean =>
    session === undefined
      ? text !== "" && talks.some((row) => row.text.includes(text.slice(0, comparedLength)))
      : sessions.some((other) => isSameSession(other, session));
  return (row: ChunkRow, lines: readonly string[], scan: TermScanner): SaidShares | undefined => {
    const isTranscript = isConversation(row);
    if (!isTranscript && !mayBeDigest.test(row.text)) return undefined;
    const said = isTranscript ? lines.map((line) => saidBy(messageLine, line)) : digestLines(lines);
    const isTalk =
      isTranscript || said.every((each, at) => each !== undefined || /^(?:#.*|\s*)$/u.test(lines[at] ?? ""));
    const asked = new Set<string>();
    scan(query, (term) => void asked.add(term));
    const shares = said.map((each) => {
      if (each === undefined) return 1;
      if (!isTranscript && isFound(each)) return 0;
      return (isTalk ? 1 : digestShare) * (isAnswer(each, asked, scan) ? 1 : questionShare);
    });
    const isRepeated = isTalk && shares.every((share, at) => share === 0 || said[at] === undefined);
    return { shares, isTalk, isRepeated: isRepeated && shares.includes(0) };
  };
}

function saidBy(form: RegExp, line: string): SaidLine | undefined {
  const found = form.exec(line);
  return found === null
    ? undefined
    : { role: found.groups?.["role"]?.toLowerCase(), text: line.slice(found[0].length) };
}

/** The lines of digests; undefined for the other lines of a note. */
function digestLines(lines: readonly string[]): (SaidLine | undefined)[] {
  let session: string | undefined;
  return lines.map((line) => {
    const started = digestStart.exec(line);
    session = started === null && /^\s/u.test(line) ? session : started?.[1];
    const said = started === null ? saidBy(digestLine, line) : { text: "" };
    return said && { ...said, session };
  });
}

/** Whether a message says more than the query. A question, and an answer that knows nothing, only repeat it. */
function isAnswer({ role, text }: SaidLine, asked: ReadonlySet<string>, scan: TermScanner): boolean {
  if (role === "assistant" && text.length <= longestDenial && denial().test(text)) return false;
  const more = new Set<number>();
  const known = new Set<number>();
  const said = role === "user" ? withoutQuestions(text).replaceAll(asking(), " ") : text;
  scan(said, (term, start, _end, kind) => {
    if (asked.has(term)) known.add(start);
    else if ((kind === "word" || kind === "pair") && !isFunctionWord(term, [])) more.add(start);
  });
  return more.difference(known).size > 0;
}

function withoutQuestions(text: string): string {
  return text
    .split(sentenceEnd)
    .filter((sentence) => !/[?？]$/u.test(sentence))
    .join(" ");
}

/** Whether a chunk is of the transcript or the journal of one of these sessions. */
export function isOfSession(row: Pick<ChunkRow, "path" | "source">, sessions: readonly string[] = []): boolean {
  return isConversation(row) && sessions.some((session) => isSameSession(sessionOf(row.path), session));
}

/** Of the transcript and the journal of one session one is kept. */
export function oneOfEachSession<Found extends { row: ChunkRow; score: number }>(
  candidates: readonly Found[],
): Found[] {
  const isJournal = ({ row }: Found): boolean => row.source === "journal";
  const [journals, others] = [candidates.filter(isJournal), candidates.filter((each) => !isJournal(each))];
  const kept = new Map<string, boolean>();
  for (const [session, own] of Map.groupBy(journals, ({ row }) => sessionOf(row.path))) {
    const best = Math.max(...own.map(({ score }) => score));
    const transcript = others.filter(({ row }) => isOfSession(row, [session]));
    if (transcript.length > 0)
      kept.set(
        session,
        transcript.some(({ score }) => score >= transcriptShare * best),
      );
  }
  const isRepeated = (found: Found): boolean => {
    if (isJournal(found)) return kept.get(sessionOf(found.row.path)) === true;
    return [...kept].some(([session, isTranscript]) => !isTranscript && isOfSession(found.row, [session]));
  };
  return candidates.filter((each) => kept.size === 0 || !isRepeated(each));
}
