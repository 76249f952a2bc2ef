import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ChunkRow, FileRecord, Ledger } from "@memslot/indexing";
import { replaceFileSync } from "@memslot/core/files";
import { shortHash, slug } from "../state-folder.ts";

/** Transcripts as qmd can read them: for each one a Markdown file of its messages, without secrets. */
export interface SessionExport {
  /** The folder of the Markdown files, which qmd reads. */
  readonly folder: string;
  /** The transcript that an exported file was made of, among these. */
  pathOf(name: string, transcripts: readonly string[]): string | undefined;
  /** Writes the transcripts among these files that have changed, and deletes those that are gone. */
  update(files: readonly FileRecord[]): Promise<void>;
}

/** `exportDir`: where the Markdown goes, a folder of the state where it is left out. */
export function createSessionExport(input: {
  ledger: Ledger;
  stateFolder: string;
  exportDir: string | undefined;
}): SessionExport {
  const { ledger, stateFolder, exportDir } = input;
  const folder = exportDir ?? join(stateFolder, "sessions");
  const fileOf = (path: string): string => join(folder, `${nameOf(path)}.md`);
  /** The note of the ledger about what is in the folder. */
  const note = `exported ${folder}`;

  return {
    folder,
    pathOf: (name, transcripts) => transcripts.find((path) => `${nameOf(path)}.md` === name),
    async update(files) {
      const before = new Map(JSON.parse((await ledger.noted(note)) ?? "[]") as [path: string, state: string][]);
      const sessions = files.filter(({ source }) => source === "sessions");
      const now = new Map(sessions.map(({ path, hash, recipe }) => [path, `${hash} ${recipe}`]));
      const changed = [...now.keys()].filter((path) => before.get(path) !== now.get(path));
      const gone = [...before.keys()].filter((path) => !now.has(path));
      if (changed.length + gone.length === 0) return;
      for (const path of gone) rmSync(fileOf(path), { force: true });
      for (const path of changed) {
        const scope = { within: [path], without: [] };
        const rows = await ledger.listChunks({ sources: ["sessions"], scope, withText: true });
        replaceFileSync(fileOf(path), markdownOf(path, rows));
      }
      await ledger.note(note, JSON.stringify([...now]));
    },
  };
}

function markdownOf(path: string, rows: readonly ChunkRow[]): string {
  const lines = [`# Session ${path.replace(/^sessions\//, "").replace(/\.jsonl$/, "")}`];
  let day = "";
  for (const { context, text } of rows) {
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
