import { expect, test, vi } from "vitest";
import { flushModels } from "../support/flush-models.ts";
import { runFlushStorm } from "../support/flush-storm.ts";
import { stormSize } from "../support/storm-size.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

const conversations = stormSize(10);

test.each(Object.keys(flushModels))(
  `${conversations} conversations of thirty facts, with a model that %s`,
  async (model) => {
    const counts = { dropped: 0, inNotes: 0, found: 0, lost: 0, repeated: 0 };
    const states = new Set<string>();
    for (let conversation = 0; conversation < conversations; conversation++) {
      const each = await runFlushStorm(conversation, model);
      counts.dropped += each.dropped;
      counts.inNotes += each.inNotes;
      counts.found += each.found;
      counts.lost += each.lost.length;
      counts.repeated += each.repeated.length;
      for (const state of each.states) states.add(state);
    }
    process.stdout.write(`flush storm, ${model}: ${JSON.stringify(counts)}, reported as ${[...states].join(", ")}\n`);
    expect(counts).toMatchObject({ lost: 0, repeated: 0 });
  },
);
