import type { MemoryCapabilities, MemoryPlugin, MemorySearchManager } from "@memslot/core";
import { audienceChecks } from "./memory/audience-checks.ts";
import { updateChecks } from "./memory/update-checks.ts";
import { processChecks } from "./memory/process-checks.ts";
import { MemoryLab } from "./memory/memory-test-environment.ts";
import { meaningChecks } from "./memory/semantic-search-checks.ts";
import { noteChecks, readChecks } from "./memory/note-checks.ts";
import { searchChecks } from "./memory/memory-search-checks.ts";
import { upkeepChecks } from "./memory/maintenance-checks.ts";
import { qualityChecks, wordChecks } from "./memory/keyword-search-checks.ts";
import { type SuiteOptions, type TestRunner, registerSuite } from "./register-suite.ts";

export interface MemoryConformanceOptions extends SuiteOptions {
  plugin: MemoryPlugin;
  /** What a user writes in `plugins.entries.<id>.config`. */
  options?: Readonly<Record<string, unknown>> | undefined;
  /** Called after each sync. Resolves when the manager answers from what was synced. */
  ready?: ((manager: MemorySearchManager) => Promise<void>) | undefined;
  /** Milliseconds after which an aborted call counts as hanging; 20,000 if left out. */
  patienceMs?: number | undefined;
  /** Removes what the plugin keeps elsewhere for this state folder, for example in a bucket. Called after each check. */
  removePlace?: ((stateDir: string) => Promise<void>) | undefined;
}

const checks = [
  ...searchChecks,
  ...wordChecks,
  ...meaningChecks,
  ...noteChecks,
  ...readChecks,
  ...audienceChecks,
  ...updateChecks,
  ...processChecks,
  ...upkeepChecks,
  ...qualityChecks,
];

/**
 * Proves that a memory plugin keeps its contract. Each check opens the plugin as an application does, through the guard, in
 * folders of its own. `manager.capabilities`, and whether the manager has a `check` and a `compact`, decide which checks run.
 */
export function memoryConformance(runner: TestRunner, options: MemoryConformanceOptions): void {
  const subject = { ...options, patienceMs: options.patienceMs ?? 20_000 };
  const use = <Result>(capabilities: MemoryCapabilities, work: (lab: MemoryLab) => Promise<Result>): Promise<Result> =>
    MemoryLab.use(subject, capabilities, work);
  const everything = { keyword: true, vector: true, ownsIndex: true };
  let known: Promise<MemoryCapabilities> | undefined;
  registerSuite(runner, {
    title: `memory plugin ${options.plugin.id}`,
    checks,
    options,
    async run(check) {
      known ??= use(everything, async (lab) => {
        const { keyword, vector, ownsIndex } = (await lab.open({ embeddings: "none" })).manager.capabilities;
        return { keyword, vector, ownsIndex };
      });
      const capabilities = await known;
      const missing = check.needs?.filter((need) => !capabilities[need]) ?? [];
      if (missing.length > 0) return `the manager has no ${missing.join(" and no ")}`;
      return await use(capabilities, (lab) => check.run(lab));
    },
  });
}
