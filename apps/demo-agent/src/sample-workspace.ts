import { rmSync } from "node:fs";
import { cp, mkdtemp, realpath, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** A copy of the bundled notes with its own state folder, so that a run changes nothing of the user's. */
export interface SampleWorkspace {
  readonly rootDir: string;
  readonly workspaceDir: string;
  readonly stateDir: string;
  remove(): Promise<void>;
  removeNow(): void;
}

const bundledDir = fileURLToPath(new URL("../sample-workspace/", import.meta.url));

export async function createSampleWorkspace(): Promise<SampleWorkspace> {
  const rootDir = await realpath(await mkdtemp(path.join(os.tmpdir(), "memslot-demo-")));
  const workspaceDir = path.join(rootDir, "notes");
  const removal = { recursive: true, force: true, maxRetries: 3, retryDelay: 100 };
  const sample: SampleWorkspace = {
    rootDir,
    workspaceDir,
    stateDir: path.join(rootDir, "state"),
    remove: () => rm(rootDir, removal),
    removeNow: () => rmSync(rootDir, removal),
  };
  try {
    await cp(bundledDir, workspaceDir, { recursive: true });
  } catch (error) {
    await sample.remove();
    throw error;
  }
  return sample;
}

export const sampleQuestions: readonly string[] = [
  "What does error code QF-4093 mean?",
  "Which address is the printer pinned to?",
  "葱油拌面的葱要用小火熬多久？",
];
