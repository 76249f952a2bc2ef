import { existsSync, lstatSync, readFileSync } from "node:fs";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import {
  type ConfigEdit,
  editConfigFile,
  editConfigText,
  fileToEdit,
  newConfigText,
  searchGroupIn,
} from "@memslot/core/host";
import { isMarkdown } from "@memslot/indexing/host";
import type { TakeIn, TakeInAnswer } from "../api-types.ts";
import type { UiHost } from "../ui-host.ts";

/**
 * Includes a folder or file by `memorySearch.extraPaths`, or all by `memorySearch.notes`. Throws `INVALID_ARGUMENT`,
 * and `CONFIG` if the file cannot be changed.
 */
export async function takeIn(host: UiHost, { path: wanted, write }: TakeIn): Promise<TakeInAnswer> {
  const { config, memory } = host;
  const name = wanted === undefined ? "notes" : "extraPaths";
  checkOwnChoice(host, name);
  const file = fileToEdit(config);
  const key = [...(await searchGroupIn(file)), name] as const;
  const value = wanted === undefined ? "all" : placeIn(memory.workspaceDir, wanted);
  const edit: ConfigEdit = wanted === undefined ? { key, value } : { key, with: value };
  const isNew = !existsSync(file);
  const before = isNew ? "" : readFileSync(file, "utf8");
  const after = await editConfigText(isNew ? newConfigText : before, [edit]).catch((error: unknown) => {
    throw new MemoryError("CONFIG", `${file} was left as it is: ${String(error)}; change it with an editor`);
  });
  const changes = isNew || after !== before;
  if (write && changes) await editConfigFile(file, [edit], { stateDir: config.stateDir });
  return {
    file,
    isNew,
    ...(!config.trusted && { untrusted: config.file }),
    key: key.join("."),
    value,
    before,
    after,
    changes,
    written: write && changes,
  };
}

/** A setting for all agents has no effect on an agent with its own. */
function checkOwnChoice({ config, agent }: UiHost, name: string): void {
  const keys = [agent.id, JSON.stringify(agent.id)].map((id) => `agents.list[${id}].memorySearch.${name}`);
  const own = config.describe().find(({ key }) => keys.includes(key));
  if (own !== undefined)
    throw new MemoryError(
      "CONFIG",
      `agent "${agent.id}" has a choice of its own, ${own.key} (${own.origin}): change that`,
    );
}

/** Absolute, as a relative path in a configuration starts at the folder of the file. */
function placeIn(workspaceDir: string, wanted: string): string {
  const invalid = (why: string): MemoryError =>
    new MemoryError("INVALID_ARGUMENT", `${JSON.stringify(wanted)} cannot be taken in: ${why}`);
  const place = path.resolve(workspaceDir, wanted);
  const way = path.relative(workspaceDir, place);
  if (wanted.includes("\0") || way === "" || way.split(path.sep)[0] === ".." || path.isAbsolute(way))
    throw invalid("it is not below the workspace");
  let current = workspaceDir;
  for (const part of way.split(path.sep)) {
    current = path.join(current, part);
    const stats = lstatSync(current, { throwIfNoEntry: false });
    if (stats === undefined) throw invalid("it is not there");
    if (stats.isSymbolicLink())
      throw invalid("it is a symbolic link, which is not followed: name the real path instead");
    if (current === place && !stats.isDirectory() && !(stats.isFile() && isMarkdown(place)))
      throw invalid("it is neither a folder nor Markdown");
  }
  return place;
}
