import type { Chunk } from "../chunk-store.ts";
import type { FoundLines } from "./verify-lines.ts";
import { redactInSlices, redactLines } from "../secrets/redact-secrets.ts";
import { type ChunkingOptions, chunkMarkdown } from "../text/chunk-markdown.ts";
import { withoutData, withoutPictures } from "../text/encoded-data.ts";
import { decodeLines, noteText, splitLines } from "../text/file-text.ts";
import { chunkTerms, loadStemmers } from "../text/languages/chunk-terms.ts";
import { languageOfFile, type LanguageCode } from "../text/languages/detect-language.ts";
import { contextOfNote, searchedText } from "../text/note-context.ts";
import { mayHaveFrontMatter } from "../text/note-head.ts";
import { isoDate } from "../text/times/calendar.ts";
import { timeOfPath } from "../text/times/note-days.ts";

export interface NoteBytes {
  bytes: Uint8Array;
  path?: string;
  chunking?: ChunkingOptions;
  found?: readonly FoundLines[];
}

/** Work on all of a note. `pause` lets others work in between. */
export const noteTasks = {
  /** Chunks with their terms, cut from a copy without secrets and data. */
  async cut(
    { bytes, path = "", chunking = { tokens: 400, overlap: 80 } }: NoteBytes,
    pause: () => Promise<void>,
  ): Promise<Chunk[]> {
    const { lines: written, skippedBefore } = withoutGaps(noteText(bytes), chunking.tokens);
    const redacting = redactInSlices(withoutPictures(written));
    let redacted = redacting.next();
    for (; redacted.done !== true; redacted = redacting.next()) await pause();
    const lines = withoutData(redacted.value);
    const parse = mayHaveFrontMatter(lines) ? (await import("yaml")).parse : undefined;
    const stemmers = await loadStemmers();
    // Most chunks tell their own.
    let known: { language: LanguageCode | undefined } | undefined;
    const languageOf = (): LanguageCode | undefined => (known ??= { language: languageOfFile(lines) }).language;
    const chunks: Chunk[] = [];
    for (const chunk of chunkMarkdown(lines, chunking, contextOfNote(dayOf(path), lines, parse))) {
      const terms = chunkTerms(searchedText({ ...chunk, path }), stemmers, languageOf);
      const skipped = skippedBefore(chunk.startLine);
      chunks.push({ ...chunk, startLine: chunk.startLine + skipped, endLine: chunk.endLine + skipped, terms });
      await pause();
    }
    return chunks;
  },
  /** For each found line, whether the redacted note contains it. */
  async hold({ bytes, found = [] }: NoteBytes): Promise<boolean[]> {
    const lines = withoutData(redactLines(withoutPictures(decodeLines(bytes))));
    const own = ({ startLine, endLine }: FoundLines): string[] => lines.slice(startLine - 1, endLine);
    return found.map((each) =>
      holdsLines(
        each,
        own(each).map((line) => line.toWellFormed()),
      ),
    );
  },
};

export interface NoteOrder {
  name: keyof typeof noteTasks;
  note: NoteBytes;
}

/** Whether the lines of a note are the found lines, ignoring lone surrogates. Long lines are compared in pieces. */
export function holdsLines({ startLine, endLine, lines: found }: FoundLines, lines: readonly string[]): boolean {
  if (startLine === endLine) return found.every((piece) => lines[0]?.includes(piece.toWellFormed()));
  if (endLine - startLine + 1 !== found.length) return false;
  return found.every((line, index) => lines[index] === line.toWellFormed());
}

/** Removes long runs of blank lines that exceed a chunk. */
function withoutGaps(text: string, tokens: number): { lines: string[]; skippedBefore: (line: number) => number } {
  const most = 4 * tokens + 8;
  const gaps: { after: number; skipped: number }[] = [];
  let blank = 0;
  let skipped = 0;
  const lines = splitLines(text, (line, kept) => {
    blank = line.trim() === "" ? blank + 1 : 0;
    if (blank <= most) return true;
    skipped++;
    if (gaps.at(-1)?.after === kept) gaps.pop();
    gaps.push({ after: kept, skipped });
    return false;
  });
  return { lines, skippedBefore: (line) => gaps.findLast(({ after }) => after < line)?.skipped ?? 0 };
}

function dayOf(path: string): string | undefined {
  const time = timeOfPath(path);
  return time?.unit === "day" ? isoDate(time.from) : undefined;
}
