import type { MemoryCapabilities, MemoryPlugin, MemorySearchManager } from "@memslot/core";
import { audienceChecks } from "./memory/audience.ts";
import { emptyAnswerChecks } from "./memory/answers/empty-answers.ts";
import { embeddingChecks } from "./memory/embeddings.ts";
import { exactAnswerChecks } from "./memory/answers/exact-answers.ts";
import { faultChecks } from "./memory/faults.ts";
import { fileChecks } from "./memory/files.ts";
import { freshnessChecks } from "./memory/freshness.ts";
import type { MemoryCheck } from "./memory/lab/lab.ts";
import { lifecycleChecks } from "./memory/lifecycle.ts";
import { lineChecks } from "./memory/answers/lines.ts";
import { mannerChecks } from "./memory/manners.ts";
import { openLab, readCapabilities } from "./memory/lab/open-lab.ts";
import { placeChecks } from "./memory/answers/places.ts";
import { qualityChecks } from "./memory/answers/quality.ts";
import { readPathChecks } from "./memory/answers/read-paths.ts";
import { readChecks } from "./memory/answers/read.ts";
import { searchChecks } from "./memory/answers/search.ts";
import { statusChecks } from "./memory/status.ts";
import { syncChecks } from "./memory/sync.ts";
import { traitChecks } from "./memory/lab/traits.ts";
import { unseenChecks } from "./memory/unseen.ts";
import { upkeepChecks } from "./memory/upkeep.ts";
import { vectorChecks } from "./memory/answers/vectors.ts";
import { wordChecks } from "./memory/answers/words.ts";
import { type Deviation, type TestRunner, registerSuite } from "./runner.ts";

export interface MemoryConformanceOptions {
  plugin: MemoryPlugin;
  /** What a user would write in `plugins.entries.<id>.config`. */
  options?: Readonly<Record<string, unknown>> | undefined;
  /** Called after each sync, for a backend that answers a little later: it ends when the manager sees what was synced. */
  ready?: ((manager: MemorySearchManager) => Promise<void>) | undefined;
  /** How long a call may take to end after it was aborted: no measure of speed, but what tells slow from hanging. 20 s if left out. */
  patienceMs?: number | undefined;
  /** Checks that are known to fail, each by its exact name and with the reason. */
  deviations?: readonly Deviation[] | undefined;
}

const checks: readonly MemoryCheck[] = [
  ...searchChecks,
  ...emptyAnswerChecks,
  ...lineChecks,
  ...exactAnswerChecks,
  ...wordChecks,
  ...fileChecks,
  ...readChecks,
  ...readPathChecks,
  ...audienceChecks,
  ...unseenChecks,
  ...syncChecks,
  ...freshnessChecks,
  ...lifecycleChecks,
  ...mannerChecks,
  ...placeChecks,
  ...traitChecks,
  ...embeddingChecks,
  ...vectorChecks,
  ...statusChecks,
  ...upkeepChecks,
  ...faultChecks,
  ...qualityChecks,
];

/**
 * Proves that a memory plugin keeps its contract. Each check opens the plugin as an application would, through the
 * guard, in folders of its own. Which checks run is decided by `manager.capabilities`, and by whether the manager has a
 * `check` and a `compact`; nothing else.
 */
export function memoryConformance(runner: TestRunner, options: MemoryConformanceOptions): void {
  const subject = {
    plugin: options.plugin,
    options: options.options ?? {},
    ready: options.ready,
    patienceMs: options.patienceMs ?? 20_000,
  };
  let known: Promise<MemoryCapabilities> | undefined;
  registerSuite(runner, {
    title: `memory plugin ${options.plugin.id}`,
    checks,
    deviations: options.deviations,
    async run(check) {
      known ??= readCapabilities(subject);
      const capabilities = await known;
      const missing = check.needs?.filter((need) => !capabilities[need]) ?? [];
      if (missing.length > 0) return `the manager says that it has no ${missing.join(" and no ")}`;
      const lab = await openLab(subject, capabilities);
      try {
        return (await check.run(lab)) ?? undefined;
      } finally {
        await lab.dispose();
      }
    },
  });
}
