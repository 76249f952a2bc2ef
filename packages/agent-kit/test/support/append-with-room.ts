// Appends one note to logs that have room for fewer bytes than it needs, and for enough, one after the other, and prints
// each outcome as JSON. The limit of the process on the size of files is `end` bytes.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { appendNote } from "@memslot/agent-kit";

const [workspaceDir = "", end = "512"] = process.argv.slice(2);
const text = "Größe ist 7 → 8.";
const entry = `- 13:05 ${text}\n`;
const heading = "# 2026-11-22\n\n";
const log = path.join(workspaceDir, "memory/2026-11-22.md");
const needed = Buffer.byteLength(entry);
const outcomes: unknown[] = [];
for (let room = 0; room <= needed + 2; room++) {
  const kept = `${heading}${"x".repeat(Number(end) - heading.length - 1 - room)}\n`;
  writeFileSync(log, kept);
  let error = "";
  try {
    await appendNote({ workspaceDir, text, kind: "daily", at: new Date("2026-11-22T13:05:00Z"), timeZone: "UTC" });
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
  }
  const now = readFileSync(log, "utf8");
  outcomes.push({ room, needed, error, holds: now === kept ? "none" : now === kept + entry ? "all" : now });
}
process.stdout.write(`${JSON.stringify(outcomes)}\n`);
