import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { openSessions } from "@memslot/agent-kit";
import { startChild } from "@memslot/test-tools/child";
import { tempFolder } from "@memslot/test-tools/files";
import { randomFrom } from "@memslot/test-tools/random";
import { describe, expect, onTestFinished, test } from "vitest";
import { buildFileFaults, type FaultSettings, faultEnvironment, linesOf } from "../support/file-faults.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";

const folder = tempFolder();
const faults = buildFileFaults(folder);
const library = typeof faults === "string" ? "" : faults.library;
const unless = typeof faults === "string" ? ` (not run: ${faults})` : "";
const programs = new URL("../support/programs.ts", import.meta.url);
const key = "agent:main:main";
const count = 24;

interface Talk {
  stateDir: string;
  sessionsDir: string;
  /** What it told, as far as it came. */
  told: string[];
  ended: number | string;
}

async function talk(settings: Omit<FaultSettings, "below">): Promise<Talk> {
  const stateDir = mkdtempSync(path.join(folder, "state-"));
  const sessionsDir = path.join(stateDir, "agents/main/sessions");
  const env = faultEnvironment(library, { below: sessionsDir, ...settings });
  const child = startChild(programs, ["talk", stateDir, key, String(count)], { env });
  const ended = await child.ended;
  return { stateDir, sessionsDir, told: child.output().split("\n"), ended };
}

/** The ids of messages in the order of the file, and how many of its lines are broken. */
function idsIn(file: string): { ids: string[]; broken: number } {
  const ids: string[] = [];
  let broken = 0;
  for (const line of readFileSync(file, "utf8").split("\n").slice(0, -1)) {
    try {
      const { type, id } = JSON.parse(line) as { type: string; id: string };
      if (type === "message") ids.push(id);
    } catch {
      if (line !== "") broken++;
    }
  }
  return { ids, broken };
}

/** What was said to be safe is there once and in order, in the session that it was said in. */
async function expectSafe({ stateDir, sessionsDir, told }: Talk): Promise<string[]> {
  const notices: string[] = [];
  const sessions = await openSessions({ stateDir, agentId: "main", notify: (line) => notices.push(line) });
  onTestFinished(() => sessions.close());
  const session = await sessions.open(key);
  // The next process ends the last line.
  const transcripts = readdirSync(sessionsDir).filter((name) => name.endsWith(".jsonl"));
  const all = new Map(transcripts.map((name) => [name, idsIn(path.join(sessionsDir, name))]));
  for (const [name, { ids, broken }] of all) {
    expect(broken).toBeLessThanOrEqual(1);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(ids.toSorted((a, b) => Number(a.slice(1)) - Number(b.slice(1))));
    const said = told.flatMap((line) => (line.startsWith(`said ${name.slice(0, -6)} `) ? line.split(" ")[2] : []));
    expect(ids.slice(0, said.length)).toEqual(said);
    // A kill may leave one that was not reported.
    expect(ids.length - said.length).toBeLessThanOrEqual(1);
  }
  const current = all.get(path.basename(session.file))?.ids ?? [];
  expect(current.slice(current.length - session.recorded.length)).toEqual(session.recorded.map(({ id }) => id));
  expect(notices).toEqual([]);
  return [...all.values()].flatMap(({ ids }) => ids);
}

describe.skipIf(library === "")(`the transcript of a session${unless}`, { timeout: 240_000 }, () => {
  test(`is whole after a process that is killed before, in the middle of or after any change of a file (${seeded})`, async () => {
    const log = path.join(folder, "calls.log");
    writeFileSync(log, "");
    const whole = await talk({ log });
    expect(whole.ended).toBe(0);
    expect(await expectSafe(whole)).toHaveLength(count);
    const calls = linesOf(log).length;
    expect(calls).toBeGreaterThan(100);
    const points = stormSize(30);
    const random = randomFrom(stormSeed());
    let kills = 0;
    for (let point = 0; point < points; point++) {
      const how = random.pick(["kill-half", "kill-before", "kill-after"] as const);
      // The first changes one by one, then any of the others.
      const at = points > 12 && point < 12 ? point + 1 : 1 + random.below(Math.floor(calls * 0.95));
      const cut = await talk({ at, how });
      // How often the time of the last message is noted depends on the pace: there may be fewer changes in a run.
      if (cut.ended === "SIGKILL") kills++;
      else expect(cut.ended).toBe(0);
      await expectSafe(cut);
    }
    expect(kills).toBeGreaterThanOrEqual(Math.floor(points * 0.8));
  });

  test.each<[string, Omit<FaultSettings, "below">]>([
    ["whose first changes fail", { how: "ENOSPC", on: ["write", "create", "rename"], at: 2, times: 3 }],
    ["that is full for a while", { how: "ENOSPC", on: ["write"], at: 30, times: 4 }],
    ["that does not say whether it has what was written", { how: "EIO", on: ["sync"], at: 12, times: 5 }],
    ["that cannot be written for a while", { how: "EIO", on: ["write", "sync", "rename"], at: 40, times: 6 }],
  ])("has every message once on a disk %s", async (_what, settings) => {
    const log = path.join(folder, "faults.log");
    writeFileSync(log, "");
    const cut = await talk({ ...settings, log });
    expect(cut.told.filter((line) => line.startsWith("failed")).length).toBeGreaterThan(0);
    expect(new Set(cut.told.filter((line) => line.startsWith("failed")))).toEqual(new Set(["failed UNAVAILABLE"]));
    expect([cut.ended, cut.told.includes("closed")]).toEqual([0, true]);
    expect(await expectSafe(cut)).toHaveLength(count);
  });
});
