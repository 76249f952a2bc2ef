import { MemoryError } from "@memslot/core";
import { describe, expect, test, vi } from "vitest";
import { compactSession, type ConversationMessage, type NewMessage, type Session, type Summarize } from "../index.ts";
import { plainDigest } from "./plain-digest.ts";
import { assistant, key, linesOf, sessionsIn, stateFolder, user } from "../../test/session/support/sessions.ts";

const turn = (number: number, words = 20): NewMessage[] => [
  user(`question ${number} ${"word ".repeat(words)}`, `q${number}`),
  {
    role: "assistant",
    id: `c${number}`,
    text: "",
    toolCalls: [{ id: "call", name: "memory_append", arguments: `{"text":"fact ${number}"}` }],
  },
  { role: "tool", id: `r${number}`, toolCallId: "call", toolName: "memory_append", text: "ok" },
  assistant(`Answer ${number}. More of it.`, `a${number}`),
];

async function sessionWith(...messages: NewMessage[]): Promise<Session> {
  const { sessions } = await sessionsIn(stateFolder());
  const session = await sessions.open(key);
  await session.append(...messages);
  return session;
}

const ids = (messages: readonly ConversationMessage[]): string[] => messages.map(({ id }) => id);
const compactions = (session: Session): number =>
  linesOf(session.file).filter((line) => line["type"] === "compaction").length;

/** Takes what is handed over. */
function taker(): { beforeDrop: (messages: readonly ConversationMessage[]) => Promise<void>; taken: string[] } {
  const taken: string[] = [];
  return { taken, beforeDrop: async (messages) => void taken.push(...ids(messages)) };
}

describe("compaction", () => {
  test("keeps whole turns that fit, and hands over exactly the others before they are gone", async () => {
    const session = await sessionWith(...turn(1), ...turn(2), ...turn(3));
    const before = session.context.messages;
    const seen: string[][] = [];
    const report = await compactSession({
      session,
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
    await compactSession({ session, keepTokens: 0, summarize: async ({ previousSummary }) => `${previousSummary}!` });
    expect([session.context.summary, ids(session.context.messages)]).toEqual([
      "nothing then 8!",
      ["q4", "c4", "r4", "a4"],
    ]);
  });

  test.each([
    [0, "q3"],
    [60, "q3"],
    [119, "q2"],
    [160, "q2"],
  ])("of three turns to %d tokens begins the context with %s", async (keepTokens, first) => {
    const session = await sessionWith(...turn(1), ...turn(2), ...turn(3));
    await compactSession({ session, keepTokens });
    expect(session.context.messages[0]?.id).toBe(first);
  });

  test("does nothing where there is nothing to drop", async () => {
    const flush = taker();
    for (const [messages, keepTokens] of [
      [[], 0],
      [turn(1), 0],
      [[...turn(1), ...turn(2)], 10_000],
      [[assistant("a"), assistant("b")], 0],
    ] as const) {
      const session = await sessionWith(...messages);
      const report = await compactSession({ session, keepTokens, flush, summarize: async () => "s" });
      expect(report).toMatchObject({ dropped: 0, kept: messages.length });
      expect(report.summarizedBy).toBeUndefined();
      expect(report.tokensAfter).toBe(report.tokensBefore);
      expect(compactions(session)).toBe(0);
    }
    expect(flush.taken).toEqual([]);
  });

  test("keeps a last turn that is larger than asked for, and says so", async () => {
    const session = await sessionWith(...turn(1), ...turn(2, 5_000));
    const report = await compactSession({ session, keepTokens: 100, summarize: async () => "s" });
    expect(report).toMatchObject({ dropped: 4, kept: 4, reason: expect.stringContaining("larger than 100") as string });
    expect(ids(session.context.messages)).toEqual(["q2", "c2", "r2", "a2"]);
    expect((await compactSession({ session, keepTokens: 100 })).reason).toContain("larger than 100");
  });

  test("keeps the question that waits for its answer, in the middle of a round of tools", async () => {
    const session = await sessionWith(...turn(1), ...turn(2).slice(0, 3));
    await compactSession({ session, keepTokens: 0 });
    expect(ids(session.context.messages)).toEqual(["q2", "c2", "r2"]);
    expect(session.unanswered?.id).toBe("q2");
  });

  test("hands over calls that nobody answered, and drops them with the rest", async () => {
    const flush = taker();
    const session = await sessionWith(...turn(1).slice(0, 2), ...turn(2));
    await compactSession({ session, keepTokens: 0, flush });
    expect(flush.taken).toEqual(["q1", "c1"]);
    expect(session.recorded.map(({ id }) => id)).toEqual(["q2", "c2", "r2", "a2"]);
  });

  test("keeps what is said meanwhile", async () => {
    const session = await sessionWith(...turn(1), ...turn(2));
    await compactSession({
      session,
      keepTokens: 0,
      flush: { beforeDrop: async () => void (await session.append(user("late", "late"))) },
      summarize: async () => {
        await session.append(assistant("later", "later"));
        return "s";
      },
    });
    expect(ids(session.context.messages)).toEqual(["q2", "c2", "r2", "a2", "late", "later"]);
  });

  test("drops nothing, and tells why, where the messages could not be handed over", async () => {
    const session = await sessionWith(...turn(1), ...turn(2));
    const before = session.context;
    const refused = new MemoryError("UNAVAILABLE", "the journal is full");
    const summarize = vi.fn<Summarize>();
    const flush = { beforeDrop: () => Promise.reject(refused) };
    await expect(compactSession({ session, keepTokens: 0, flush, summarize })).rejects.toBe(refused);
    expect([session.context, compactions(session)]).toEqual([before, 0]);
    expect(summarize).not.toHaveBeenCalled();
  });

  test("drops nothing when it is aborted, at whichever step", async () => {
    const session = await sessionWith(...turn(1), ...turn(2));
    const never = (): Promise<never> => new Promise(() => {});
    for (const step of ["before", "flush", "summary"]) {
      const controller = new AbortController();
      const { signal } = controller;
      if (step === "before") controller.abort();
      const at = (name: string) => async () => {
        if (step !== name) return "done";
        controller.abort();
        return await never();
      };
      const flush = { beforeDrop: at("flush") };
      const work = compactSession({ session, keepTokens: 0, flush, summarize: at("summary"), signal });
      await expect(work, step).rejects.toMatchObject({ name: "AbortError" });
    }
    expect([session.context.messages.length, compactions(session)]).toEqual([8, 0]);
  });

  test("that two start at once drops messages once", async () => {
    const session = await sessionWith(...turn(1), ...turn(2), ...turn(3));
    const reports = await Promise.all(
      [0, 0].map((keepTokens) => compactSession({ session, keepTokens, summarize: async () => "s" })),
    );
    expect(reports.map(({ dropped }) => dropped).toSorted()).toEqual([0, 8]);
    expect(compactions(session)).toBe(1);
  });

  test.each([-1, Number.NaN])("is refused for %d tokens", async (keepTokens) => {
    const session = await sessionWith(...turn(1));
    await expect(compactSession({ session, keepTokens })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("without a summary of a model", () => {
  test.each<[string, Summarize | undefined, string]>([
    ["because there is none", undefined, "no model"],
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
    const report = await compactSession({ session, keepTokens: 0, summarize });
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

  test("the summary of a model before it is carried on", async () => {
    const session = await sessionWith(...turn(1), ...turn(2));
    await compactSession({ session, keepTokens: 0, summarize: async () => "Anna likes tulips." });
    await session.append(...turn(3));
    const { summary } = await compactSession({ session, keepTokens: 0 });
    expect(summary).toMatch(/^Anna likes tulips\.\n\n\[Plain digest.*\nUser: question 2/);
  });

  test("one that takes too long is not waited for", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const session = await sessionWith(...turn(1), ...turn(2));
      let given: AbortSignal | undefined;
      const asked = Promise.withResolvers<void>();
      const work = compactSession({
        session,
        keepTokens: 0,
        summarize: ({ signal }) => {
          given = signal;
          asked.resolve();
          return new Promise(() => {});
        },
      });
      await asked.promise;
      vi.advanceTimersByTime(60_000);
      expect(await work).toMatchObject({ summarizedBy: "digest", reason: expect.stringContaining("60 s") as string });
      expect(given?.aborted).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  const said = (role: "user" | "assistant", text: string): ConversationMessage => ({ id: text, at: "", role, text });

  test("the digest has the first line of a question and the first sentence of an answer, and no more than 2,000 characters", () => {
    const messages = [
      said("user", "\n\n  My flight is on Friday.\nAnd more"),
      said("assistant", "Version 1.2 is fine! Then this."),
      said("assistant", "好的。我会记住。"),
      { id: "t", at: "", role: "tool", toolCallId: "c", toolName: "n", text: "secret result" } as const,
      said("assistant", ""),
      said("user", `${"long ".repeat(100)}`),
    ];
    const [, ...lines] = plainDigest(messages).split("\n");
    expect(lines.slice(0, 3)).toEqual([
      "User: My flight is on Friday.",
      "Assistant: Version 1.2 is fine!",
      "Assistant: 好的。",
    ]);
    expect(lines[3]).toMatch(/^User: long .* \[…\]$/);
    expect(lines).toHaveLength(4);

    const many = Array.from({ length: 200 }, (_, index) => said("user", `question ${index}`));
    const digest = plainDigest(many);
    expect(digest.length).toBeLessThan(2_200);
    expect(digest).toContain("question 199");
    expect(digest).toMatch(/\d+ earlier lines left out/);
    expect(digest).not.toContain("question 1\n");
  });

  test("the summary before is carried on, and does not grow without end", () => {
    let summary: string | undefined = "Anna's birthday is on the 3rd of May.";
    for (let round = 0; round < 30; round++) {
      summary = plainDigest(
        Array.from({ length: 20 }, (_, index) => said("user", `round ${round}, question ${index} ${"x".repeat(80)}`)),
        summary,
      );
      expect(summary.length).toBeLessThan(6_500);
    }
    expect(summary?.startsWith("Anna's birthday is on the 3rd of May.")).toBe(true);
    expect(summary).toContain("round 29, question 19");
    expect(summary).toContain("round 28, question 19");
  });
});
