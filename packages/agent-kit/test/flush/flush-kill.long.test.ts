import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import { runProgram } from "../support/run-program.ts";

const points = 30;

/** Runs the conversation, and kills it after so many lines. Returns its lines. */
async function talk(place: { notes: string; state: string }, turns: number, killAfter = Infinity) {
  const program = runProgram("flush/support/flush-process.ts", [place.notes, place.state, turns], {
    onLine: (_, { lines, kill }) => void (lines.length >= killAfter && kill()),
  });
  return (await program.ended).lines;
}

/** What the notes say the user said, each as often as it stands there. */
function noted(notes: string): string[] {
  const folder = path.join(notes, "memory");
  if (!existsSync(folder)) return [];
  const text = readdirSync(folder)
    .map((name) => readFileSync(path.join(folder, name), "utf8"))
    .join("");
  return [...text.matchAll(/The user said ([\w-]+)\./g)].map(([, id = ""]) => id);
}

function journaled(state: string): string[] {
  const folder = path.join(state, "agents/main/flush");
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(".json") && !name.endsWith(".done.json"));
  return names.flatMap((name) => {
    const entry = JSON.parse(readFileSync(path.join(folder, name), "utf8")) as { messages: { id: string }[] };
    return entry.messages.map(({ id }) => id);
  });
}

/** Ids of the messages that searches find, each as often as it stands there. */
function kept(state: string): string[] {
  const folder = path.join(state, "agents/main/journal");
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  return names.flatMap((name) => {
    const [, ...lines] = readFileSync(path.join(folder, name), "utf8").trim().split("\n");
    return lines.map((line) => (JSON.parse(line) as { id: string }).id);
  });
}

test(`a process that is killed at ${points} points loses no message that it was let drop, and notes none twice`, async () => {
  const folder = tempFolder();
  const place = { notes: path.join(folder, "notes"), state: path.join(folder, "state") };
  mkdirSync(place.notes);
  const dropped: string[] = [];
  for (let point = 1; point <= points; point++) {
    const lines = await talk(place, 8, 1 + ((point * 7) % 19));
    expect(lines).not.toContain("closed");
    dropped.push(...lines.flatMap((line) => (line.startsWith("dropped ") ? line.split(" ").slice(1) : [])));
    const there = noted(place.notes);
    expect(there.toSorted()).toEqual([...new Set(there)].toSorted());
    const safe = new Set([...there, ...journaled(place.state)]);
    expect(dropped.filter((id) => id.endsWith("-u") && !safe.has(id))).toEqual([]);
    const findable = kept(place.state);
    expect(findable.toSorted()).toEqual([...new Set(findable)].toSorted());
    expect(dropped.filter((id) => !findable.includes(id))).toEqual([]);
  }
  expect(dropped.length).toBeGreaterThan(points);

  // The last one is let finish what all of them have left.
  expect((await talk(place, 0)).at(-1)).toBe("closed");
  expect((await talk(place, 0)).at(-1)).toBe("closed");
  const there = noted(place.notes);
  expect(there.toSorted()).toEqual([...new Set(there)].toSorted());
  expect(dropped.filter((id) => id.endsWith("-u") && !there.includes(id))).toEqual([]);
  expect(journaled(place.state)).toEqual([]);
}, 600_000);
