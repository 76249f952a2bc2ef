import { expect, test } from "vitest";
import { flushModels, runFlushStorm } from "../support/flush-storm.ts";

// `storms/notes.long.test.ts` has all models. Notes that cannot be written: packages/agent-kit/test/flush.
test.each(["obeys well", "one useless note", "writes, then fails", "stops in the middle"])(
  "with a model that %s, no fact of a conversation is lost or noted twice",
  async (model) => {
    expect(flushModels).toHaveProperty([model]);
    const facts = 12;
    const { dropped, inNotes, found, lost, repeated } = await runFlushStorm(0, model, facts);
    expect(dropped).toBeGreaterThan(facts / 2);
    expect({ lost, repeated }).toEqual({ lost: [], repeated: [] });
    expect(inNotes + found).toBe(dropped);
  },
);
