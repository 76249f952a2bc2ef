import { messageOf } from "@memslot/core";
import { heatingQuestion } from "./notes-steps.ts";
import { type StateRecord, type Step, type Tour, flushTokens, windowTokens } from "./tour-context.ts";

const code = "7315";
const key = `For the record: the spare key of the allotment hangs behind the blue bench, in a box that opens with ${code}.`;
const keyQuestion = "Where does the spare key of the allotment hang?";
const pills = "For the record: grandmother's pill box is filled on Sundays before nine.";
const topics = ["tomatoes", "the water barrel", "the fence", "the compost", "seed potatoes", "the shed door"];
const waterLog = Array.from(
  { length: 200 },
  (_, day) => `Day ${day}: ${40_000 + day * 37} litres, no leak, pressure as before.`,
)
  .join("\n")
  .slice(0, 10_800 - 40);

/** A conversation that outgrows its model's window. */
export const conversationSteps: readonly Step[] = [
  {
    name: "The context fills up, and memory is saved before that",
    run: async (tour) => {
      tour.at("2026-03-10 19:30");
      await tour.openAgent();
      const flushes = tour.model.holdFlushes();
      await tour.ask(key);
      await fill(tour, flushTokens);
      tour.say(`The request has ${lastTokens(tour)} of ${windowTokens} tokens, and a flush starts at ${flushTokens}`);
      await flushes.begun;
      tour.check("the reply came while the flush was still running", (await notes(tour)).includes(code), false);
      flushes.release();
      await tour.settled();
      const entry = (await notes(tour)).split("\n").find((line) => line.includes(code));
      tour.check(`the flush has appended: ${entry}`, entry !== undefined, true);
      const all = `${await notes(tour)}${JSON.stringify(await tour.records("sessions"))}`;
      tour.check("its sentinel is in no note and in no message", all.includes("NO_REPLY"), false);
    },
  },
  {
    name: "Compaction, and and a recalled fact that was nowhere else",
    run: async (tour) => {
      const before = lastTokens(tour);
      tour.say(await tour.agent.compact(tour.signal));
      tour.at("2026-03-14 09:00");
      const first = tour.model.seen.length;
      const { text, sources } = await tour.ask(keyQuestion);
      const summary = (await tour.records("sessions")).findLast(({ type }) => type === "compaction")?.summary;
      const given = tour.model.seen.slice(first).find(({ kind }) => kind === "reply");
      tour.say(`From ${before} to ${given?.tokens} tokens. The summary: "${summary}"`);
      tour.check("the context is smaller", (given?.tokens ?? before) < before, true);
      tour.check("the fact is neither in it nor in the summary", `${summary}${given?.text}`.includes(code), false);
      tour.say(`"${keyQuestion}" → ${text}`);
      tour.holds("it is recalled from what the flush wrote", text, code);
      tour.holds("with its source", await tour.cited(sources[0]), code);
      tour.check("in the log of the day when it was said", sources[0]?.split("#")[0], "memory/2026-03-10.md");
    },
  },
  {
    name: "The window overflows in a single jump",
    run: async (tour) => {
      tour.at("2026-03-17 20:10");
      await tour.ask(pills);
      await fill(tour, flushTokens - 1_100);
      const [before, seen] = [await tour.records("sessions"), tour.model.seen.length];
      const flushes = tour.model.holdFlushes();
      await tour.ask(`The whole water log, to file away:\n${waterLog}`);
      const lines = await tour.records("sessions");
      const replies = lines.slice(before.length).filter(({ message }) => message?.role === "assistant");
      tour.check(`a message of ${waterLog.length} characters is answered, once`, replies.length, 1);
      const [, dropped = []] = droppedIn(lines);
      const held = journaled(await tour.records("flush")).filter((id) => dropped.includes(id));
      tour.say(
        `${dropped.length} messages were removed to make space. With the flush held, ${held.length} are in its journal`,
      );
      tour.check("every removed message is there", [held.length > 0, held.toSorted()], [true, dropped.toSorted()]);
      flushes.release();
      await tour.settled();
      const after = await tour.records("flush");
      const done = after.flatMap(({ ids = [] }) => ids).filter((id) => dropped.includes(id));
      const left = journaled(after).length;
      tour.say(`Then the flush ran: ${done.length} of ${dropped.length} processed, ${left} left in the journal`);
      tour.check("each was processed", [done.length, left], [dropped.length, 0]);
      const given = tour.model.seen.slice(seen).some(({ kind, text }) => kind === "flush" && text.includes(pills));
      tour.check("the model has read them in a flush turn", given, true);
      tour.holds("and their fact is in the notes", await notes(tour), "filled on Sundays before nine");
    },
  },
  {
    name: "Another backend in mid-conversation",
    run: async (tour) => {
      const before = await tour.ask(heatingQuestion);
      tour.say(`${tour.memory.status().backend}: ${before.text}`);
      // The water log goes too, so that the rest of the month fits.
      await tour.agent.compact(tour.signal);
      await tour.openMemory({ provider: "openai", slot: "memory-lancedb" }).catch(async (error: unknown) => {
        tour.signal.throwIfAborted();
        tour.say(
          `memory-lancedb is not available here (${messageOf(error)}): memory-core with keyword search only instead`,
        );
        await tour.openMemory({ provider: "none" });
      });
      const after = await tour.ask(heatingQuestion);
      tour.say(`${tour.memory.status().backend}: ${after.text}`);
      tour.check("the same answer from the same lines", after, before);
      tour.holds("and the right one", await tour.cited(after.sources[0]), "E-4471");
    },
  },
];

async function fill(tour: Tour, tokens: number): Promise<void> {
  for (let turn = 0; lastTokens(tour) < tokens && turn < 40; turn += 1)
    await tour.ask(`Let us talk about ${topics[turn % topics.length]} for a while.`);
}

function lastTokens(tour: Tour): number {
  return tour.model.seen.findLast(({ kind }) => kind === "reply")?.tokens ?? 0;
}

async function notes(tour: Tour): Promise<string> {
  return [...(await tour.notes()).values()].join("\n");
}

/** Ids of the messages that each compaction dropped. */
function droppedIn(lines: readonly StateRecord[]): string[][] {
  const ids = lines.filter(({ type }) => type === "message").map(({ id = "" }) => id);
  const ends = lines
    .filter(({ type }) => type === "compaction")
    .map((line) => ids.indexOf(line.firstKeptEntryId ?? ""));
  return ends.map((end, index) => ids.slice(ends[index - 1] ?? 0, end));
}

function journaled(records: readonly StateRecord[]): string[] {
  return records.flatMap(({ messages = [] }) => messages.map(({ id }) => id));
}
