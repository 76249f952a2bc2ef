import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, expect, test } from "vitest";
import { type FlushTurn, runToolCall } from "@memslot/agent-kit";
import facts from "../data/facts.json" with { type: "json" };
import {
  type FlushHouse,
  down,
  entryOf,
  inTurn,
  talk,
  user,
  useFlushHouse,
  watching,
  retry,
} from "./support/flush-house.ts";

let house: FlushHouse;
beforeEach(() => void (house = useFlushHouse()));

/** A model that writes these, each in a call of its own, and keeps the answers. */
function writing(texts: readonly string[], end: FlushTurn = async () => "NO_REPLY", kind = "daily"): Writer {
  const answers: Record<string, unknown>[] = [];
  return Object.assign(
    async (turn: Parameters<FlushTurn>[0]) => {
      for (const text of texts) {
        const call = { name: "memory_append", arguments: JSON.stringify({ text, kind }) };
        answers.push({ ...(await runToolCall(turn.tools, call, { signal: turn.signal })) });
      }
      return await end(turn);
    },
    { answers },
  );
}

type Writer = FlushTurn & { readonly answers: Record<string, unknown>[] };

const first = ["The user's boat is called Heron.", "The mooring fee is 1,250 euros a year, due on 2026-05-14."];
const anew = ["Boat name: Heron", "Due on 2026-05-14: the year's mooring fee, 1,250 euros."];
const messages = [...talk, user("u2", "The mooring fee is 1,250 euros a year, due 2026-05-14.")];

function notedLines(): string[] {
  return house
    .notes()
    .split("\n")
    .filter((line) => line.startsWith("- "));
}

test("what a failed try has written is named to the next one, and is not written anew in other words", async () => {
  const again = writing([...anew, "The boat has a red hull."]);
  const runTurn = inTurn(writing(first, down), again);
  const { report } = await house.drop(messages, { runTurn });
  expect(report).toMatchObject({ state: "done", tries: 2 });
  expect(notedLines()).toEqual([...first, "The boat has a red hull."].map((text) => `- 11:00 ${text}`));
  for (const text of first) expect(runTurn.given[1]?.prompt).toContain(`\n- ${text}`);
  expect(runTurn.given[1]?.prompt).toContain("503 the model is down");
  expect(again.answers).toMatchObject([
    {
      status: "ok",
      state: "duplicate",
      citation: "memory/2026-03-05.md#L3-L3",
      note: expect.stringContaining(`"${first[0]}"`),
    },
    { status: "ok", state: "duplicate", citation: "memory/2026-03-05.md#L4-L4" },
    { status: "ok", state: "appended" },
  ]);
});

test("nor by a later process, nor after any number of rounds, and a digest leaves it out", async () => {
  for (const [round, texts] of [first, anew, [...anew].toReversed(), first].entries()) {
    const runTurn = writing(texts, down);
    if (round === 0) await (await house.drop(messages, { runTurn })).flush.close();
    else await house.workOff(runTurn);
  }
  expect(house.reports.map(({ state }) => state)).toEqual(["failed", "failed", "digested", "failed"]);
  expect(house.notes().match(/Heron/g)).toHaveLength(1);
  expect(house.notes().match(/1,250/g)).toHaveLength(1);
  expect(entryOf(house)).toMatchObject({ messages });
});

test("a process that ends between the word of a note and the note leaves one that can still be written", async () => {
  const { flush: before } = await house.drop(messages, { runTurn: writing(["The boat has a red hull."], down) });
  await before.close();
  const [name = ""] = house.journal();
  const entry = entryOf(house);
  const notes = [...(entry["notes"] as object[]), { text: first[0], kind: "daily", day: "2026-03-05" }];
  writeFileSync(path.join(house.journalDir, name), JSON.stringify({ ...entry, notes }));
  const after = await house.open({ runTurn: writing([anew[0] ?? "", "Red is the hull of the boat."]) });
  expect(await retry(after)).toMatchObject({ state: "done" });
  expect(notedLines()).toEqual(["- 11:00 The boat has a red hull.", `- 11:00 ${anew[0]}`]);
});

test("the word of a note is on disk before the note is", async () => {
  const seen: unknown[] = [];
  const flush = await house.open({
    runTurn: async (turn) => {
      await writing([first[0] ?? ""])(turn);
      seen.push(entryOf(house)["notes"]);
      return "NO_REPLY";
    },
  });
  await flush.beforeDrop(messages);
  await flush.settled();
  expect(seen).toEqual([[{ text: first[0], kind: "daily", day: "2026-03-05" }]]);
});

test("what somebody has taken out of the notes may be written again", async () => {
  const { flush: before } = await house.drop(messages, { runTurn: writing([first[0] ?? ""], down) });
  await before.close();
  writeFileSync(path.join(house.workspaceDir, "memory/2026-03-05.md"), "# 2026-03-05\n");
  const after = await house.open({ runTurn: writing([anew[0] ?? ""]) });
  await retry(after);
  expect(readFileSync(path.join(house.workspaceDir, "memory/2026-03-05.md"), "utf8")).toContain(anew[0]);
});

test("another day and another kind of note are other places, and other facts are other notes", async () => {
  const [fact = ""] = first;
  const runTurn = watching(async (turn) => {
    await writing([fact, "The user's boat is called Osprey."])(turn);
    return await writing([fact], undefined, "longterm")(turn);
  });
  const { report } = await house.drop([...talk, user("u3", "Heron again.", "2026-03-06T10:00:00.000Z")], { runTurn });
  expect(report).toMatchObject({ state: "done" });
  expect(house.note("2026-03-05").match(/Heron|Osprey/g)).toEqual(["Heron", "Osprey"]);
  expect(house.note("2026-03-06").match(/Heron|Osprey/g)).toEqual(["Heron", "Osprey"]);
  expect(readFileSync(path.join(house.workspaceDir, "MEMORY.md"), "utf8").match(/Heron/g)).toHaveLength(1);
});

test("a model that comes after a digest does not say the same once more", async () => {
  const { flush: without, report } = await house.drop(messages, { runTurn: undefined });
  expect(report).toMatchObject({ state: "digested" });
  await without.close();
  const model = writing(["The boat is called Heron.", "Heron has a red hull."]);
  expect(await house.workOff(model)).toMatchObject({ state: "done" });
  expect(model.answers).toMatchObject([{ state: "duplicate" }, { state: "appended" }]);
  expect(house.notes().match(/is called Heron/g)).toHaveLength(1);
});

test.each([
  ...facts.same.map(([line = "", text = ""]) => [line, text, "duplicate"]),
  ...facts.other.map(([line = "", text = ""]) => [line, text, "appended"]),
])("after %j, the note %j is %s", async (line = "", text = "", state) => {
  const again = writing([text]);
  await house.drop(talk, { runTurn: inTurn(writing([line], down), again) });
  expect(again.answers).toMatchObject([{ state }]);
});

test("a digest leaves out messages that the notes say already, and no others", async () => {
  const said = facts.retold;
  const noted = ["The user's sister Anna has her birthday on 14 May.", "用户的预算是 18500 元。"];
  const flush = await house.open({ runTurn: inTurn(writing(noted, down), down) });
  await flush.beforeDrop(said.map((text, index) => user(`u${index}`, text)));
  flush.retry();
  expect(await retry(flush)).toMatchObject({ state: "digested" });
  const [, digest = ""] = house.notes().split("Digest of dropped messages");
  expect(said.filter((text) => digest.includes(text))).toEqual(said.slice(2));
});
