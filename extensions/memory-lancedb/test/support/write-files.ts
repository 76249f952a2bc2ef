// Writes batches of files as fast as it can. Arguments: state folder, prefix of the file names, batches (0: without end),
// "build" for a rebuild in place of the files that answer.
import { openLanceStore } from "@memslot/memory-lancedb";
import { fileVersion, space, vectorFor } from "./versions.ts";

const [stateDir = "", prefix = "", batches = "0", kind = "files"] = process.argv.slice(2);
const last = batches === "0" ? Number.POSITIVE_INFINITY : Number(batches);
const signal = AbortSignal.timeout(300_000);
const { store } = await openLanceStore({ lance: {}, agentId: "main", stateDir, mayCreate: true, signal });
const table = kind === "build" ? await store.build?.("a rebuild") : store;
process.stdout.write(`open ${(await store.stats()).location}\n`);
for (let batch = 0; batch < last; batch++) {
  const files = Array.from({ length: 5 }, (_, index) => fileVersion(`${prefix}${index}.md`, batch));
  await table?.replaceFiles(files);
  const chunks = files.flatMap((file) => file.chunks);
  await store.putVectors(
    space,
    chunks.map(({ hash, text }) => ({ hash, vector: vectorFor(text) })),
  );
  if (batch === 0) process.stdout.write("wrote\n");
}
await store.close();
process.stdout.write("done\n");
