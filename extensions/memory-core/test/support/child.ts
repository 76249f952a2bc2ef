// What tests do in a process of its own. Arguments: a command, the path of an index, and what the command takes.
import { truncateSync } from "node:fs";
import type { IndexedFile } from "@memslot/indexing";

const [command = "", path = "", ...rest] = process.argv.slice(2);
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const word = (text: string): { term: string; prefix: boolean } => ({ term: text, prefix: false });

async function openIndex(): ReturnType<typeof import("@memslot/memory-core").openSqliteStore> {
  const { openSqliteStore } = await import("@memslot/memory-core");
  return await openSqliteStore({ path, vector: { enabled: true }, cacheMaxEntries: 1000 });
}

function file(name: string, chunks: readonly { text: string; terms: string; hash: string }[], hash = "h"): IndexedFile {
  const placed = chunks.map((chunk, at) => ({ ...chunk, startLine: at + 1, endLine: at + 1, context: "" }));
  return { path: name, source: "memory", hash, mtimeMs: 1, size: 1, recipe: "1", chunks: placed };
}

const commands: Readonly<Record<string, () => Promise<void>>> = {
  /** Locks a database until it is killed: `all` (reads fail too) or `write`. */
  async "hold-lock"() {
    const { default: Database } = await import("better-sqlite3");
    const db = new Database(path);
    if (rest[0] === "all") db.pragma("locking_mode = EXCLUSIVE");
    db.exec("BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS held (a)");
    print("locked");
    setInterval(() => db.inTransaction, 1000);
  },
  /** Writes to an index, prints what it finds, and comes to its end: `close` or `forget`. */
  async "open-and-end"() {
    const store = await openIndex();
    await store.replaceFiles([file("a.md", [{ text: "word", terms: "word", hash: "h" }])]);
    const { rows } = await store.searchKeyword({ terms: [word("word")], sources: ["memory"], limit: 1 });
    print(rows[0]?.text ?? "nothing");
    if (rest[0] === "close") await store.close();
  },
  /** Prints what an index says of itself and which files it holds. */
  async "open-and-print"() {
    const store = await openIndex();
    print(JSON.stringify({ ...store.health(), files: (await store.listFiles()).map((each) => each.path) }));
    await store.close();
  },
  /** Fills an index with more than SQLite keeps of it in memory, cuts its file short while it is open, and asks on. */
  async "truncate-while-open"() {
    const store = await openIndex();
    for (let batch = 0; batch < 20; batch++)
      await store.replaceFiles(
        Array.from({ length: 100 }, (_, index) => {
          const terms = `note ${batch} ${index}`;
          const text = `${terms} ${"filler ".repeat(6000)}`;
          return file(`${batch}-${index}.md`, [{ text, terms, hash: `${batch}.${index}` }]);
        }),
      );
    truncateSync(path, 20_000);
    const outcome = await store.searchKeyword({ terms: [word("note")], sources: ["memory"], limit: 10_000 }).then(
      ({ rows }) => `${rows.length} rows`,
      (error: Error) => `failed: ${error.message}`,
    );
    print(`${outcome}\n${store.health().notices.join("\n")}`);
    await store.replaceFiles([file("a.md", [])]);
    print(`alive with ${(await store.listFiles()).length} file`);
    await store.close();
  },
  /** Writes batches of files as fast as it can: a prefix of their names, and how many batches (0: without end). */
  async "write-files"() {
    const [prefix = "", batches = "0"] = rest;
    const last = batches === "0" ? Number.POSITIVE_INFINITY : Number(batches);
    const store = await openIndex();
    print(`open ${store.health().location}`);
    for (let batch = 0; batch < last; batch++) {
      const many = Array.from({ length: 100 }, (_, at) => `w${(at * batch) % 977}`).join(" ");
      await store.replaceFiles(
        Array.from({ length: 20 }, (_, index) => {
          const chunks = Array.from({ length: 10 }, (_each, part) => {
            const name = `${prefix} batch${batch} part${part}`;
            const hash = `${prefix}${batch}.${index}.${part}`;
            return { text: `${name} ${"filler ".repeat(100)}`, terms: `${name} ${many}`, hash };
          });
          return file(`${prefix}${index}.md`, chunks, `hash${batch}`);
        }),
      );
      if (batch === 0) print("wrote");
    }
    await store.close();
    print("done");
  },
};

await commands[command]?.();
