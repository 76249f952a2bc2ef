// Writes batches of files as fast as it can. Arguments: path, prefix of the file names, batches (0: without end).
import { openSqliteStore } from "@memslot/memory-core";

const [path = "", prefix = "", batches = "0"] = process.argv.slice(2);
const last = batches === "0" ? Number.POSITIVE_INFINITY : Number(batches);
const store = await openSqliteStore({ path, vector: { enabled: true }, cacheMaxEntries: 1000 });
process.stdout.write(`open ${store.health().location}\n`);
for (let batch = 0; batch < last; batch++) {
  await store.replaceFiles(
    Array.from({ length: 20 }, (_, index) => ({
      path: `${prefix}${index}.md`,
      source: "memory",
      hash: `hash${batch}`,
      mtimeMs: batch,
      size: batch,
      recipe: "1",
      chunks: Array.from({ length: 10 }, (_, part) => ({
        startLine: part + 1,
        endLine: part + 1,
        text: `${prefix} batch${batch} part${part} ${"filler ".repeat(100)}`,
        context: "",
        terms: `${prefix} batch${batch} part${part} ${Array.from({ length: 100 }, (_, word) => `w${(word * batch) % 977}`).join(" ")}`,
        hash: `${prefix}${batch}.${index}.${part}`,
      })),
    })),
  );
  if (batch === 0) process.stdout.write("wrote\n");
}
await store.close();
process.stdout.write("done\n");
