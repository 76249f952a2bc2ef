// Opens an index and tells what came of it, as JSON. Argument: state folder.
import { MemoryError } from "@memslot/core";
import { openLanceStore } from "@memslot/memory-lancedb";

const [stateDir = ""] = process.argv.slice(2);
try {
  const signal = AbortSignal.timeout(60_000);
  const { store } = await openLanceStore({ lance: {}, agentId: "main", stateDir, mayCreate: true, signal });
  await store.replaceFiles([]);
  await store.close();
  process.stdout.write(`${JSON.stringify({ opened: true })}\n`);
} catch (error) {
  const code = MemoryError.is(error) ? error.code : "none";
  process.stdout.write(`${JSON.stringify({ code, message: error instanceof Error ? error.message : "" })}\n`);
}
