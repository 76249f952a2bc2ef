import { lstatSync, type PathLike, renameSync, symlinkSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { readMemoryFile } from "@memslot/indexing";
import { never } from "./support/context.ts";
import { useTempFolders } from "./support/temp-folder.ts";

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  return { ...fs, lstatSync: vi.fn<typeof fs.lstatSync>(fs.lstatSync) };
});
const real = await vi.importActual<typeof import("node:fs")>("node:fs");

const folderWith = useTempFolders();
afterEach(() => void vi.mocked(lstatSync).mockReset().mockImplementation(real.lstatSync));

/** Does something once a path has been looked at, before it is opened. */
function afterTheLookAt(looked: string, happens: () => void): void {
  let done = false;
  const look = (file: PathLike, ...more: unknown[]): unknown => {
    const stats = real.lstatSync(file, ...(more as []));
    if (!done && file === looked) {
      done = true;
      happens();
    }
    return stats;
  };
  vi.mocked(lstatSync).mockImplementation(look as typeof lstatSync);
}

test.skipIf(process.platform === "win32").each(["deep", "memory"])(
  "a folder that becomes a link between the look and the opening leads nowhere: %s",
  async (swapped) => {
    const outside = folderWith({ "secret/deep/a.md": "secret", "secret/a.md": "secret" });
    const workspace = folderWith({ "memory/deep/a.md": "mine" });
    const note = path.join(workspace, "memory/deep/a.md");
    const folder = swapped === "deep" ? path.dirname(note) : path.join(workspace, "memory");
    afterTheLookAt(note, () => {
      renameSync(folder, `${folder}-before`);
      symlinkSync(path.join(outside, "secret"), folder);
    });
    const params = { relPath: "memory/deep/a.md", from: 1, lines: 10, audience: "private", signal: never } as const;
    await expect(readMemoryFile(params, workspace, [])).rejects.toMatchObject({
      code: "PATH_NOT_ALLOWED",
      message: "memory/deep/a.md cannot be read: it leads out of the memory folder through a link.",
    });
    expect(vi.mocked(lstatSync)).toHaveBeenCalledWith(note, expect.anything());
  },
);
