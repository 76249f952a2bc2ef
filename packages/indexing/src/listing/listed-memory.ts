import type { MemoryPluginContext, MemorySearchManager } from "@memslot/core";
import type { ChunkIndex } from "../chunk-index.ts";
import { describeFile } from "./describe-file.ts";
import { listFiles } from "./list-files.ts";
import { createNoteFacts } from "./note-facts.ts";

/** What a manager tells a person of its files. What is read for it is kept while it stays the same. */
export function createListedMemory(
  store: ChunkIndex,
  context: MemoryPluginContext,
): Required<Pick<MemorySearchManager, "listFiles" | "describeFile">> {
  const factsOf = createNoteFacts(store);
  return {
    listFiles: (params) => listFiles({ context, store, factsOf }, params),
    async describeFile({ relPath, signal }) {
      const records = (await store.listFiles()).filter(({ source }) => source === "memory");
      return describeFile(relPath, records, await factsOf(records, signal));
    },
  };
}
