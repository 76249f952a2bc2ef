import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync, writeSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { slugOf } from "@memslot/fakes/clients";
import { afterEach, beforeEach, expect, test } from "vitest";

const program = path.join(import.meta.dirname, "../support/index-history.ts");
/** Megabytes of transcripts, as they are: nearly all of it is what tools gave. */
const megabytes = Number(process.env["MEMSLOT_TEST_HISTORY_MB"] ?? 300);
const perFile = 20;
/** A heap in which a file of them would not fit twice, and all of them never. */
const heapMB = 96;

let home = "";

beforeEach(() => {
  home = realpathSync.native(mkdtempSync(path.join(os.tmpdir(), "memslot-history-")));
  mkdirSync(path.join(home, "notes/memory"), { recursive: true });
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

function makeHistory(cwd: string): number {
  const folder = path.join(home, ".claude/projects", slugOf(cwd));
  mkdirSync(folder, { recursive: true });
  mkdirSync(path.join(cwd, ".git"), { recursive: true });
  const files = Math.ceil(megabytes / perFile);
  const noise = "0123456789abcdef listing ".repeat(4_000);
  for (let file = 0; file < files; file++) {
    const descriptor = openSync(path.join(folder, `session-${file}.jsonl`), "w");
    for (let turn = 0, bytes = 0; bytes < perFile * 1_000_000; turn++) {
      const base = { sessionId: `s${file}`, cwd, timestamp: "2026-11-20T10:00:00.000Z" };
      const lines = [
        {
          ...base,
          type: "user",
          message: { role: "user", content: `Question ${turn} of session ${file} about okapi${file}x${turn}` },
        },
        {
          ...base,
          type: "user",
          message: { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: noise }] },
        },
        {
          ...base,
          type: "assistant",
          message: { role: "assistant", content: [{ type: "text", text: `Answer ${turn} of session ${file}.` }] },
        },
      ];
      bytes += writeSync(descriptor, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    }
    closeSync(descriptor);
  }
  return files;
}

test(
  `${megabytes} MB of transcripts are indexed in a heap of ${heapMB} MB, and say how far it is`,
  { timeout: 900_000 },
  () => {
    const cwd = path.join(home, "work/app");
    const files = makeHistory(cwd);
    const args = ["--conditions=@memslot/source", `--max-old-space-size=${heapMB}`, program];
    const said = execFileSync(process.execPath, [...args, home, path.join(home, "state"), cwd, "okapi3x7"], {
      encoding: "utf8",
      env: { ...process.env, NODE_V8_COVERAGE: undefined },
    });
    const { added, failed, steps, total, found, peakMB, seconds } = JSON.parse(said) as Record<string, number> & {
      found: string[];
    };
    process.stdout.write(`history: ${JSON.stringify({ megabytes, files, peakMB, seconds })}\n`);
    expect({ added, failed, total }).toEqual({ added: files, failed: [], total: files });
    expect(steps).toBeGreaterThanOrEqual(files);
    expect(found[0]).toContain("okapi3x7");
  },
);
