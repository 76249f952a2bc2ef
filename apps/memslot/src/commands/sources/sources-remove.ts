import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { type ConfigEdit, editConfigFile, fileToEdit, searchGroupIn } from "@memslot/core/host";
import type { CommandContext } from "../../command-context.ts";
import { chooseAgent } from "../../open/agents.ts";
import { readConfig } from "../../open/read-config.ts";
import { confirm } from "../../terminal/confirm.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { printable } from "../../terminal/printable.ts";
import { refuseOwnSources } from "./own-sources.ts";
import { UsageError } from "../../terminal/usage-error.ts";

export interface SourcesRemoveOptions {
  forget?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** `memslot sources remove`: removes sources from the configuration, and their kept copies with `--forget`. */
export async function sourcesRemove(
  context: CommandContext,
  options: SourcesRemoveOptions,
  ...names: string[]
): Promise<number> {
  const { output, stdin } = context;
  const config = await readConfig(context);
  const { stateDir, agents } = config;
  refuseOwnSources(config);
  const wanted = [...new Set(names)];
  const copies = agents
    .flatMap(({ id }) => wanted.map((source) => path.join(stateDir, "agents", id, "kept", source)))
    .filter((folder) => existsSync(folder));
  if (options.forget === true && copies.length > 0 && options.yes !== true) {
    if (stdin.isTTY !== true)
      throw new UsageError(
        "nothing was done because stdin is not a terminal: run it with --yes to delete the kept copies",
      );
    if (!(await confirm(context, `Delete the kept copies: ${printable(copies.join(", "))}?`, { usual: "no" }))) {
      output.print("Nothing was changed.");
      return ExitCode.ok;
    }
  }
  const file = fileToEdit(config);
  if (existsSync(file)) {
    const group = await searchGroupIn(file);
    const left = chooseAgent(config, undefined).memorySearch.sources.filter((source) => !wanted.includes(source));
    const edits: ConfigEdit[] = [
      // An empty list would mean the default list.
      ...(left.every((source) => source === "journal")
        ? [{ key: [...group, "sources"], with: "memory" } as const]
        : []),
      ...wanted.map((source): ConfigEdit => ({ key: [...group, "sources"], without: source })),
    ];
    await editConfigFile(file, edits, { stateDir });
  }
  const forgotten = options.forget === true ? copies : [];
  for (const folder of forgotten) await rm(folder, { recursive: true, force: true });
  if (options.json === true) output.printJson({ ok: true, file, removed: wanted, forgotten });
  else {
    output.print(`${wanted.join(", ")}: no longer searched. The next scan removes them from the index.`);
    if (forgotten.length > 0) output.print("The kept copies are deleted.");
    else if (copies.length > 0)
      output.print(`Kept copies stay in ${printable(copies.join(", "))}; --forget deletes them.`);
  }
  return ExitCode.ok;
}
