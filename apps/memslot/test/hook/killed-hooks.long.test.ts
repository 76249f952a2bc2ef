import { appendFile, readdir } from "node:fs/promises";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { createNotes, journalOf, logsOf, sendTo, spawnHook } from "./run-hook.ts";

vi.setConfig({ testTimeout: 600_000 });

const kills = 200;
const atATime = 4;

/** The same sequence each time, so that a failure is reproducible. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

test(`${kills} kills in the middle of hooks lose nothing that was said, and nothing is noted twice`, async () => {
  const sandbox = await createNotes();
  const next = random(20_260_501);
  const sessions = Array.from({ length: atATime }, (_, index) => ({
    session_id: `session-${index}`,
    transcript_path: path.join(sandbox.cwd, `t${index}.jsonl`),
    cwd: "/home/ada/app",
  }));
  const facts: string[] = [];
  let [ended, killed] = [0, 0];
  // From the start of the program to after its end. Nothing is killed in the first two rounds: the first one also fills the
  // cache of compiled code and takes longer than all others.
  let wholeMs = 0;
  const unkilledRounds = 2;
  // So many rounds are needed only where nearly all of them end before their time.
  for (let round = 0; round < kills; round++) {
    if (killed >= kills) break;
    const startedMs = performance.now();
    await Promise.all(
      sessions.map(async (session, index) => {
        const fact = `Fact number ${round}x${index} holds.`;
        facts.push(fact);
        const line = { type: "user", uuid: fact, timestamp: "2026-05-01T08:00:00Z", message: { content: fact } };
        await appendFile(session.transcript_path, `${JSON.stringify(line)}\n`);
        // A compaction writes into the log and takes entries away: that is where most can go wrong.
        const name = next() < 0.3 ? "Stop" : "PreCompact";
        const input = { ...session, hook_event_name: name, trigger: "auto", turn_id: fact };
        const killAfterMs = round < unkilledRounds ? undefined : 50 + next() * 1.2 * wholeMs;
        const { exitCode } = await spawnHook(sandbox, "claude-code", input, { killAfterMs });
        if (exitCode === 0) ended++;
        else killed++;
      }),
    );
    if (round < unkilledRounds) wholeMs = performance.now() - startedMs;
  }
  // Some were killed and some were not, or nothing was tried.
  expect(ended).toBeGreaterThan(0);
  expect(killed).toBeGreaterThanOrEqual(kills);
  for (const session of sessions)
    expect(
      await sendTo(sandbox, "claude-code", { ...session, hook_event_name: "PreCompact", turn_id: "last" }),
    ).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "",
    });
  const logs = await logsOf(sandbox);
  const journal = await journalOf(sandbox);
  expect(facts.filter((fact) => !journal.includes(fact))).toEqual([]);
  expect(facts.filter((fact) => logs.split(fact).length !== 2)).toEqual([]);
  // Drafts of files that were never put in place are cleared away when they are old.
  const left = await readdir(path.join(sandbox.stateDir, "agents/main/flush"));
  expect(left.filter((name) => !name.endsWith(".tmp"))).toEqual([]);
});
