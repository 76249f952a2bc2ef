import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { type MemslotConfig, MemoryError, installedPluginsDir, visibleName, editConfigFile } from "@memslot/core";
import type { CommandContext } from "../../command-context.ts";
import { configTarget, editsFor, withChoice } from "../../embeddings/config-target.ts";
import { localState } from "../../embeddings/local-setup.ts";
import { byteSize } from "../../format/byte-size.ts";
import { readConfig } from "../../open/read-config.ts";
import { shellLine } from "../../plugins/install-spec.ts";
import { ExitCode } from "../../terminal/exit-code.ts";

export interface EmbeddingsOffCommandOptions {
  json?: boolean;
}

/** Something that stays on the disk, and what takes it away. */
interface Left {
  what: string;
  place: string;
  bytes?: number | undefined;
  remove: string;
}

/** `memslot embeddings off`: back to words. Changes the configuration and nothing else. */
export async function embeddingsOff(context: CommandContext, options: EmbeddingsOffCommandOptions): Promise<number> {
  const { output } = context;
  const config = await readConfig(context);
  const target = configTarget(config);
  const [agent] = target.agents;
  if (agent === undefined)
    throw new MemoryError(
      "CONFIG",
      `every agent has a choice of its own (${target.keepers.map(({ key }) => key).join(", ")}); change that in ${config.file ?? "the configuration"}`,
    );
  const left = await whatStays(context, config);
  const before = agent.memorySearch.provider;
  const changes = before.trim().toLowerCase() !== "none";
  if (changes)
    await editConfigFile(target.file, await editsFor(target.file, { provider: "none" }), {
      stateDir: config.stateDir,
    });
  if (options.json === true) {
    const { keepers } = target;
    output.printJson({ provider: "none", before, config: { file: target.file, changed: changes }, left, keepers });
    return ExitCode.ok;
  }
  output.print(
    changes
      ? `Search is by words alone now: memorySearch.provider is "none" (it was "${before}") in ${target.file}`
      : `Search is by words alone already; nothing was changed.`,
  );
  for (const { id, key } of target.keepers) output.print(`Agent "${id}" keeps its own choice, ${key}.`);
  output.print("The vectors stay in the index: switched on again, nothing has to be embedded twice.");
  for (const { what, place, bytes, remove } of left)
    output.print(
      `${what} stays: ${visibleName(place)}${bytes === undefined ? "" : ` (${byteSize(bytes)})`}; to remove it: ${remove}`,
    );
  return ExitCode.ok;
}

async function whatStays(context: CommandContext, config: MemslotConfig): Promise<Left[]> {
  const left: Left[] = [];
  const model = await modelFile(context, config);
  if (model !== undefined)
    left.push({ what: "The model", place: model.file, bytes: model.bytes, remove: `delete ${model.file}` });
  const packages = Object.keys(dependenciesIn(config.stateDir)).filter((name) => /node-llama-cpp(?:$|\/)/u.test(name));
  if (packages.length > 0) {
    const remove = shellLine(["uninstall", "--prefix", config.stateDir, ...packages]);
    left.push({ what: "node-llama-cpp", place: path.join(config.stateDir, "node_modules", "node-llama-cpp"), remove });
  }
  const plugin = path.join(installedPluginsDir(config.stateDir), "node_modules", "@memslot", "embeddings-local");
  if (existsSync(plugin)) left.push({ what: "The plugin", place: plugin, remove: "memslot plugins remove local" });
  return left;
}

/** The model that the settings name, also while another provider is chosen. */
async function modelFile(
  context: CommandContext,
  config: MemslotConfig,
): Promise<{ file: string; bytes: number } | undefined> {
  const [agent] = config.agents;
  if (agent === undefined) return undefined;
  // A plugin that is forbidden or a file that is no model is no reason not to switch off.
  const state = await localState(context, withChoice(config, [agent], { provider: "local" }), agent).catch(
    () => undefined,
  );
  if (state?.setup === undefined || state.setup.modelBytes === 0) return undefined;
  return { file: state.setup.modelFile, bytes: state.setup.modelBytes };
}

function dependenciesIn(folder: string): Record<string, unknown> {
  try {
    const content = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as {
      dependencies?: Record<string, unknown>;
    };
    return content.dependencies ?? {};
  } catch {
    return {}; // Nothing was installed there.
  }
}
