import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { writeCorpus } from "../support/corpus.ts";
import { readVault, type VaultQuestion } from "../retrieval/vault.ts";
import { programNames } from "./programs.ts";
import type { InProcessFigures } from "./results.ts";

const searches = 100;
const timeoutMs = 60 * 60_000;

/** Questions with a right note, but for those that need to know which day it is: only this program gets it. */
export function isAnswerable({ evidence, now }: VaultQuestion): boolean {
  return evidence.length > 0 && now === undefined;
}

/** Every program that can be asked in a process, one after the other, each in one of its own. */
export async function measureInProcess(files: number): Promise<InProcessFigures> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-bench-in-process-"));
  try {
    writeCorpus(path.join(folder, "generated/memory"), files);
    const vault = readVault();
    for (const [file, text] of vault.notes) {
      const target = path.join(folder, "vault", file);
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, text);
    }
    const measured = programNames.map((name) => {
      console.error(`asking ${name} in its process …`);
      return runTask([name, folder, String(files), String(searches)], folder);
    });
    return { files, searches, questions: vault.questions.filter(isAnswerable).length, programs: measured };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runTask(args: readonly string[], home: string): InProcessFigures["programs"][number] {
  const task = path.join(import.meta.dirname, "in-process-task.ts");
  const run = spawnSync(process.execPath, ["--conditions=@memslot/source", task, ...args], {
    encoding: "utf8",
    timeout: timeoutMs,
    env: { PATH: process.env["PATH"], HOME: home, MEMSLOT_HOME: path.join(home, ".memslot") },
  });
  if (run.status !== 0)
    throw new Error(`${args[0]} ended with ${run.status ?? run.signal}: ${run.stderr.slice(-2000)}`);
  const [last = ""] = run.stdout.trim().split("\n").slice(-1);
  return JSON.parse(last) as InProcessFigures["programs"][number];
}
