import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openSessions } from "@memslot/agent-kit";
import { tempFolder } from "@memslot/test-tools/files";
import { runProgram } from "../support/run-program.ts";
import { key, listIn } from "./support/sessions.ts";

/** When a process is killed: so many things after it began, and as many milliseconds after that. */
const points = Array.from({ length: 30 }, (_, point) => ({
  marks: 1 + ((point * 7) % 31),
  afterMs: (point % 5) * 0.7,
}));

test("a process that is killed at thirty points loses and doubles no message that it said was safe", async () => {
  const stateDir = tempFolder();
  const safe = new Set<string>();
  let next = 0;
  let id: string | undefined;
  let compactions = 0;
  for (const { marks, afterMs } of points) {
    const talk = runProgram("session/support/talk.ts", [stateDir, key, next]);
    await talk.next(() => talk.lines.length > marks);
    if (afterMs > 0) await sleep(afterMs);
    await talk.kill();
    expect(talk.lines.length, "it ran until it was killed").toBeGreaterThan(marks);
    for (const line of talk.lines) {
      const [what, which = ""] = line.split(" ");
      if (what === "said") safe.add(which);
      if (what === "compacted") compactions++;
    }

    // Nobody tidies up: the process is gone, and the next one goes on.
    const sessions = await openSessions({ stateDir, agentId: "main" });
    const session = await sessions.open(key);
    expect(session.id).toBe((id ??= session.id));
    const lines = readFileSync(session.file, "utf8").split("\n");
    expect(lines.pop()).toBe("");
    const records = lines.flatMap((line) => parsed(line) ?? []);
    const said = records.filter(({ type }) => type === "message").map((record) => record.id);
    expect(new Set(said).size).toBe(said.length);
    expect(said, "in the order in which they were said, with no gap").toEqual(said.map((_, index) => `m${index}`));
    expect([...safe].filter((which) => !said.includes(which))).toEqual([]);
    // What the process wrote and had no time to tell stays as well.
    for (const which of said) safe.add(which);
    expect(lines.length - records.length).toBe(session.facts.brokenLines);

    const inFile = records.filter(({ type }) => type === "compaction");
    expect(inFile.length).toBeGreaterThanOrEqual(compactions);
    compactions = inFile.length;
    expect(session.facts.compactionCount).toBe(compactions);
    expect(session.facts.memoryFlushCompactionCount ?? 0).toBeLessThanOrEqual(compactions);
    const first = inFile.at(-1)?.firstKeptEntryId ?? "m0";
    expect(session.recorded.map((message) => message.id)).toEqual(said.slice(said.indexOf(first)));
    // The turn that was cut off is said again by whoever goes on, from its first message.
    next = said.length - (said.length % 4);
    await sessions.close();
    expect(listIn(stateDir)).toMatchObject({ [key]: { sessionId: id, compactionCount: compactions } });
  }
  expect(compactions).toBeGreaterThan(5);
}, 400_000);

interface Record {
  type: string;
  id: string;
  firstKeptEntryId?: string;
}

function parsed(line: string): Record | undefined {
  try {
    return JSON.parse(line) as Record;
  } catch {
    return undefined;
  }
}
