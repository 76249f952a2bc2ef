import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ChunkRow, FileRecord, Ledger } from "@memslot/indexing";
import { replaceFileSync } from "@memslot/core/files";
import { shortHash, slug } from "../state-folder.ts";

/** Transcripts as Markdown files for qmd, one for each transcript, without secrets. */
export class SessionExport {
  readonly folder: string;
  readonly #ledger: Ledger;

  /** `exportDir`: the folder of the Markdown files, by default in the state folder. */
  constructor(input: { ledger: Ledger; stateFolder: string; exportDir: string | undefined }) {
    this.folder = input.exportDir ?? join(input.stateFolder, "sessions");
    this.#ledger = input.ledger;
  }

  pathOf(name: string, transcripts: readonly string[]): string | undefined {
    return transcripts.find((path) => fileName(path) === name);
  }

  async update(files: readonly FileRecord[]): Promise<void> {
    const note = `exported ${this.folder}`;
    const before = new Map(JSON.parse((await this.#ledger.noted(note)) ?? "[]") as [path: string, state: string][]);
    const sessions = files.filter(({ source }) => source === "sessions");
    const now = new Map(sessions.map(({ path, hash, recipe }) => [path, `${hash} ${recipe}`]));
    const changed = [...now.keys()].filter((path) => before.get(path) !== now.get(path));
    const removed = [...before.keys()].filter((path) => !now.has(path));
    if (changed.length + removed.length === 0) return;
    for (const path of removed) rmSync(join(this.folder, fileName(path)), { force: true });
    for (const path of changed) {
      const scope = { within: [path], without: [] };
      const rows = await this.#ledger.listChunks({ sources: ["sessions"], scope, withText: true });
      replaceFileSync(join(this.folder, fileName(path)), markdownOf(path, rows));
    }
    await this.#ledger.note(note, JSON.stringify([...now]));
  }
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

/** A transcript may have any name. */
function fileName(path: string): string {
  return `${slug(path.replace(/^sessions\//, "").replace(/\.jsonl$/, ""))}-${shortHash(path)}.md`;
}
