import { type FlushTurn, runToolCall } from "@memslot/agent-kit";
import type { Fact } from "./flush-talk.ts";

type Turn = Parameters<FlushTurn>[0];

/** A model that keeps notes in its own way. Each call makes one that knows nothing yet. */
export type FlushModel = (facts: readonly Fact[]) => FlushTurn;

/** Facts in what the model was given, a piece of a message included. */
function factsIn({ messages }: Turn, facts: readonly Fact[]): Fact[] {
  const text = messages.map((message) => message.text).join("\n");
  return facts.filter(({ mark }) => text.includes(mark));
}

async function call({ tools, signal }: Turn, name: string, text: string): Promise<void> {
  await runToolCall(tools, { name, arguments: text }, { signal });
}

async function note(turn: Turn, text: string): Promise<void> {
  await call(turn, "memory_append", JSON.stringify({ text, kind: "daily" }));
}

async function noteAll(turn: Turn, facts: readonly Fact[], wording: number): Promise<void> {
  for (const { notes } of facts) await note(turn, notes[wording % notes.length] ?? "");
}

const down = (): never => {
  throw new Error("503 the model is down");
};

/** Twelve models, as they are met: what they do with a flush turn, by what they do. */
export const flushModels: Readonly<Record<string, FlushModel>> = {
  "obeys well": (facts) => async (turn) => {
    await noteAll(turn, factsIn(turn, facts), 0);
    return "NO_REPLY";
  },
  "always NO_REPLY": () => async () => "NO_REPLY",
  "one useless note": () => async (turn) => {
    await note(turn, "The user talked about several things.");
    return "NO_REPLY";
  },
  "prose in place of tools": (facts) => async (turn) =>
    `I have noted:\n${factsIn(turn, facts)
      .map(({ said }) => `- ${said}`)
      .join("\n")}`,
  "broken memory_append, then NO_REPLY": (facts) => async (turn) => {
    for (const { notes } of factsIn(turn, facts))
      await call(turn, "memory_append", JSON.stringify({ text: notes[0], kind: "daily" }).slice(0, -9));
    return "NO_REPLY";
  },
  refuses: () => async () => "I'm sorry, but I can't help with that.",
  "unknown tool": (facts) => async (turn) => {
    for (const { notes } of factsIn(turn, facts)) await call(turn, "save_memory", JSON.stringify({ fact: notes[0] }));
    return "NO_REPLY";
  },
  "writes, then fails": (facts) => async (turn) => {
    await noteAll(turn, factsIn(turn, facts), 0);
    return down();
  },
  "words it anew at each try, and fails": (facts) => {
    let tries = 0;
    return async (turn) => {
      await noteAll(turn, factsIn(turn, facts), tries++);
      return down();
    };
  },
  "writes 200 notes": (facts) => async (turn) => {
    const own = factsIn(turn, facts);
    for (let index = 0; index < 200 - own.length; index++) {
      await note(turn, `Remark ${index} on what was said, of no use to anybody.`);
      if (index % 6 === 5) await noteAll(turn, own.slice(Math.floor(index / 6), Math.floor(index / 6) + 1), 0);
    }
    return "NO_REPLY";
  },
  "empty and cut answers": () => {
    const answers = ["", "NO_REP", '{"name":"memory_app', "  \n"];
    let tries = 0;
    return async () => answers[tries++ % answers.length] ?? "";
  },
  "stops in the middle": (facts) => {
    let tries = 0;
    return async (turn) => {
      const own = factsIn(turn, facts);
      const half = own.slice(0, Math.ceil(own.length / 2));
      await noteAll(turn, half, tries++);
      // Until the time is over, or the host ends.
      return await new Promise<string>((_, reject) => {
        const stop = (): void => reject(new Error("stopped"));
        if (turn.signal.aborted) stop();
        turn.signal.addEventListener("abort", stop);
      });
    };
  },
};
