import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { packageVersion } from "../package-version.ts";
import { ExitCode } from "../terminal/exit-code.ts";

/** The function of a command; commander has checked the options and the arguments. */
export type Action = (context: CommandContext, options: never, ...args: never[]) => Promise<number>;

/** The function of each command of `commands.json`. Its module is loaded on demand, which keeps other commands fast. */
export const actions: Readonly<Record<string, (program: Command) => Promise<Action>>> = {
  init: async () => (await import("../commands/init.ts")).init,
  "memory search": async () => (await import("../commands/memory/memory-search.ts")).memorySearch,
  "memory get": async () => (await import("../commands/memory/memory-get.ts")).memoryGet,
  "memory index": async () => (await import("../commands/memory/memory-index.ts")).memoryIndex,
  "memory usage": async () => (await import("../commands/memory/memory-usage.ts")).memoryUsage,
  "memory status": async () => (await import("../commands/memory/memory-status.ts")).memoryStatus,
  "memory compact": async () => (await import("../commands/memory/memory-compact.ts")).memoryCompact,
  log: async () => (await import("../commands/log-undo-restore.ts")).log,
  undo: async () => (await import("../commands/log-undo-restore.ts")).undo,
  restore: async () => (await import("../commands/log-undo-restore.ts")).restore,
  import: async () => (await import("../commands/import.ts")).importExport,
  "sources list": async () => (await import("../commands/sources.ts")).sourcesList,
  "sources add": async () => (await import("../commands/sources.ts")).sourcesAdd,
  "sources remove": async () => (await import("../commands/sources.ts")).sourcesRemove,
  mcp: async () => (await import("../commands/mcp.ts")).mcp,
  ui: async () => (await import("../commands/ui.ts")).ui,
  connect: async () => (await import("../commands/connect.ts")).connect,
  hook: async () => (await import("../commands/hook.ts")).hook,
  "embeddings on": async () => (await import("../commands/embeddings/embeddings-on.ts")).embeddingsOn,
  "embeddings off": async () => (await import("../commands/embeddings/embeddings-off.ts")).embeddingsOff,
  "embeddings status": async () => (await import("../commands/embeddings/embeddings-status.ts")).embeddingsStatus,
  "plugins list": async () => (await import("../commands/plugins.ts")).pluginsList,
  "plugins info": async () => (await import("../commands/plugins.ts")).pluginsInfo,
  "plugins use": async () => (await import("../commands/plugins-use.ts")).pluginsUse,
  "plugins add": async () => (await import("../commands/plugins.ts")).pluginsAdd,
  "plugins remove": async () => (await import("../commands/plugins.ts")).pluginsRemove,
  "plugins new": async () => (await import("../commands/plugins-new.ts")).pluginsNew,
  config: async () => (await import("../commands/config.ts")).config,
  trust: async () => (await import("../commands/config.ts")).trust,
  doctor: async () => (await import("../commands/doctor.ts")).doctor,
  completion: async (program) => (await import("../commands/completion.ts")).completionOf(program),
  version:
    async () =>
    async ({ output }) => {
      output.print(packageVersion());
      return ExitCode.ok;
    },
};
