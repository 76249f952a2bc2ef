import { constants, existsSync } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import path from "node:path";
import { messageOf } from "@memslot/core";
import { cloudStub, codeOf, openInPlace } from "@memslot/core/files";
import { decodeText } from "@memslot/indexing/host";

/** A note as it stands in the workspace, or why it is not there. */
export type WorkspaceNote =
  | { state: "read"; text: string }
  | { state: "absent" }
  | { state: "skipped"; reason: string };

/** More than this is no note that anybody wrote by hand; `memory_get` reads windows of it. */
const maxBytes = 4_000_000;

/**
 * Reads a note under an existing workspace. No part of the way is followed where it is a symbolic link, also where it
 * becomes one meanwhile, so nothing outside the workspace is ever read.
 */
export async function readWorkspaceNote(workspaceDir: string, relPath: string): Promise<WorkspaceNote> {
  const parts = relPath.split("/");
  try {
    let place = await realpath(workspaceDir);
    for (const [index, part] of parts.entries()) {
      place = path.join(place, part);
      const found = await lstat(place);
      const name = parts.slice(0, index + 1).join("/");
      if (found.isSymbolicLink())
        return { state: "skipped", reason: `${name} is a symbolic link, which is not followed` };
      if (index < parts.length - 1) continue;
      if (!found.isFile()) return { state: "skipped", reason: "it is not a file" };
      if (found.size > maxBytes)
        return {
          state: "skipped",
          reason: `it is larger than ${maxBytes / 1_000_000} MB; memory_get reads parts of it`,
        };
    }
    return { state: "read", text: await readText(place) };
  } catch (error) {
    const code = codeOf(error);
    if (existsSync(cloudStub(path.join(workspaceDir, relPath))))
      return { state: "skipped", reason: "it is in iCloud and not downloaded" };
    if (code === "ENOENT" || code === "ENOTDIR") return { state: "absent" };
    return { state: "skipped", reason: `it cannot be read (${messageOf(error)})` };
  }
}

async function readText(file: string): Promise<string> {
  const handle = await openInPlace(file, constants.O_RDONLY);
  try {
    return decodeText(await handle.readFile())
      .replaceAll(/\r\n?/g, "\n")
      .replaceAll("\0", "\uFFFD");
  } finally {
    await handle.close();
  }
}
