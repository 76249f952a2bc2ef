// Opens an index, prints what it says of itself and which files it holds, and closes it. Argument: path.
import { openSqliteStore } from "@memslot/memory-core";

const store = await openSqliteStore({ path: process.argv[2] ?? "", vector: { enabled: true }, cacheMaxEntries: 1000 });
const files = (await store.listFiles()).map((file) => file.path);
process.stdout.write(`${JSON.stringify({ ...store.health(), files })}\n`);
await store.close();
