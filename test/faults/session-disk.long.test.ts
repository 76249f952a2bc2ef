import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import os from "node:os";
import path from "node:path";
import { openSessions } from "@memslot/agent-kit";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { buildFileFaults, type FaultSettings, faultEnvironment, linesOf } from "../support/file-faults.ts";

const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-talk-"));
const faults = buildFileFaults(folder);
const library = typeof faults === "string" ? "" : faults.library;
const unless = typeof faults === "string" ? ` (not run: ${faults})` : "";
const program = path.join(import.meta.dirname, "../support/talk-session.ts");
const compileCache = path.join(import.meta.dirname, "../../node_modules/.cache/compile");
const key = "agent:main:main";
const count = 24;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Talk {
  stateDir: string;
  sessionsDir: string;
  /** What it told, as far as it came. */
  told: string[];
  ended: number | string | null;
}

async function talk(settings: Omit<FaultSettings, "below">): Promise<Talk> {
  const stateDir = mkdtempSync(path.join(folder, "state-"));
  const sessionsDir = path.join(stateDir, "agents/main/sessions");
  const env = {
    NODE_COMPILE_CACHE: compileCache,
    ...process.env,
    ...faultEnvironment(library, { below: sessionsDir, ...settings }),
  };
  const args = ["--conditions=@memslot/source", "--no-warnings", program, stateDir, key, String(count)];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const closed = new Promise<number | string | null>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  const told = (await buffer(child.stdout)).toString("utf8").split("\n");
  return { stateDir, sessionsDir, told, ended: await closed };
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
  // Whoever goes on ends the last line.
  const transcripts = readdirSync(sessionsDir).filter((name) => name.endsWith(".jsonl"));
  const all = new Map(transcripts.map((name) => [name, idsIn(path.join(sessionsDir, name))]));
  for (const [name, { ids, broken }] of all) {
    expect(broken).toBeLessThanOrEqual(1);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(ids.toSorted((a, b) => Number(a.slice(1)) - Number(b.slice(1))));
    const said = told.flatMap((line) => (line.startsWith(`said ${name.slice(0, -6)} `) ? line.split(" ")[2] : []));
    expect(ids.slice(0, said.length)).toEqual(said);
    // Being killed may leave one that nobody was told of.
    expect(ids.length - said.length).toBeLessThanOrEqual(1);
  }
  const current = all.get(path.basename(session.file))?.ids ?? [];
  expect(current.slice(current.length - session.recorded.length)).toEqual(session.recorded.map(({ id }) => id));
  expect(notices).toEqual([]);
  return [...all.values()].flatMap(({ ids }) => ids);
}

describe.skipIf(library === "")(`the transcript of a session${unless}`, { timeout: 240_000 }, () => {
  test("is whole after a process that is killed before, in the middle of or after any change of a file", async () => {
    const log = path.join(folder, "calls.log");
    writeFileSync(log, "");
    const whole = await talk({ log });
    expect(whole.ended).toBe(0);
    expect(await expectSafe(whole)).toHaveLength(count);
    const calls = linesOf(log).length;
    expect(calls).toBeGreaterThan(100);
    const points = 30;
    let kills = 0;
    for (let point = 0; point < points; point++) {
      const how = (["kill-half", "kill-before", "kill-after"] as const)[point % 3] ?? "kill-half";
      // The first changes one by one, then the rest of them.
      const at = point < 12 ? point + 1 : 13 + Math.floor(((calls - 14) * (point - 12)) / (points - 12));
      const cut = await talk({ at, how });
      // How often the time of the last message is noted depends on the pace: there may be fewer changes in a run.
      if (cut.ended === "SIGKILL") kills++;
      else expect(cut.ended).toBe(0);
      await expectSafe(cut);
    }
    expect(kills).toBeGreaterThanOrEqual(25);
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
