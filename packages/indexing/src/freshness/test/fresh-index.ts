import path from "node:path";
import { createFakeStore, type FakeStore } from "../../../test/support/fake-store.ts";
import { never, settingsWith, syncParams } from "../../../test/support/context.ts";
import { eventually } from "@memslot/test-tools/wait";
import { createNotesSource } from "../../scan/read-note.ts";
import { memoryRoots } from "../../scan/memory-roots.ts";
import { createIndexSync, type IndexSync } from "../../sync/index-sync.ts";
import { type RootWatch, type RootWatchInput, watchRoots } from "../watch-roots.ts";
import { Freshness } from "../freshness.ts";

/** An index in memory that is kept fresh by a real watcher on real files. */
export interface FreshIndex {
  readonly index: IndexSync;
  readonly store: FakeStore;
  readonly watch: RootWatch;
  /** Why the last search scanned all files; undefined if it did not. */
  whySwept(): string | undefined;
  /** Waits as a search does, once; true: the answer may be called `ok`. */
  tryFreshen(): Promise<boolean>;
  /** Searches until an answer may be called `ok`: a busy machine has it called stale now and then. */
  freshen(): Promise<void>;
  /** What the index says of each note. */
  held(): Promise<Record<string, string>>;
  /** Whether all is as a look at all files finds it. */
  sweepAgrees(): Promise<boolean>;
  close(): Promise<void>;
}

export async function openFreshIndex(input: {
  workspace: string;
  stateDir: string;
  extra?: string | undefined;
  watch?: Partial<RootWatchInput> | undefined;
  /** Stands between the watcher and who asks it. */
  news?: ((real: RootWatch["news"]) => RootWatch["news"]) | undefined;
  now?: (() => number) | undefined;
}): Promise<FreshIndex> {
  const { workspace, stateDir, extra, news = (real) => real } = input;
  const store = createFakeStore();
  const settings = settingsWith({ extraPaths: extra === undefined ? [] : [extra], notes: "agent" });
  const roots: RootWatchInput["roots"] = () =>
    memoryRoots({ workspaceDir: workspace, settings: { ...settings, notes: "agent" } }).map(
      ({ absolutePath, kind }) => ({ path: absolutePath, kind }),
    );
  const watch = watchRoots({
    roots,
    maxFiles: 30_000,
    event: () => index.markDirty(),
    began: () => undefined,
    notify: () => undefined,
    sentinelDir: path.join(stateDir, "watch"),
    // However busy the machine is, it is not late.
    newsWithinMs: 30_000,
    retryMs: 0,
    ...input.watch,
  });
  const own = { ...settings.sync, watch: true };
  const notify = (): void => undefined;
  const freshness = new Freshness({ settings: own, roots, notify, news: news(watch.news), now: input.now });
  const sources = [createNotesSource({ workspaceDir: workspace, settings, stateDir })];
  const index = await createIndexSync({
    store,
    sources,
    onSearch: true,
    vectors: undefined,
    names: { agentId: "main", backend: "test" },
    freshness,
  });
  await eventually(() => watch.state().mode !== "off", "the folders are watched");

  const tryFreshen = async (): Promise<boolean> => (await index.freshen(never)) === undefined;
  return {
    index,
    store,
    watch,
    whySwept: () => freshness.status().reason,
    tryFreshen,
    async freshen() {
      const endMs = performance.now() + 40_000;
      while (!(await tryFreshen())) if (performance.now() > endMs) throw new Error("no answer was fresh within 40 s");
    },
    async held() {
      const notes: Record<string, string> = {};
      for (const { path: note } of await store.listFiles())
        notes[note] = store
          .chunksOf(note)
          .map((chunk) => chunk.text)
          .join("");
      return notes;
    },
    async sweepAgrees() {
      const { added, changed, removed } = await index.sync(syncParams());
      return added + changed + removed === 0;
    },
    async close() {
      await Promise.all([watch.close(), index.close()]);
      await store.close();
    },
  };
}
