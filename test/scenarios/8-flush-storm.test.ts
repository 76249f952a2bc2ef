import { expect, test } from "vitest";
import { flushModels } from "../support/flush-models.ts";
import { runFlushStorm } from "../support/flush-storm.ts";

/** `test/long/flush-storm.long.test.ts` has ten conversations of thirty. */
const facts = 12;

test.each(Object.keys(flushModels))(
  "with a model that %s, no fact of a conversation is lost or noted twice",
  async (model) => {
    const { dropped, inNotes, found, lost, repeated } = await runFlushStorm(0, model, facts);
    expect(dropped).toBeGreaterThan(facts / 2);
    expect({ lost, repeated }).toEqual({ lost: [], repeated: [] });
    expect(inNotes + found).toBe(dropped);
  },
);
