import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { type MemslotConfig, MemoryError, visibleName } from "@memslot/core";
import { installedPluginsDir, editConfigFile } from "@memslot/core/host";
import type { CommandContext, CommonOptions } from "../../command-context.ts";
import { configTarget, editsFor, withChoice } from "../../embeddings/provider-config-edits.ts";
import { localState } from "../../embeddings/local-setup.ts";
import { byteSize } from "../../format/units.ts";
import { readConfig } from "../../open/read-config.ts";
import { shellLine } from "../../plugins/add-plugin.ts";
import { ExitCode } from "../../terminal/exit-code.ts";

interface Left {
  what: string;
  place: string;
  bytes?: number | undefined;
  remove: string;
}

/** `memslot embeddings off`: disables vector search. Changes only the configuration. */
export async function embeddingsOff(context: CommandContext, options: CommonOptions): Promise<number> {
  const { output } = context;
  const config = await readConfig(context);
  const target = configTarget(config);
  const [agent] = target.agents;
  if (agent === undefined)
    throw new MemoryError(
      "CONFIG",
      `every agent sets its own provider (${target.keepers.map(({ key }) => key).join(", ")}); change it in ${config.file ?? "the configuration"}`,
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
      ? `Vector search is off: memorySearch.provider is now "none" (was "${before}") in ${target.file}`
      : `Vector search is already off; nothing was changed.`,
  );
  for (const { id, key } of target.keepers) output.print(`Agent "${id}" keeps its own setting, ${key}.`);
  output.print("The vectors stay in the index, so enabling it again embeds nothing twice.");
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

/** The configured model file, also if another provider is in use. */
async function modelFile(
  context: CommandContext,
  config: MemslotConfig,
): Promise<{ file: string; bytes: number } | undefined> {
  const [agent] = config.agents;
  if (agent === undefined) return undefined;
  // A forbidden plugin or an invalid model file must not prevent turning it off.
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
