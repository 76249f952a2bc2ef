import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Chunk, IndexedFile } from "@memslot/indexing";
import { replaceFileSync } from "@memslot/core/files";
import { shortHash, slug } from "../state-folder.ts";

/**
 * Transcripts as qmd can read them: for each one a Markdown file of what was said, without secrets, and beside it the
 * chunks that it was made of, with their lines in the transcript.
 */
export interface SessionExport {
  /** The folder of the Markdown files, which qmd reads. */
  readonly folder: string;
  /** The transcript that an exported file was made of, among these. */
  pathOf(name: string, transcripts: readonly string[]): string | undefined;
  /** Puts chunks in place of what there was, or of its end, and gives all of them. */
  put(file: IndexedFile): readonly Chunk[];
  read(path: string): readonly Chunk[] | undefined;
  remove(path: string): void;
}

/** `exportDir`: where the Markdown goes, a folder of the state where it is left out. */
export function createSessionExport(stateFolder: string, exportDir: string | undefined): SessionExport {
  const folder = exportDir ?? join(stateFolder, "sessions");
  const markdown = (path: string): string => join(folder, `${nameOf(path)}.md`);
  const chunksFile = (path: string): string => join(stateFolder, "session-chunks", `${nameOf(path)}.json`);

  function read(path: string): readonly Chunk[] | undefined {
    try {
      return JSON.parse(readFileSync(chunksFile(path), "utf8")) as Chunk[];
    } catch {
      return undefined;
    }
  }

  return {
    folder,
    pathOf: (name, transcripts) => transcripts.find((path) => `${nameOf(path)}.md` === name),
    put({ path, chunks, fromLine }) {
      const before = fromLine === undefined ? [] : (read(path) ?? []);
      const all = [...before.filter(({ startLine }) => fromLine !== undefined && startLine < fromLine), ...chunks];
      mkdirSync(folder, { recursive: true });
      replaceFileSync(chunksFile(path), JSON.stringify(all));
      replaceFileSync(markdown(path), markdownOf(path, all));
      return all;
    },
    read,
    remove(path) {
      rmSync(markdown(path), { force: true });
      rmSync(chunksFile(path), { force: true });
    },
  };
}

function markdownOf(path: string, chunks: readonly Chunk[]): string {
  const lines = [`# Session ${path.replace(/^sessions\//, "").replace(/\.jsonl$/, "")}`];
  let day = "";
  for (const { context, text } of chunks) {
    if (context !== day && context !== "") lines.push("", `## ${context}`);
    day = context;
    lines.push("", text);
  }
  return `${lines.join("\n")}\n`;
}

/** A transcript may be called anything. */
function nameOf(path: string): string {
  return `${slug(path.replace(/^sessions\//, "").replace(/\.jsonl$/, ""))}-${shortHash(path)}`;
}
