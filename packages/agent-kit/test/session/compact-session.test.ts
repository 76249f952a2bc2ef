import { MemoryError } from "@memslot/core";
import { describe, expect, test, vi } from "vitest";
import {
  compactSession,
  type CompactSessionOptions,
  type ConversationMessage,
  handedOver,
  type NewMessage,
  type Session,
  type Summarize,
} from "@memslot/agent-kit";
import data from "../data/contexts.json" with { type: "json" };
import { assistant, linesOf, openSession, user } from "./support/sessions.ts";

const call = (id: string, fact = id) => ({ id, name: "memory_append", arguments: `{"text":"fact ${fact}"}` });

const turn = (number: number, words = 20): NewMessage[] => [
  user(`question ${number} ${"word ".repeat(words)}`, `q${number}`),
  { ...assistant("", `c${number}`), toolCalls: [call("call", String(number))] },
  { role: "tool", id: `r${number}`, toolCallId: "call", toolName: "memory_append", text: "ok" },
  assistant(`Answer ${number}. More of it.`, `a${number}`),
];

async function sessionWith(...messages: NewMessage[]): Promise<Session> {
  const session = await openSession();
  await session.append(...messages);
  return session;
}

const compact = (session: Session, options: Partial<CompactSessionOptions> = {}): ReturnType<typeof compactSession> =>
  compactSession({ session, keepTokens: 0, ...options });
const ids = (messages: readonly ConversationMessage[]): string[] => messages.map(({ id }) => id);
const compactions = (session: Session): number =>
  linesOf(session.file).filter((line) => line["type"] === "compaction").length;
const never = (): Promise<never> => new Promise(() => undefined);

describe("compaction", () => {
  test("keeps whole turns that fit, and hands over exactly the others before they are dropped", async () => {
    const session = await sessionWith(...turn(1), ...turn(2), ...turn(3));
    const before = session.context.messages;
    const seen: string[][] = [];
    const report = await compact(session, {
      keepTokens: 100,
      flush: {
        async beforeDrop(messages) {
          seen.push(ids(messages));
          expect(session.context.messages).toEqual(before);
          expect(messages).toEqual(before.slice(0, 8));
        },
      },
      summarize: async ({ messages, previousSummary }) => {
        expect(seen).toHaveLength(1);
        return `${previousSummary ?? "nothing"} then ${messages.length}`;
      },
    });
    expect(seen).toEqual([["q1", "c1", "r1", "a1", "q2", "c2", "r2", "a2"]]);
    expect(session.context).toEqual({ summary: "nothing then 8", messages: before.slice(8) });
    expect(report).toMatchObject({ dropped: 8, kept: 4, summary: "nothing then 8", summarizedBy: "model" });
    expect(report.reason).toBeUndefined();
    expect(report.tokensAfter).toBeLessThan(report.tokensBefore / 2);
    expect(compactions(session)).toBe(1);

    await session.append(...turn(4));
    await compact(session, { summarize: async ({ previousSummary }) => `${previousSummary}!` });
    expect([session.context.summary, ids(session.context.messages)]).toEqual([
      "nothing then 8!",
      ["q4", "c4", "r4", "a4"],
    ]);
  });

  test.each(data.kept as [number, string][])(
    "of three turns to %d tokens begins the context with %s",
    async (keepTokens, first) => {
      const session = await sessionWith(...turn(1), ...turn(2), ...turn(3));
      await compact(session, { keepTokens });
      expect(session.context.messages[0]?.id).toBe(first);
    },
  );

  test.each<[string, NewMessage[], number]>([
    ["an empty session", [], 0],
    ["a single turn", turn(1), 0],
    ["turns that fit", [...turn(1), ...turn(2)], 10_000],
    ["answers without a question", [assistant("a"), assistant("b")], 0],
  ])("does nothing to %s", async (_, messages, keepTokens) => {
    const session = await sessionWith(...messages);
    const beforeDrop = vi.fn<NonNullable<CompactSessionOptions["flush"]>["beforeDrop"]>();
    const report = await compact(session, { keepTokens, flush: { beforeDrop }, summarize: async () => "s" });
    expect(report).toMatchObject({ dropped: 0, kept: messages.length, tokensAfter: report.tokensBefore });
    expect(report.summarizedBy).toBeUndefined();
    expect([compactions(session), beforeDrop.mock.calls]).toEqual([0, []]);
  });

  test("keeps a last turn that is larger than asked for, and says so", async () => {
    const session = await sessionWith(...turn(1), ...turn(2, 5_000));
    const report = await compact(session, { keepTokens: 100, summarize: async () => "s" });
    expect(report).toMatchObject({ dropped: 4, kept: 4, reason: expect.stringContaining("larger than 100") as string });
    expect(ids(session.context.messages)).toEqual(["q2", "c2", "r2", "a2"]);
    expect((await compact(session, { keepTokens: 100 })).reason).toContain("larger than 100");
  });

  test("keeps the question that waits for its answer, in the middle of a round of tools", async () => {
    const session = await sessionWith(...turn(1), ...turn(2).slice(0, 3));
    await compact(session);
    expect(ids(session.context.messages)).toEqual(["q2", "c2", "r2"]);
    expect(session.unanswered?.id).toBe("q2");
  });

  test("hands over calls without an answer, and drops them with the rest", async () => {
    const session = await sessionWith(...turn(1).slice(0, 2), ...turn(2));
    const taken: string[] = [];
    await compact(session, { flush: { beforeDrop: async (messages) => taken.push(...ids(messages)) } });
    expect(taken).toEqual(["q1", "c1"]);
    expect(ids(session.recorded)).toEqual(["q2", "c2", "r2", "a2"]);
  });

  test("keeps what is said meanwhile", async () => {
    const session = await sessionWith(...turn(1), ...turn(2));
    await compact(session, {
      flush: { beforeDrop: () => session.append(user("late", "late")) },
      summarize: async () => {
        await session.append(assistant("later", "later"));
        return "s";
      },
    });
    expect(ids(session.context.messages)).toEqual(["q2", "c2", "r2", "a2", "late", "later"]);
  });

  test("drops nothing if the messages could not be handed over", async () => {
    const session = await sessionWith(...turn(1), ...turn(2));
    const before = session.context;
    const refused = new MemoryError("UNAVAILABLE", "the journal is full");
    const summarize = vi.fn<Summarize>();
    const flush = { beforeDrop: () => Promise.reject(refused) };
    await expect(compact(session, { flush, summarize })).rejects.toBe(refused);
    expect([session.context, compactions(session)]).toEqual([before, 0]);
    expect(summarize).not.toHaveBeenCalled();
  });

  test.each(["before", "flush", "summary"])("drops nothing if it is aborted: %s", async (step) => {
    const session = await sessionWith(...turn(1), ...turn(2));
    const controller = new AbortController();
    const { signal } = controller;
    if (step === "before") controller.abort();
    const at = (name: string) => async () => {
      if (step !== name) return "done";
      controller.abort();
      return await never();
    };
    const work = compact(session, { flush: { beforeDrop: at("flush") }, summarize: at("summary"), signal });
    await expect(work).rejects.toMatchObject({ name: "AbortError" });
    expect([session.context.messages.length, compactions(session)]).toEqual([8, 0]);
  });

  test("that starts twice at once drops messages once", async () => {
    const session = await sessionWith(...turn(1), ...turn(2), ...turn(3));
    const reports = await Promise.all([1, 2].map(() => compact(session, { summarize: async () => "s" })));
    expect(reports.map(({ dropped }) => dropped).toSorted()).toEqual([0, 8]);
    expect(compactions(session)).toBe(1);
  });

  test.each([-1, Number.NaN])("is refused for %d tokens", async (keepTokens) => {
    const session = await sessionWith(...turn(1));
    await expect(compact(session, { keepTokens })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("without a summary of a model", () => {
  test.each<[string, Summarize | undefined, string]>([
    ["because there is no model", undefined, "no model"],
    ["because it fails", () => Promise.reject(new Error("overloaded\nnow")), "overloaded now"],
    [
      "because it throws at once",
      () => {
        throw new Error("no key");
      },
      "no key",
    ],
    ["because it says nothing", async () => " \n", "no summary"],
    ["because it answers something else", async () => ({}) as string, "no summary"],
    ["because it copies everything", async () => "x".repeat(20_000), "longer than 16000"],
  ])("%s a plain digest says what was said", async (_what, summarize, reason) => {
    const session = await sessionWith(...turn(1), ...turn(2));
    const report = await compact(session, { summarize });
    expect(report).toMatchObject({
      dropped: 4,
      summarizedBy: "digest",
      reason: expect.stringContaining(reason) as string,
    });
    expect(session.context.summary).toBe(report.summary);
    expect(report.summary?.split("\n")).toEqual([
      expect.stringContaining("Plain digest") as string,
      expect.stringMatching(/^User: question 1 word/) as string,
      "Assistant: Answer 1.",
    ]);
  });

  test("a model that takes too long is given up", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const session = await sessionWith(...turn(1), ...turn(2));
      let given: AbortSignal | undefined;
      const asked = Promise.withResolvers<void>();
      const summarize: Summarize = ({ signal }) => {
        given = signal;
        asked.resolve();
        return never();
      };
      const work = compact(session, { summarize });
      await asked.promise;
      vi.advanceTimersByTime(60_000);
      expect(await work).toMatchObject({ summarizedBy: "digest", reason: expect.stringContaining("60 s") as string });
      expect(given?.aborted).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  test("the digest has the first line of a question and the first sentence of an answer", async () => {
    const session = await sessionWith(
      user("\n\n  My flight is on Friday.\nAnd more"),
      assistant("Version 1.2 is fine! Then this."),
      assistant("好的。我会记住。"),
      user("long ".repeat(100)),
      user("last"),
    );
    const lines = (await compact(session)).summary?.split("\n").slice(1);
    expect(lines).toEqual([
      "User: My flight is on Friday.",
      "Assistant: Version 1.2 is fine!",
      "Assistant: 好的。",
      expect.stringMatching(/^User: long .* \[…\]$/),
    ]);
  });

  test("it has at most 2,000 characters, carries the summary before it on, and does not grow without end", async () => {
    const session = await sessionWith(...turn(1), ...turn(2));
    await compact(session, { summarize: async () => "Anna likes tulips." });
    for (let round = 0; round < 30; round++) {
      const said = Array.from({ length: 25 }, (_, index) =>
        user(`round ${round}, question ${index} ${"x".repeat(80)}`),
      );
      await session.append(...said, user("last"));
      await compact(session);
      const { summary = "" } = session.context;
      expect(summary.length).toBeLessThan(6_500);
      if (round === 0)
        expect(summary).toMatch(/^Anna likes tulips\.\n\n\[Plain digest.*\[…\] \d+ earlier lines excluded/s);
      if (round === 0) expect(summary.length).toBeLessThan(2_300);
    }
    expect(session.context.summary).toMatch(/^Anna likes tulips\..*round 28, question 24.*round 29, question 24/s);
  });
});

/** Messages of `user`, `asks a,b` (with a text: `asks a: text`), `result a`, `answer` and `silence`. */
function conversation(script: string): NewMessage[] {
  return script.split("; ").map((step, index): NewMessage => {
    const [, kind, names = "", text = ""] = /^(\w+) ?([\w,]*)(?:: (.*))?$/.exec(step) ?? [];
    const id = `m${index}`;
    if (kind === "user") return user("question", id);
    if (kind === "result")
      return { role: "tool", id, toolCallId: names, toolName: "memory_append", text: text || "done" };
    if (kind === "asks") return { ...assistant(text, id), toolCalls: names.split(",").map((name) => call(name)) };
    return assistant(kind === "silence" ? " " : "answer", id);
  });
}

const shape = (messages: readonly ConversationMessage[]): string =>
  messages
    .map((message) => {
      if (message.role === "tool") return `result ${message.toolCallId}`;
      if (message.role === "user") return "user";
      return message.toolCalls === undefined ? "answer" : `asks ${message.toolCalls.map(({ id }) => id).join()}`;
    })
    .join("; ");

describe("the context of a model", () => {
  test.each(data.contexts as [string, string, string][])("%s", async (_what, script, expected) => {
    const session = await sessionWith(...conversation(script));
    expect(shape(session.context.messages)).toBe(expected);
    if (script === expected) expect(session.context.messages).toEqual(session.recorded);
  });

  test("a hand-over has every message, with calls without an answer as text", async () => {
    const script = "user; asks a,b: Noted.; user; result b; result z: lost; silence";
    const { recorded } = await sessionWith(...conversation(script));
    const handed = handedOver(recorded);
    expect(ids(handed).toSorted()).toEqual(ids(recorded).toSorted());
    expect(shape(handed)).toBe("user; asks b; result b; user; answer; answer");
    expect(handed[1]?.text).toBe('Noted.\n[asked for memory_append, never answered] {"text":"fact a"}');
    expect(handed[4]?.text).toBe("[result of memory_append] lost");
  });
});
