import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { conversationTimes } from "@memslot/agent-kit";
import { expect, onTestFinished, test } from "vitest";

function stateFolder(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-times-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("says when each conversation began and was gone on with, and follows no link", async () => {
  const stateDir = stateFolder();
  const sessions = path.join(stateDir, "agents/main/sessions");
  mkdirSync(sessions, { recursive: true });
  const head = { type: "session", version: 3, id: "s-1", timestamp: "2026-03-05T09:00:00.000Z" };
  writeFileSync(path.join(sessions, "s-1.jsonl"), `${JSON.stringify(head)}\n`);
  const later = new Date("2026-03-06T10:00:00.000Z");
  utimesSync(path.join(sessions, "s-1.jsonl"), later, later);
  writeFileSync(path.join(sessions, "broken.jsonl"), "no json\n");
  utimesSync(path.join(sessions, "broken.jsonl"), later, later);
  writeFileSync(path.join(sessions, "notes.txt"), "no conversation\n");
  symlinkSync(path.join(sessions, "s-1.jsonl"), path.join(sessions, "link.jsonl"));
  const times = await conversationTimes({ stateDir, agentId: "main" });
  expect(times.sessionCount).toBe(2);
  expect(times.sessions).toContainEqual({
    path: "sessions/s-1.jsonl",
    sessionId: "s-1",
    from: "2026-03-05T09:00:00.000Z",
    to: "2026-03-06T10:00:00.000Z",
    bytes: JSON.stringify(head).length + 1,
  });
  // Its own time has to do.
  expect(times.sessions).toContainEqual(
    expect.objectContaining({ path: "sessions/broken.jsonl", from: later.toISOString() }),
  );
  expect([times.flushes, times.flushCount]).toEqual([[], 0]);
});

test("says of an agent without conversations that there are none", async () => {
  const times = await conversationTimes({ stateDir: stateFolder(), agentId: "main" });
  expect(times).toEqual({ sessions: [], sessionCount: 0, flushes: [], flushCount: 0 });
});

test("follows no link that stands in place of a folder", async () => {
  const [stateDir, elsewhere] = [stateFolder(), stateFolder()];
  writeFileSync(path.join(elsewhere, "private.jsonl"), "{}\n");
  mkdirSync(path.join(stateDir, "agents/main"), { recursive: true });
  symlinkSync(elsewhere, path.join(stateDir, "agents/main/sessions"));
  symlinkSync(elsewhere, path.join(stateDir, "agents/main/journal"));
  const times = await conversationTimes({ stateDir, agentId: "main" });
  expect(times).toEqual({ sessions: [], sessionCount: 0, flushes: [], flushCount: 0 });
});
