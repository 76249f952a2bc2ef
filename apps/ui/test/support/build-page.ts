import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { build } from "vite";
import { afterAll, beforeAll } from "vitest";

let folder: string | undefined;

/** Once in a file, outside of its tests: the page from its sources, in a folder of its own. It takes about a second. */
export function buildPage(): void {
  beforeAll(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), "memslot-page-"));
    const configFile = path.join(import.meta.dirname, "../../vite.config.ts");
    await build({ configFile, logLevel: "error", build: { outDir: folder } });
  });
  afterAll(() => folder !== undefined && rmSync(folder, { recursive: true, force: true }));
}

/** Where it was built. */
export function builtPage(): string {
  if (folder === undefined) throw new Error("buildPage() was not called");
  return folder;
}
