import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { MemslotConfig } from "../types.ts";

/** The file that a choice of the user goes to: the one in use, but the user's own one where that is a stranger's. */
export function fileToEdit({ file, trusted, stateDir }: Pick<MemslotConfig, "file" | "trusted" | "stateDir">): string {
  const own = join(stateDir, "memslot.json5");
  return trusted ? (file ?? own) : own;
}

type Group = readonly [string, ...string[]];

const usualGroup: Group = ["agents", "defaults", "memorySearch"];

/** Where the settings of search for all agents stand in a file: in the spelling that it has for them already. */
export async function searchGroupIn(file: string): Promise<Group> {
  if (!existsSync(file)) return usualGroup;
  const { default: json5 } = (await import("json5")) as { default: { parse(text: string): unknown } };
  const content = json5.parse(readFileSync(file, "utf8").replace(/^\uFEFF/u, ""));
  const other: Group = ["memory", "search"];
  return groupAt(content, usualGroup) === undefined && groupAt(content, other) !== undefined ? other : usualGroup;
}

function groupAt(content: unknown, group: Group): unknown {
  let value = content;
  for (const name of group) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return value;
}
