import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type ManagerReadParams, type MemorySearchManager, MemoryError } from "@memslot/core";
import type { WrongManager } from "./wrong-manager.ts";

export const reading: readonly WrongManager[] = [
  {
    fault: "reads outside the workspace",
    caughtBy: "read: refuses paths outside the memory files",
    spoil: (right, { workspaceDir }) => ({ readFile: (params) => readAnything(right, workspaceDir, params) }),
  },
  {
    fault: "reads any file of the workspace",
    caughtBy: "read: refuses paths outside the memory files",
    spoil: (right, { workspaceDir }) => ({
      readFile: (params) =>
        resolve(workspaceDir, params.relPath).startsWith(workspaceDir)
          ? readAnything(right, workspaceDir, params)
          : right.readFile(params),
    }),
  },
  {
    fault: "throws for a missing file",
    caughtBy: "read: a missing file is not_found",
    spoil: (right) => ({
      async readFile(params) {
        const result = await right.readFile(params);
        if (result.status === "not_found") throw new MemoryError("WORKSPACE", "no such file");
        return result;
      },
    }),
  },
  {
    fault: "goes on one line too late",
    caughtBy: "read: following nextFrom gives every line once",
    spoil: (right) => ({
      async readFile(params) {
        const result = await right.readFile(params);
        return result.nextFrom === undefined ? result : { ...result, nextFrom: result.nextFrom + 1 };
      },
    }),
  },
  {
    fault: "never says that more remains",
    caughtBy: "read: a window gives its lines and where to go on",
    spoil: (right) => ({
      async readFile(params) {
        const { nextFrom: _nextFrom, ...result } = await right.readFile(params);
        return result;
      },
    }),
  },
];

async function readAnything(
  right: MemorySearchManager,
  workspaceDir: string,
  params: ManagerReadParams,
): ReturnType<MemorySearchManager["readFile"]> {
  try {
    return await right.readFile(params);
  } catch (error) {
    if (!MemoryError.is(error, "PATH_NOT_ALLOWED")) throw error;
    const text = await readFile(resolve(workspaceDir, params.relPath), "utf8").catch(() => undefined);
    if (text === undefined) throw error;
    return { status: "ok", text, path: params.relPath, from: 1, lines: text.split("\n").length };
  }
}
