import { randomFrom } from "@memslot/test-tools/random";
import { expect, test, vi } from "vitest";
import { flushModels, runFlushStorm } from "../support/flush-storm.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

const random = randomFrom(stormSeed());
const conversations = stormSize(10);
const models = Object.keys(flushModels);
const first = random.below(models.length);

test.each(models.map((_, index) => models[(first + index) % models.length] ?? "").slice(0, stormSize(models.length)))(
  `${conversations} conversations of thirty facts lose none, with a model that %s (${seeded})`,
  async (model) => {
    const counts = { dropped: 0, inNotes: 0, found: 0, lost: 0, repeated: 0 };
    const states = new Set<string>();
    const from = conversations === 1 ? stormSeed() % 10 : 0;
    for (let conversation = from; conversation < from + conversations; conversation++) {
      const each = await runFlushStorm(conversation, model, conversations === 1 ? 12 : 30);
      counts.dropped += each.dropped;
      counts.inNotes += each.inNotes;
      counts.found += each.found;
      counts.lost += each.lost.length;
      counts.repeated += each.repeated.length;
      for (const state of each.states) states.add(state);
    }
    process.stdout.write(`flush storm, ${model}: ${JSON.stringify(counts)}, reported as ${[...states].join(", ")}\n`);
    expect(counts.dropped).toBeGreaterThan(0);
    expect(counts).toMatchObject({ lost: 0, repeated: 0 });
  },
);
