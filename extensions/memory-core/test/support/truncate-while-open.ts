// Fills an index with more than SQLite keeps of it in memory, cuts its file short while it is open, and asks on. Argument: path.
import { truncateSync } from "node:fs";
import { openSqliteStore } from "@memslot/memory-core";

const path = process.argv[2] ?? "";
const options = { path, vector: { enabled: true }, cacheMaxEntries: 10 };
const store = await openSqliteStore(options);
for (let batch = 0; batch < 20; batch++) {
  const files = Array.from({ length: 100 }, (_, index) => {
    const text = `note ${batch} ${index} ${"filler ".repeat(6000)}`;
    const chunk = {
      startLine: 1,
      endLine: 1,
      text,
      context: "",
      terms: `note ${batch} ${index}`,
      hash: `${batch}.${index}`,
    };
    return {
      path: `${batch}-${index}.md`,
      source: "memory",
      hash: "h",
      mtimeMs: 1,
      size: 1,
      recipe: "1",
      chunks: [chunk],
    };
  });
  await store.replaceFiles(files);
}
truncateSync(path, 20_000);
const query = { terms: [{ term: "note", prefix: false }], sources: ["memory"], limit: 10_000 };
const outcome = await store.searchKeyword(query).then(
  ({ rows }) => `${rows.length} rows`,
  (error: Error) => `failed: ${error.message}`,
);
process.stdout.write(`${outcome}\n${store.health().notices.join("\n")}\n`);
const files = [{ path: "a.md", source: "memory", hash: "h", mtimeMs: 1, size: 1, recipe: "1", chunks: [] }];
await store.replaceFiles(files);
process.stdout.write(`alive with ${(await store.listFiles()).length} file\n`);
await store.close();
