import { mkdir } from "node:fs/promises";
import { type AgentConfig, type EmbeddingSetup, type MemslotConfig, MemoryError, messageOf } from "@memslot/core";
import { EmbeddingOpeners, type FoundPlugin, forbiddenBy } from "@memslot/core/host";
import type { CommandContext } from "../command-context.ts";
import { addPlugin, installSpec, shellLine } from "../plugins/add-plugin.ts";
import { runNpm } from "../plugins/run-npm.ts";
import { findPlugins } from "../plugins/list-plugins.ts";
import { createProgress } from "../terminal/progress.ts";

const pluginId = "local";
const OPEN_DEADLINE_MS = 30_000;

export interface LocalState {
  plugin: FoundPlugin | undefined;
  setup: EmbeddingSetup | undefined;
}

/** Reads the state without changing it. Throws `CONFIG` if the plugin is disabled, `UNAVAILABLE` for an invalid model file. */
export async function localState(
  context: CommandContext,
  config: MemslotConfig,
  agent: AgentConfig,
): Promise<LocalState> {
  const { known, broken } = await findPlugins(config);
  const own = broken.find(({ id }) => id === pluginId);
  const plugin = known.find(({ id, kind }) => id === pluginId && kind === "embedding");
  // A listed plugin that is missing is installed again.
  if (plugin === undefined && own !== undefined && !/is not there/u.test(own.error.message)) throw own.error;
  const forbidden = forbiddenBy(plugin ?? { id: pluginId }, config.plugins);
  if (forbidden !== undefined)
    throw new MemoryError("CONFIG", `the embedding plugin "${pluginId}" is disabled: ${forbidden}; change that first`);
  if (plugin === undefined) return { plugin, setup: undefined };
  const openers = openersFor(config, agent);
  return { plugin, setup: await openers.setup(plugin, context.signal) };
}

/** Installs the plugin and its packages if they are missing. Returns what was installed. */
export async function installLocal(
  context: CommandContext,
  config: MemslotConfig,
  agent: AgentConfig,
): Promise<{ state: Required<LocalState>; installed: string[] }> {
  const { plugin, isNew } = await addPlugin(context, config, installSpec(pluginId, context));
  const installed = isNew ? [plugin.packageName ?? pluginId] : [];
  const openers = openersFor(config, agent);
  const setup = await openers.setup(plugin, context.signal);
  if (setup?.missing === undefined) return { state: { plugin, setup }, installed };
  const { reason, npm } = setup.missing;
  if (npm === undefined) throw new MemoryError("UNAVAILABLE", reason);
  await makeFolder(config.stateDir);
  context.output.notice(`running: ${shellLine(npm)}`);
  await runNpm(context, config.stateDir, npm);
  const after = await openers.setup(plugin, context.signal);
  if (after?.missing !== undefined)
    throw new MemoryError("PLUGIN", `npm reported success, but ${after.missing.reason}`);
  return { state: { plugin, setup: after }, installed: [...installed, "node-llama-cpp"] };
}

/** Downloads the model if it is missing, and loads it once to report an unusable one now. */
export async function fetchModel(
  context: CommandContext,
  config: MemslotConfig,
  { agent, plugin }: { agent: AgentConfig; plugin: FoundPlugin },
): Promise<void> {
  const openers = openersFor(config, agent);
  const progress = createProgress(context.output, "loading the model");
  try {
    const provider = await openers.open(plugin, { role: "named", signal: context.signal });
    await provider.prepare?.({ signal: context.signal, progress: (update) => progress.update(update) });
  } finally {
    progress.stop();
    await openers.close();
  }
}

function openersFor(config: MemslotConfig, agent: AgentConfig): EmbeddingOpeners {
  const settings = config.agent(agent.id).memorySearch;
  return new EmbeddingOpeners({ config, settings, deadlineMs: OPEN_DEADLINE_MS });
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new MemoryError(
      "PLUGIN",
      `${folder} cannot be created: ${messageOf(error)}; set another folder with MEMSLOT_HOME`,
      {
        cause: error,
      },
    );
  }
}
