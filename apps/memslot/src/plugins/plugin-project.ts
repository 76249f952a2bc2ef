import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type MemslotConfig, MemoryError, messageOf } from "@memslot/core";
import { installedPluginsDir } from "@memslot/core/host";

/** An unpublished version: npm skips an optional package that it cannot find. */
const leftOut = "0.0.0-left-out";

/** Unused optional dependencies of the LanceDB client, 300 MB. */
const overrides = { "@lancedb/lancedb": { "@huggingface/transformers": leftOut, openai: leftOut } };

/** The npm project in the state folder whose dependencies are the plugins. */
export interface PluginProject {
  readonly folder: string;
  dependencies(): Readonly<Record<string, string>>;
  prepare(): void;
}

export function pluginProject({ stateDir }: Pick<MemslotConfig, "stateDir">): PluginProject {
  const folder = installedPluginsDir(stateDir);
  const file = path.join(folder, "package.json");

  function read(): Record<string, unknown> {
    let text: string;
    try {
      text = readFileSync(file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw unusable(error);
    }
    try {
      return JSON.parse(text) as Record<string, unknown>;
    } catch (error) {
      throw unusable(error);
    }
  }
  function unusable(error: unknown): MemoryError {
    const step = "repair it, or delete it and add the plugins again";
    return new MemoryError("PLUGIN", `${file} cannot be read: ${messageOf(error)}; ${step}`, { cause: error });
  }

  return {
    folder,
    dependencies: () => (read()["dependencies"] ?? {}) as Record<string, string>,
    prepare() {
      const before = read();
      const after = {
        name: "memslot-plugins",
        description: "Plugins installed by `memslot plugins add`",
        private: true,
        ...before,
        overrides: { ...overrides, ...(before["overrides"] as object | undefined) },
      };
      if (JSON.stringify(before) === JSON.stringify(after)) return;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(file, `${JSON.stringify(after, undefined, 2)}\n`);
      } catch (error) {
        throw new MemoryError("PLUGIN", `${file} cannot be written: ${messageOf(error)}`, { cause: error });
      }
    },
  };
}
