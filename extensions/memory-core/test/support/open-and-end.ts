// Opens an index, writes to it, prints what it finds, and comes to its end. Arguments: path, `close` or `forget`.
import { openSqliteStore } from "@memslot/memory-core";

const [path = "", how] = process.argv.slice(2);
const store = await openSqliteStore({ path, vector: { enabled: true }, cacheMaxEntries: 10 });
const chunk = { startLine: 1, endLine: 1, text: "word", context: "", terms: "word", hash: "h" };
await store.replaceFiles([
  { path: "a.md", source: "memory", hash: "h", mtimeMs: 1, size: 1, recipe: "1", chunks: [chunk] },
]);
const { rows } = await store.searchKeyword({ terms: [{ term: "word", prefix: false }], sources: ["memory"], limit: 1 });
process.stdout.write(`${rows[0]?.text}\n`);
if (how === "close") await store.close();
