import { constants } from "node:fs";
import { access, open, stat } from "node:fs/promises";
import path from "node:path";
import { messageOf } from "@memslot/core";
import { noSurprises, unlessMissing } from "@memslot/core/files";

/**
 * Why a note of this day cannot be written, found out without writing one; undefined where nothing speaks against it.
 * To look costs nothing, and a model that writes notes which nobody can save does.
 */
export async function workspaceFault(workspaceDir: string, day: string): Promise<string | undefined> {
  const folder = path.join(workspaceDir, "memory");
  try {
    await access(workspaceDir, constants.W_OK);
    const found = await stat(folder).catch(unlessMissing);
    if (found === undefined) return undefined;
    if (!found.isDirectory()) return `${folder} is not a folder`;
    await access(folder, constants.W_OK);
    const note = path.join(folder, `${day}.md`);
    if ((await stat(note).catch(unlessMissing)) === undefined) return undefined;
    const handle = await open(note, constants.O_WRONLY | constants.O_APPEND | noSurprises);
    await handle.close();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
