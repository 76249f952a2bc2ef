import { existsSync, realpathSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { MemslotConfig } from "../../contract/config.ts";
import { MemoryError, messageOf } from "../../contract/errors.ts";
import { replaceFile } from "../../files/replace-file.ts";
import { valueAt } from "../deep.ts";
import { readConfigBytes, sha256Of } from "../read-file.ts";
import { trustConfig, trustOf } from "../trust/trust.ts";
import { type ConfigEdit, editConfigText } from "./edit-text.ts";

/** The beginning of a new file. */
export const newConfigText = `// The configuration of memslot, in JSON5: comments and commas at the end are fine.
// \`memslot config\` shows every key, its value and where it comes from.
{
}
`;

/** The file that a choice of the user goes to: the one in use, but the user's own one where that is a stranger's. */
export function fileToEdit({ file, trusted, stateDir }: Pick<MemslotConfig, "file" | "trusted" | "stateDir">): string {
  const own = join(stateDir, "memslot.json5");
  return trusted ? (file ?? own) : own;
}

type Group = readonly [string, ...string[]];

const usualGroup: Group = ["agents", "defaults", "memorySearch"];
const otherGroup: Group = ["memory", "search"];

/** Where the settings of search for all agents stand in a file: in the spelling that it has for them already. */
export async function searchGroupIn(file: string): Promise<Group> {
  if (!existsSync(file)) return usualGroup;
  const { default: json5 } = await import("json5");
  const content: unknown = json5.parse(readFileSync(file, "utf8").replace(/^\uFEFF/u, ""));
  const has = (group: Group): boolean => valueAt(content, group) !== undefined;
  return !has(usualGroup) && has(otherGroup) ? otherGroup : usualGroup;
}

/**
 * Makes changes in a configuration file and leaves everything else in it as it is, to the byte; a file that is not there
 * is made. Throws `CONFIG` where it cannot be read, written, or changed without changing something else.
 */
export async function editConfigFile(
  file: string,
  edits: readonly ConfigEdit[],
  { stateDir }: { stateDir: string },
): Promise<void> {
  await changeConfigFile(file, (text = newConfigText) => editConfigText(text, edits), { stateDir });
}

/**
 * Puts another text into a configuration file; one that is not there is made. `change` is given the text that is there,
 * with the mark at its beginning where it has one, and gives the new one. The file is replaced as a whole. One that was
 * trusted with its content is trusted with the new one; of code that it names, what was trusted stays. Throws `CONFIG`
 * where it cannot be read, changed or written.
 */
export async function changeConfigFile(
  file: string,
  change: (text: string | undefined) => Promise<string>,
  { stateDir }: { stateDir: string },
): Promise<void> {
  const isThere = existsSync(file);
  // A link is followed, so that it stays one.
  const path = isThere ? realpathSync.native(file) : file;
  const bytes = isThere ? readConfigBytes(path) : undefined;
  const trust = bytes === undefined ? undefined : trustOf(path, sha256Of(bytes), stateDir);
  let changed: string;
  try {
    changed = await change(bytes && new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    throw new MemoryError("CONFIG", `${path} was left as it is: ${messageOf(error)}; change it with an editor`, {
      cause: error,
    });
  }
  try {
    await replaceFile(path, changed, isThere ? { mode: statSync(path).mode & 0o777 } : {});
  } catch (error) {
    throw new MemoryError("CONFIG", `${path} cannot be written: ${messageOf(error)}; check its folder`, {
      cause: error,
    });
  }
  if (trust !== undefined) await trustConfig(path, { stateDir, earlier: trust.code });
}
