import { existsSync, readFileSync } from "node:fs";
import { startChild } from "@memslot/test-tools/child";
import { tempFolder } from "@memslot/test-tools/files";
import { randomFrom } from "@memslot/test-tools/random";
import { expect, test, vi } from "vitest";
import { buildFileFaults, faultEnvironment } from "../support/file-faults.ts";
import { flushModels, runFlushStorm } from "../support/flush-storm.ts";
import { ask, useHouse } from "../support/temp-workspace.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";
import { buildSwapLoop, swapStorm } from "../support/swap-storm.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

const programs = new URL("../support/programs.ts", import.meta.url);
const ways = ["kill-before", "kill-half", "kill-after"] as const;
const written = "memory/2026-01-05.md";
const kills = stormSize(167);
const faults = buildFileFaults(tempFolder());

// Kills in a sync and in a rebuild: `kill-at-every-step.long.test.ts`.
test.skipIf(typeof faults === "string")(`${kills} kills in an append lose no note (${seeded})`, async () => {
  if (typeof faults === "string") return;
  const house = useHouse();
  const random = randomFrom(stormSeed());
  const reported: string[] = [];
  let killed = 0;
  for (let round = 0; killed < kills; round++) {
    const faulty = { below: house.notes, at: 1 + random.below(12), how: random.pick(ways) };
    const env = faultEnvironment(faults.library, faulty);
    const child = startChild(programs, ["write-notes", house.notes, `r${round}`, "6"], { env });
    if ((await child.ended) === "SIGKILL") killed++;
    reported.push(...(child.output().match(/^\w+n\d+$/gmu) ?? []));
    const note = existsSync(house.at(written)) ? readFileSync(house.at(written), "utf8") : "";
    // Each note that was reported as written is in the file once, from its beginning to its end.
    for (const word of reported) expect(note.split(`end of ${word}.`)).toHaveLength(2);
  }
  const last = reported.at(-1);
  const memory = await house.open();
  await memory.sync();
  if (last !== undefined) expect((await ask(memory, last)).paths).toContain(written);
});

const loop = buildSwapLoop(tempFolder());
const program = typeof loop === "string" ? "" : loop.program;

test.skipIf(program === "").each(["memory", "memory/deep"] as const)(
  `writes and reads while %s changes places with a link stay in the workspace (${seeded})`,
  async (swapped) => {
    const house = useHouse({ "memory/deep/a.md": "The puffin is small.\n", "memory/a.md": "Mine.\n" });
    const storm = { program, swapped, rounds: 16 * stormSize(300), seed: stormSeed() };
    expect(await swapStorm(house, await house.open(), storm)).toMatchObject({ leaked: 0, changed: [] });
  },
);

const conversations = stormSize(10);
const models = Object.keys(flushModels);
const first = randomFrom(stormSeed()).below(models.length);

test.each(models.map((_, index) => models[(first + index) % models.length] ?? "").slice(0, stormSize(models.length)))(
  `${conversations} conversations of thirty facts lose none, with a model that %s (${seeded})`,
  async (model) => {
    const from = conversations === 1 ? stormSeed() % 10 : 0;
    for (let conversation = from; conversation < from + conversations; conversation++) {
      const { dropped, lost, repeated } = await runFlushStorm(conversation, model, conversations === 1 ? 12 : 30);
      expect(dropped).toBeGreaterThan(0);
      expect({ lost, repeated }, `conversation ${conversation}`).toEqual({ lost: [], repeated: [] });
    }
  },
);
