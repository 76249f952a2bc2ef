import { expect, test } from "vitest";
import { flushModels } from "../support/flush-models.ts";
import { runFlushStorm } from "../support/flush-storm.ts";

/** `test/long/flush-storm.long.test.ts` has ten conversations of thirty, and with the model that takes longest. */
const facts = 12;
const models = Object.keys(flushModels).filter((model) => model !== "writes 200 notes");

test.each(models)("with a model that %s, no fact of a conversation is lost or noted twice", async (model) => {
  const { dropped, inNotes, found, lost, repeated } = await runFlushStorm(0, model, facts);
  expect(dropped).toBeGreaterThan(facts / 2);
  expect({ lost, repeated }).toEqual({ lost: [], repeated: [] });
  expect(inNotes + found).toBe(dropped);
});
