import { readdir } from "node:fs/promises";
import path from "node:path";
import { MemoryError, messageOf } from "@memslot/core";

/** `MEMORY.md`, or `memory.md` where only that is there. Throws `WORKSPACE` when the folder cannot be read. */
export async function curatedName(workspaceDir: string): Promise<string> {
  let names: string[];
  try {
    names = await readdir(path.resolve(workspaceDir));
  } catch (error) {
    throw new MemoryError(
      "WORKSPACE",
      `cannot read the workspace ${workspaceDir} (${messageOf(error)}): check that the folder is there`,
      { cause: error },
    );
  }
  return !names.includes("MEMORY.md") && names.includes("memory.md") ? "memory.md" : "MEMORY.md";
}
