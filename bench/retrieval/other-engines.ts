import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import MiniSearch from "minisearch";
import { openProgram } from "../page/programs.ts";
import { pairs, wordsOf } from "./plain-fts.ts";
import type { Vault } from "./vault.ts";

/** A search that returns whole notes. */
export interface OtherEngine {
  name: string;
  /** The paths of notes, best first. */
  search(query: string, limit: number): Promise<readonly string[]> | readonly string[];
  close(): Promise<void> | void;
}

/** The engines that the bench asks the same questions, by words alone. Without a network, qmd is missing. */
export async function openOthers(notes: Vault["notes"]): Promise<OtherEngine[]> {
  try {
    return [ftsByNote(notes), miniSearch(notes), await qmd(notes)];
  } catch (error) {
    console.error(`qmd is not measured: ${String(error)}`);
    return [ftsByNote(notes), miniSearch(notes)];
  }
}

/** SQLite FTS5 with a row for each note and a column for its title. */
function ftsByNote(notes: Vault["notes"]): OtherEngine {
  const database = new Database(":memory:");
  database.exec("CREATE VIRTUAL TABLE notes USING fts5(path UNINDEXED, title, body, tokenize='porter unicode61')");
  const insert = database.prepare("INSERT INTO notes VALUES (?, ?, ?)");
  for (const [file, text] of notes) insert.run(file, pairs(titleOf(file, text)), pairs(text));
  const query = database
    .prepare("SELECT path FROM notes WHERE notes MATCH ? ORDER BY bm25(notes, 0, 5, 1) LIMIT ?")
    .pluck();
  return {
    name: "FTS5 by note",
    search(text, limit) {
      const words = wordsOf(text);
      return words.length === 0 ? [] : (query.all(words.map((word) => `"${word}"`).join(" OR "), limit) as string[]);
    },
    close: () => void database.close(),
  };
}

function miniSearch(notes: Vault["notes"]): OtherEngine {
  const index = new MiniSearch({
    fields: ["title", "body"],
    searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 2 } },
  });
  index.addAll([...notes].map(([id, text]) => ({ id, title: pairs(titleOf(id, text)), body: pairs(text) })));
  return {
    name: "MiniSearch",
    search: (query, limit) =>
      index
        .search(wordsOf(query).join(" "))
        .slice(0, limit)
        .map(({ id }) => String(id)),
    close: () => {},
  };
}

/** The program qmd from npm, without its models. */
async function qmd(notes: Vault["notes"]): Promise<OtherEngine> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-bench-qmd-"));
  for (const [file, text] of notes) {
    const target = path.join(folder, "notes", file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  const home = process.env["HOME"];
  const opened = await openProgram("qmd", path.join(folder, "notes"));
  if (home !== undefined) process.env["HOME"] = home;
  return {
    ...opened,
    async close() {
      await opened.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The title in the frontmatter or else the first heading, and the file name. */
function titleOf(file: string, text: string): string {
  const title = /^---\n(?:.*\n)*?title: *(.+)\n(?:.*\n)*?---/.exec(text)?.[1] ?? /^#+ +(.+)$/m.exec(text)?.[1] ?? "";
  return `${title} ${path.posix.basename(file, path.posix.extname(file))}`;
}
