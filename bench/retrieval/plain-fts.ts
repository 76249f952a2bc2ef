import Database from "better-sqlite3";
import type { RetrievalSet } from "./datasets.ts";

/** A result as far as it is judged here. */
export interface Answer {
  path: string;
  startLine: number;
  endLine: number;
  snippet: string;
}

const stopWords = new Set(
  "a an the is are was were be been do does did has have had i you he she it we they of in on at to for with by from and or what which who when where why how that this".split(
    " ",
  ),
);

/**
 * The baseline: SQLite FTS5 with its porter stemmer over chunks of 1,600 characters with 320 of overlap, the words of the
 * question joined by OR, Chinese as overlapping pairs, and the head of the chunk as its snippet.
 */
export function plainFts(set: Pick<RetrievalSet, "files">): {
  search(query: string, limit: number): Answer[];
  close(): void;
} {
  const database = new Database(":memory:");
  database.exec("CREATE VIRTUAL TABLE chunks USING fts5(text, tokenize='porter unicode61')");
  const insert = database.prepare("INSERT INTO chunks(rowid, text) VALUES (?, ?)");
  const chunks: Answer[] = [];
  for (const [path, text] of set.files) {
    for (const chunk of cut(text.split("\n"))) {
      chunks.push({ path, startLine: chunk.start + 1, endLine: chunk.end, snippet: chunk.text.slice(0, 700) });
      insert.run(chunks.length, pairs(chunk.text));
    }
  }
  const query = database.prepare("SELECT rowid AS id FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT ?");
  return {
    search(text, limit) {
      const words = wordsOf(text);
      if (words.length === 0) return [];
      const rows = query.all(words.map((word) => `"${word}"`).join(" OR "), limit) as { id: number }[];
      return rows.flatMap(({ id }) => chunks[id - 1] ?? []);
    },
    close: () => database.close(),
  };
}

/** The words of a question without English function words, Chinese as overlapping pairs. */
export function wordsOf(text: string): string[] {
  const words =
    pairs(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => !stopWords.has(word));
}

/** Chinese as overlapping pairs of characters, with spaces between them. */
export function pairs(text: string): string {
  return text.replaceAll(/\p{Script=Han}+/gu, (run) => {
    const characters = [...run];
    return ` ${characters.map((character, index) => character + (characters[index + 1] ?? "")).join(" ")} `;
  });
}

function* cut(lines: readonly string[]): Generator<{ start: number; end: number; text: string }> {
  let start = 0;
  while (start < lines.length) {
    let end = start;
    let length = 0;
    while (end < lines.length && (end === start || length + (lines[end]?.length ?? 0) <= 1600))
      length += (lines[end++]?.length ?? 0) + 1;
    yield { start, end, text: lines.slice(start, end).join("\n") };
    if (end >= lines.length) return;
    let next = end;
    for (let carried = 0; next > start + 1 && carried + (lines[next - 1]?.length ?? 0) <= 320; next--)
      carried += (lines[next - 1]?.length ?? 0) + 1;
    start = next;
  }
}
