import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, onTestFinished } from "vitest";

/** Content by path, with `/` between folders. Objects are written as JSON. */
export type Files = Readonly<Record<string, string | Uint8Array | object>>;

/** Writes the files below `folder` and creates missing folders. */
export function writeFiles(folder: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const target = path.join(folder, name);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(
      target,
      typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content),
    );
  }
}

/** Creates a temporary folder with these files. Without links in its path. The caller removes it. */
export function makeFolder(files: Files = {}): string {
  const folder = realpathSync.native(mkdtempSync(path.join(os.tmpdir(), "memslot-test-")));
  writeFiles(folder, files);
  return folder;
}

/** Creates a temporary folder with these files. It is removed after the test, or after the file outside of a test. */
export function tempFolder(files: Files = {}): string {
  const folder = makeFolder(files);
  afterwards(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/** A workspace with its state folder, both in one temporary folder. */
export interface Workspace {
  /** Contains `workspaceDir` and `stateDir`. */
  folder: string;
  workspaceDir: string;
  stateDir: string;
  /** Writes notes into the workspace. */
  write(files: Files): void;
}

/** Creates a workspace with these notes. It is removed as a `tempFolder` is. */
export function createWorkspace(notes: Files = {}): Workspace {
  const folder = tempFolder();
  const workspaceDir = path.join(folder, "workspace");
  mkdirSync(workspaceDir);
  writeFiles(workspaceDir, notes);
  return {
    folder,
    workspaceDir,
    stateDir: path.join(folder, "state"),
    write: (files) => writeFiles(workspaceDir, files),
  };
}

/** Runs `task` after the current test, or after the current file outside of a test. */
export function afterwards(task: () => unknown): void {
  try {
    onTestFinished(async () => void (await task()));
  } catch {
    afterAll(async () => void (await task()));
  }
}
