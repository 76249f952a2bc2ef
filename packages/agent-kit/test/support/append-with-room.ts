// Appends one note to logs that have room for fewer bytes than it needs, and for enough, one after the other, and prints
// as JSON what came of each. The room ends where a file may have `end` bytes; on a `full` disk that is so because
// nothing else is left of it.
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { appendNote } from "@memslot/agent-kit";

const [workspaceDir = "", end = "512", disk = "", text = "Größe ist 7 → 8."] = process.argv.slice(2);
const entry = `- 13:05 ${text}\n`;
const heading = "# 2026-11-22\n\n";
const log = path.join(workspaceDir, "memory/2026-11-22.md");
const filler = path.join(workspaceDir, "filler");
const outcomes: unknown[] = [];
for (let room = 0; room <= Buffer.byteLength(entry) + 2; room++) {
  const kept = `${heading}${"x".repeat(Number(end) - heading.length - 1 - room)}\n`;
  writeFileSync(log, kept);
  if (disk === "full") fillDisk();
  let error = "";
  try {
    await appendNote({ workspaceDir, text, kind: "daily", at: new Date("2026-11-22T13:05:00Z"), timeZone: "UTC" });
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
  }
  const now = readFileSync(log, "utf8");
  outcomes.push({
    room,
    needed: Buffer.byteLength(entry),
    error,
    holds: now === kept ? "none" : now === kept + entry ? "all" : now,
  });
  rmSync(filler, { force: true });
}
process.stdout.write(`${JSON.stringify(outcomes)}\n`);

function fillDisk(): void {
  for (let size = 1 << 20; size >= 1; size >>= 1)
    try {
      for (;;) {
        const before = statSync(filler, { throwIfNoEntry: false })?.size ?? 0;
        writeFileSync(filler, Buffer.alloc(size), { flag: "a" });
        if (statSync(filler).size === before) break;
      }
    } catch {
      // A smaller piece may still fit.
    }
}
