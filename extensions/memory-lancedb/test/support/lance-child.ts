// A process of its own that uses a store. Argument: JSON of `ChildWork`.
import { MemoryError } from "@memslot/core";
import type { FileChunks } from "@memslot/indexing";
import { type LanceOptions, openLanceStore } from "@memslot/memory-lancedb";
import { fileVersion, versionSpace, versionVector } from "./file-versions.ts";

export interface ChildWork {
  /**
   * `open`: opens and closes a store, and prints the outcome as JSON. `write`: writes files, and prints `open`, `wrote`
   * after the first batch, and `done`.
   */
  does: "open" | "write";
  stateDir?: string;
  lance?: LanceOptions;
  /** The beginning of the names of the files. */
  prefix?: string;
  /** Five files each. Absent: without end. */
  batches?: number;
  /** Each batch has files of its own. Otherwise it has the next version of the same ones. */
  apart?: boolean;
  /** Writes into a rebuild, not into the files that answer. */
  build?: boolean;
  /** Waits for a line of input before it writes. */
  waits?: boolean;
}

const work = JSON.parse(process.argv[2] ?? "{}") as ChildWork;
const { lance = {}, stateDir = "/nowhere", prefix = "", batches = Number.POSITIVE_INFINITY } = work;
const signal = AbortSignal.timeout(300_000);
const opens = { lance, agentId: "main", stateDir, mayCreate: true, signal };
const print = (text: string): boolean => process.stdout.write(`${text}\n`);

if (work.does === "open") {
  try {
    const { store } = await openLanceStore(opens);
    await store.replaceFiles([]);
    await store.close();
    print(JSON.stringify({ opened: true }));
  } catch (error) {
    print(JSON.stringify({ code: MemoryError.is(error) ? error.code : "none", message: String(error) }));
  }
} else {
  const { store } = await openLanceStore(opens);
  const table = work.build ? await store.build?.("a rebuild") : store;
  print("open");
  // So that several begin in the same moment.
  if (work.waits) await new Promise((resolve) => process.stdin.once("data", resolve));
  for (let batch = 0; batch < batches; batch++) {
    const names = [0, 1, 2, 3, 4].map((index) => `${prefix}${work.apart ? batch * 5 + index : index}.md`);
    const files: FileChunks[] = names.map((name) => fileVersion(name, work.apart ? 0 : batch));
    await table?.replaceFiles(files);
    const chunks = files.flatMap((file) => file.chunks);
    await store.putVectors(
      versionSpace,
      chunks.map(({ hash, text }) => ({ hash, vector: versionVector(text) })),
    );
    if (batch === 0) print("wrote");
  }
  await store.close();
  print("done");
  process.stdin.destroy();
}
