import { MemoryError } from "@memslot/core";
import type { FileTable, IndexBuilds } from "@memslot/indexing";
import type { FileTarget } from "./tables/file-table.ts";
import { type Generation, metaKeys, type MetaRow, type MetaTable } from "./tables/meta.ts";
import type { WriteQueue } from "./tables/write-queue.ts";

/** Makes a new generation beside the one that answers. What is dropped here is deleted by `tidy.ts`. */
export function createBuilds(input: {
  meta: MetaTable;
  writes: WriteQueue;
  filesOf: (target: FileTarget) => FileTable;
  /** Called after a build has been begun, dropped or put in place. */
  changed: () => Promise<void>;
}): IndexBuilds {
  const { meta, writes } = input;
  /** What this process builds. */
  let started: number | undefined;

  /** Another process may have begun another build, or put this one in place. */
  async function expectNext(id: number): Promise<Generation> {
    const { next } = await meta.read();
    if (next?.id === id) return next;
    throw new MemoryError("BUSY", "another process has ended this rebuild of the index; start it again");
  }

  const rowOf = (generation: Generation): MetaRow => ({ key: metaKeys.generation(generation.id), value: generation });

  return {
    async start(name) {
      const id = await writes.run(async () => {
        const { active, next, lastGeneration } = await meta.read();
        if (next?.name === name) return next.id;
        const added: Generation = { id: lastGeneration + 1, name, state: "next", startedAt: Date.now() };
        await meta.write([
          rowOf(active),
          ...(next ? [rowOf({ ...next, state: "dropped" })] : []),
          rowOf(added),
          { key: metaKeys.lastGeneration, value: added.id },
        ]);
        return added.id;
      });
      started = id;
      await input.changed();
      return input.filesOf({
        generation: async () => (await expectNext(id)).id,
        changed: input.changed,
      });
    },
    async finish() {
      const id = started;
      if (id === undefined) throw new MemoryError("INVALID_ARGUMENT", "no rebuild was started to be finished");
      await writes.run(async () => {
        const next = await expectNext(id);
        const { active } = await meta.read();
        // In one commit: whoever searches finds all of the old one or all of the new one.
        await meta.write([
          rowOf({ ...active, state: "dropped" }),
          rowOf({ ...next, state: "active", builtAt: Date.now() }),
        ]);
      });
      started = undefined;
      await input.changed();
    },
    async abandon() {
      started = undefined;
      await writes.run(async () => {
        const { next } = await meta.read();
        if (next) await meta.write([rowOf({ ...next, state: "dropped" })]);
      });
      await input.changed();
    },
  };
}
