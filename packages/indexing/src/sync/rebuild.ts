import type { SyncReport } from "@memslot/core";
import { smallBatch } from "./batch-writer.ts";
import type { IndexBuilds } from "../chunk-index.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { listingOf } from "./stored-files.ts";
import { type SyncInput, type SyncOutcome, syncFiles } from "./sync.ts";

export interface RebuildOutcome {
  files: SyncOutcome;
  pendingVectors: SyncReport["pendingVectors"];
  /** Why the new build does not take over yet; undefined where it has. */
  waitingFor: string | undefined;
}

/** What a build is made by. One that was interrupted goes on under the same name. */
export function buildName(sources: readonly IndexedSource[]): string {
  return sources.map(({ source, recipe }) => `${source}: ${recipe}`).join("; ");
}

/**
 * Makes the whole index anew beside the one that answers, vectors included, and puts it in place of that. What was
 * changed meanwhile is taken along before. `fill` makes the vectors that are missing and gives what is left;
 * `obstacle` says why the new build must not take over with what it has.
 */
export async function rebuildIndex(input: {
  builds: IndexBuilds;
  sources: readonly IndexedSource[];
  params: SyncInput["params"];
  fill: () => Promise<SyncReport["pendingVectors"]>;
  obstacle: () => Promise<string | undefined>;
}): Promise<RebuildOutcome> {
  const { builds, sources } = input;
  const table = await builds.start(buildName(sources));
  const pass = (progress: SyncInput["params"]["progress"]): Promise<SyncOutcome> =>
    syncFiles({
      table,
      listing: listingOf(table),
      sources,
      otherRecipe: () => "reread",
      batch: smallBatch,
      params: { ...input.params, progress, force: false, reason: "rebuild", sessions: undefined },
      withRight: (write) => write(),
    });
  const files = await pass(input.params.progress);
  const pendingVectors = await input.fill();
  await pass(() => {});
  const waitingFor = await input.obstacle();
  if (waitingFor === undefined) await builds.finish();
  return { files, pendingVectors, waitingFor };
}
