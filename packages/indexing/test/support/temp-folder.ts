import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach } from "vitest";

/** A function that makes fresh folders, each deleted after the test that asked for it. */
export function useTempFolders(): (files?: Record<string, string | Uint8Array>) => string {
  const made: string[] = [];
  afterEach(() => {
    for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
  return (files = {}) => {
    const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), "memslot-indexing-")));
    made.push(folder);
    writeFiles(folder, files);
    return folder;
  };
}

function writeFiles(folder: string, files: Record<string, string | Uint8Array>): void {
  for (const [name, content] of Object.entries(files)) {
    const target = path.join(folder, name);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, content);
  }
}
