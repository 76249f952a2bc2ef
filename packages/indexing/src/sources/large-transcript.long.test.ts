import { execFile } from "node:child_process";
import { appendFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { tempFolder } from "@memslot/test-tools/files";
import { said, toolResult } from "./test/transcripts.ts";

const script = path.join(import.meta.dirname, "test/read-large.ts");
const megabyte = 1024 * 1024;
const timeoutMs = 300_000;

interface Cost {
  chunks: number;
  readings: number;
  grownBytes: number;
  elapsedMs: number;
  p99Ms: number;
  maxMs: number;
}

/** Reads a transcript in a process of its own. `part` is written until the file has that many bytes. */
async function costOf(bytes: number, part: string): Promise<Cost> {
  const stateDir = tempFolder();
  const folder = path.join(stateDir, "agents/main/sessions");
  mkdirSync(folder, { recursive: true });
  for (let written = 0; written < bytes; written += part.length) appendFileSync(path.join(folder, "one.jsonl"), part);
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--conditions=@memslot/source",
    script,
    stateDir,
    "main",
  ]);
  if (process.env["SHOW_COST"]) process.stderr.write(stdout);
  return JSON.parse(stdout);
}

test(
  "a transcript of 60 MB of talk costs far less memory than it has bytes, in bounded readings",
  { timeout: timeoutMs },
  async () => {
    const talk = Array.from({ length: 200 }, (_, index) =>
      said(
        index % 2 === 0 ? "user" : "assistant",
        `Part ${index}: ${"we decided to keep the small database. ".repeat(130)}`,
      ),
    );
    const cost = await costOf(60 * megabyte, `${talk.join("\n")}\n`);
    expect(cost.readings).toBeGreaterThanOrEqual(28);
    expect(cost.chunks).toBeGreaterThan(20_000);
    expect(cost.grownBytes).toBeLessThan(150 * megabyte);
  },
);

test("neither do 60 MB of tool noise, nor one line of 50 MB", { timeout: timeoutMs }, async () => {
  const noise = await costOf(60 * megabyte, `${said("user", "a question")}\n${toolResult(megabyte / 2)}\n`);
  expect(noise.chunks).toBeGreaterThan(100);
  expect(noise.grownBytes).toBeLessThan(150 * megabyte);

  const line = await costOf(50 * megabyte, `${said("user", "before")}\n${said("user", "y".repeat(50 * megabyte))}\n`);
  expect(line.chunks).toBe(1);
  expect(line.grownBytes).toBeLessThan(100 * megabyte);
});
