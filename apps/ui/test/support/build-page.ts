import path from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { build } from "vite";
import { beforeAll } from "vitest";

let folder: string | undefined;

/** Call it once in a file, outside of its tests: builds the page from its sources in a temporary folder, in about a second. */
export function buildPage(): void {
  beforeAll(async () => {
    folder = tempFolder();
    const configFile = path.join(import.meta.dirname, "../../vite.config.ts");
    await build({ configFile, logLevel: "error", build: { outDir: folder } });
  });
}

/** The folder of the built page. */
export function builtPage(): string {
  if (folder === undefined) throw new Error("buildPage() was not called");
  return folder;
}
