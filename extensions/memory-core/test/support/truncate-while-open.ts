// Cuts the file of an open index short and asks on. Arguments: path.
import { truncateSync } from "node:fs";
import { openSqliteStore } from "../../src/index.ts";

const path = process.argv[2] ?? "";
const options = { path, vector: { enabled: true }, cacheMaxEntries: 10 };
const store = await openSqliteStore(options);
truncateSync(path, 20_000);
const query = { terms: [{ term: "note", prefix: false }], sources: ["memory"], limit: 200 };
const outcome = await store.searchKeyword(query).then(
  ({ rows }) => `${rows.length} rows`,
  (error: Error) => `failed: ${error.message}`,
);
await store.close();
const again = await openSqliteStore(options);
process.stdout.write(`${outcome}\n${JSON.stringify(again.health().notices)}\nalive\n`);
await again.close();
