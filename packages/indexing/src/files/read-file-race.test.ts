import fs, { type PathLike, renameSync, symlinkSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { readMemoryFile } from "./read-file.ts";
import { never } from "../../test/support/context.ts";
import { stubBuiltin } from "../../test/support/stub-builtin.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";

/** Does something once a path has been looked at, before it is opened. */
function afterTheLookAt(looked: string, happens: () => void): () => boolean {
  let done = false;
  const { lstatSync } = fs;
  const look = (file: PathLike, ...more: unknown[]): unknown => {
    const stats = lstatSync(file, ...(more as []));
    if (!done && file === looked) {
      done = true;
      happens();
    }
    return stats;
  };
  stubBuiltin(fs, { lstatSync: look as typeof lstatSync });
  return () => done;
}

test.skipIf(process.platform === "win32").each(["deep", "memory"])(
  "a folder that becomes a link between the look and the opening leads nowhere: %s",
  async (swapped) => {
    const outside = folderWith({ "secret/deep/a.md": "secret", "secret/a.md": "secret" });
    const workspace = folderWith({ "memory/deep/a.md": "mine" });
    const note = path.join(workspace, "memory/deep/a.md");
    const folder = swapped === "deep" ? path.dirname(note) : path.join(workspace, "memory");
    const hasHappened = afterTheLookAt(note, () => {
      renameSync(folder, `${folder}-before`);
      symlinkSync(path.join(outside, "secret"), folder);
    });
    const params = { relPath: "memory/deep/a.md", from: 1, lines: 10, audience: "private", signal: never } as const;
    await expect(readMemoryFile(params, workspace, [])).rejects.toMatchObject({
      code: "PATH_NOT_ALLOWED",
      message: "memory/deep/a.md cannot be read: it leads out of the memory folder through a link.",
    });
    expect(hasHappened()).toBe(true);
  },
);
