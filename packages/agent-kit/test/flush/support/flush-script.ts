// oxlint-disable vitest/no-standalone-expect -- the steps of scripts are the assertions of tests
import { renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import {
  type AssistantMessage,
  type FlushTurn,
  type MemoryFlush,
  type MemoryFlushOptions,
  type UserMessage,
  runToolCall,
} from "@memslot/agent-kit";
import { withPatterns } from "../../support/fake-memory.ts";
import {
  type FlushHouse,
  assistant,
  down,
  entryOf,
  inTurn,
  noteTaker,
  retry,
  talk,
  useFlushHouse,
  user,
} from "./flush-house.ts";

/** A model by its name, or one that writes these notes and then says or does something. */
type Model = "note" | "down" | { write?: string[]; kind?: string; say?: string | null };

interface Options {
  /** What the model does in each turn; the last one for ever. Left out: no model. */
  model?: Model | Model[];
  window?: number;
  compaction?: Record<string, unknown>;
  sessionId?: string;
  memory?: false;
}

type Told = "talk" | [id: string, text: string, at?: string][];
/** A value of JSON in which `null` stands for nothing and `/words/` for a pattern. */
type Expected = object | null;

function turnOf(model: Model): FlushTurn {
  if (model === "note") return noteTaker;
  if (model === "down") return down;
  return async ({ tools, signal }) => {
    for (const text of model.write ?? []) {
      const call = { name: "memory_append", arguments: JSON.stringify({ text, kind: model.kind ?? "daily" }) };
      await runToolCall(tools, call, { signal });
    }
    if (model.say === "down") throw new Error("503 the model is down");
    return model.say === undefined ? "NO_REPLY" : (model.say as string);
  };
}

function messagesOf(told: Told): readonly (UserMessage | AssistantMessage)[] {
  if (told === "talk") return talk;
  return told.map(([id, text, at]) => (id.startsWith("a") ? assistant : user)(id, text, at));
}

export type FlushStep = [verb: keyof FlushScript["verbs"], ...given: never[]];

/** A flush in which the steps of a data file are done. */
export class FlushScript {
  readonly house: FlushHouse;
  #flush: MemoryFlush | undefined;
  #model: ReturnType<typeof inTurn> | undefined;
  #now = new Date("2026-03-05T12:00:00Z");

  constructor(place: { timeZone?: string; key?: string } = {}) {
    this.house = useFlushHouse(place);
  }

  get flush(): MemoryFlush {
    return this.#flush ?? expect.fail("no flush is open");
  }

  #optionsOf({ model, window, compaction, sessionId, memory }: Options): Partial<MemoryFlushOptions> {
    const { session } = this.house;
    this.#model = model && inTurn(...[model].flat().map(turnOf));
    return {
      runTurn: this.#model,
      clock: () => this.#now,
      ...(window !== undefined && { contextWindowTokens: window }),
      ...(compaction && { agent: this.house.agentWith(compaction) }),
      ...(sessionId !== undefined && {
        session: { ...session, key: session.key, id: sessionId, facts: session.facts },
      }),
      ...(memory === false && { memory: undefined }),
    };
  }

  #expect(answer: unknown, expected: Expected | undefined): void {
    if (expected === null) expect(answer).toBeUndefined();
    else if (expected !== undefined) expect(answer).toMatchObject(withPatterns(expected));
  }

  get #memoryFolder(): string {
    return path.join(this.house.workspaceDir, "memory");
  }

  readonly verbs = {
    clock: async (time: string): Promise<void> => void (this.#now = new Date(time)),
    open: async (options: Options = {}): Promise<void> =>
      void (this.#flush = await this.house.open(this.#optionsOf(options))),
    drop: async (told: Told, expected?: Expected): Promise<void> =>
      this.#expect(await this.flush.beforeDrop(messagesOf(told)), expected),
    fails: async (told: Told, expected: object): Promise<void> =>
      await expect(this.flush.beforeDrop(messagesOf(told))).rejects.toMatchObject(withPatterns(expected)),
    after: async (state: object, told: Told, expected: object): Promise<void> => {
      const full = { contextTokens: 190_000, contextWindowTokens: 200_000, compactionCount: 0, ...state };
      this.#expect(this.flush.afterTurn(full, messagesOf(told)), expected);
    },
    settled: async (expected?: Expected): Promise<void> => this.#expect(await this.flush.settled(), expected),
    retry: async (expected?: Expected): Promise<void> => this.#expect(await retry(this.flush), expected),
    close: (): Promise<void> => this.flush.close(),
    /** As the next process does. */
    workOff: async (options: Options, expected?: Expected): Promise<void> => {
      await this.verbs.close();
      await this.verbs.open(options);
      await this.verbs.retry(expected);
    },
    /** The log of a day, as a whole. */
    note: async (day: string, ...lines: string[]): Promise<void> =>
      expect(this.house.note(day)).toBe(lines.map((line) => `${line}\n`).join("")),
    /** How often each word is in all notes. */
    counts: async (counts: Record<string, number>): Promise<void> => {
      for (const [word, count] of Object.entries(counts))
        expect({ [word]: this.house.notes().split(word).length - 1 }).toEqual({ [word]: count });
    },
    removeNote: async (day: string): Promise<void> =>
      writeFileSync(path.join(this.#memoryFolder, `${day}.md`), `# ${day}\n`),
    journal: async (count: number): Promise<void> => expect(this.house.journal()).toHaveLength(count),
    entry: async (expected: object): Promise<void> => this.#expect(entryOf(this.house), expected),
    status: async (expected: object): Promise<void> => this.#expect(this.flush.status, expected),
    /** All fields that are set. */
    record: async (expected: object): Promise<void> =>
      expect(JSON.parse(JSON.stringify(this.house.session.record))).toEqual(withPatterns(expected)),
    reports: async (...expected: object[]): Promise<void> => {
      expect(this.house.reports).toMatchObject(withPatterns(expected));
      expect(this.house.reports).toHaveLength(expected.length);
    },
    /** The ids of the messages that the model got, turn by turn. */
    given: async (...turns: string[]): Promise<void> =>
      expect((this.#model?.given ?? []).map(({ messages }) => messages.map(({ id }) => id).join())).toEqual(turns),
    /** What the prompt of each turn contains. */
    prompts: async (...patterns: string[]): Promise<void> =>
      this.#expect(
        (this.#model?.given ?? []).map(({ prompt }) => prompt),
        patterns,
      ),
    blockJournal: async (): Promise<void> => this.house.blockJournal(),
    blockNotes: async (): Promise<void> => {
      renameSync(this.#memoryFolder, `${this.#memoryFolder}.away`);
      writeFileSync(this.#memoryFolder, "not a folder");
    },
    freeNotes: async (): Promise<void> => {
      rmSync(this.#memoryFolder);
      renameSync(`${this.#memoryFolder}.away`, this.#memoryFolder);
    },
  };
}
