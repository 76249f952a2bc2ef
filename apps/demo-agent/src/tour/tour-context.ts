import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { createMemoryTools, parseCitation } from "@memslot/agent-kit";
import { type Memory, type MemslotConfig, parseConfig } from "@memslot/core";
import { sessionsFolder } from "@memslot/indexing/host";
import { openMemory } from "memslot";
import { type Agent, type Answer, createAgent } from "../agent.ts";
import { type ScriptedModel, createScriptedModel } from "./scripted-model.ts";
import type { ToyEmbeddings } from "./toy-embeddings.ts";

export interface TourParts {
  createModel: typeof createScriptedModel;
  openMemory: typeof openMemory;
}

export const tourParts: TourParts = { createModel: createScriptedModel, openMemory };

export interface Step {
  readonly name: string;
  readonly run: (tour: Tour) => Promise<void>;
}

export interface Teller {
  say(line: string): void;
  check(what: string, found: unknown, expected: unknown): void;
  holds(what: string, text: string, wanted: string): void;
}

export interface StateRecord {
  type?: string;
  id?: string;
  message?: { role?: string; content?: { text?: string }[] };
  summary?: string;
  firstKeptEntryId?: string;
  messages?: { id: string }[];
  ids?: string[];
}

export const timeZone = "Asia/Shanghai";
const agentId = "main";
export const windowTokens = 9_000;
const reserveTokens = 2_500;
/** Threshold of a flush. */
export const flushTokens = 4_000;

export interface TourOptions {
  readonly rootDir: string;
  readonly parts: TourParts;
  readonly signal: AbortSignal;
  readonly teller: Teller;
}

/** The shared parts of the steps. Reads nothing of the user's. */
export class Tour {
  readonly signal: AbortSignal;
  readonly stateDir: string;
  readonly embeddings: ToyEmbeddings;
  readonly model: ScriptedModel;
  readonly say: Teller["say"];
  readonly check: Teller["check"];
  readonly holds: Teller["holds"];
  readonly #rootDir: string;
  readonly #workspaceDir: string;
  readonly #openMemory: TourParts["openMemory"];
  #now = new Date(0);
  #open: { memory: Memory; config: MemslotConfig } | undefined;
  #agent: Agent | undefined;

  constructor({ rootDir, parts, signal, teller }: TourOptions, embeddings: ToyEmbeddings) {
    ({ say: this.say, check: this.check, holds: this.holds } = teller);
    [this.signal, this.embeddings, this.#rootDir] = [signal, embeddings, rootDir];
    [this.#workspaceDir, this.stateDir] = [path.join(rootDir, "notes"), path.join(rootDir, "state")];
    this.model = parts.createModel(windowTokens);
    this.#openMemory = parts.openMemory;
  }

  get memory(): Memory {
    return there(this.#open, "memory").memory;
  }

  get agent(): Agent {
    return there(this.#agent, "conversation");
  }

  readonly #clock = (): Date => this.#now;

  /** Sets the virtual clock, in `timeZone`: `2026-03-02 23:58`. */
  at(time: string): void {
    this.#now = new Date(`${time.replace(" ", "T")}:00+08:00`);
  }

  /** Replaces the open memory; the conversation continues with it. */
  async openMemory({ provider, slot = "memory-core" }: { provider: "none" | "openai"; slot?: string }): Promise<void> {
    const { signal, stateDir } = this;
    const remote = { baseUrl: this.embeddings.baseUrl, apiKey: "tour" };
    const memoryFlush = { softThresholdTokens: windowTokens - reserveTokens - flushTokens };
    const defaults = {
      userTimezone: timeZone,
      // The scan before a search has 0.3 s, too little on slow machines: the tour syncs by itself.
      memorySearch: { provider, model: "toy", remote, sync: { watch: false, onSearch: false } },
      compaction: { reserveTokensFloor: reserveTokens, memoryFlush },
    };
    const config = parseConfig(
      { agents: { defaults }, plugins: { slots: { memory: slot } } },
      { env: {}, baseDir: this.#rootDir, stateDir, workspace: this.#workspaceDir },
    );
    const memory = await this.#openMemory({ config, agentId, notify: this.say, signal });
    const old = this.#open;
    this.#open = { memory, config };
    this.#agent?.useMemory(memory);
    await old?.memory.close();
    await memory.sync({ signal });
  }

  async openAgent(): Promise<void> {
    await this.#agent?.close();
    this.#agent = undefined;
    const { memory, config } = there(this.#open, "memory");
    const { stateDir, model } = this;
    const shared = { memory, config, agent: config.agent(agentId), stateDir, sessionKey: `agent:${agentId}:main` };
    this.#agent = await createAgent({ ...shared, model, clock: this.#clock, notify: () => undefined });
  }

  ask(question: string): Promise<Answer> {
    return this.agent.ask(question, { signal: this.signal });
  }

  /** Waits for the flush after the reply, and syncs the index. */
  async settled(): Promise<void> {
    await this.agent.settled();
    await this.memory.sync({ signal: this.signal });
  }

  async call(name: string, input: object): Promise<unknown> {
    const append = { timeZone, clock: this.#clock };
    const tool = createMemoryTools({ memory: this.memory, citations: "on", append }).find((each) => each.name === name);
    return await there(tool, name).execute(input, { signal: this.signal });
  }

  /** Every note, by its path. */
  async notes(): Promise<ReadonlyMap<string, string>> {
    const names = (await readdir(this.#workspaceDir, { recursive: true })).filter((name) => name.endsWith(".md"));
    const read = async (name: string): Promise<[string, string]> => [
      name.replaceAll("\\", "/"),
      await readFile(path.join(this.#workspaceDir, name), "utf8"),
    ];
    return new Map(await Promise.all(names.toSorted().map(read)));
  }

  async cited(citation = ""): Promise<string> {
    const { path: name = "", startLine = 0, endLine = 0 } = parseCitation(citation) ?? {};
    const lines = (await this.notes()).get(name)?.split("\n") ?? [];
    return lines.slice(startLine - 1, endLine).join("\n");
  }

  /** Lines of the transcript, or entries of the flush journal. */
  async records(kind: "sessions" | "flush"): Promise<StateRecord[]> {
    const folder = path.join(path.dirname(sessionsFolder({ stateDir: this.stateDir, agentId })), kind);
    // The journal's folder is created with its first entry.
    const names = (await readdir(folder).catch(() => [])).filter((name) => /\.jsonl?$/.test(name));
    const wanted = names.filter((name) => name !== "sessions.json").toSorted();
    const texts = await Promise.all(wanted.map((name) => readFile(path.join(folder, name), "utf8")));
    const lines = texts.join("").split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line) as StateRecord);
  }

  async close(): Promise<void> {
    const closed = await Promise.allSettled([this.#agent?.close(), this.embeddings.stop(), this.model.close()]);
    const [last] = await Promise.allSettled([this.#open?.memory.close()]);
    for (const end of [...closed, last]) if (end.status === "rejected") throw end.reason;
  }
}

function there<Value>(value: Value | undefined, what: string): Value {
  if (value === undefined) throw new Error(`there is no ${what}, as an earlier step has failed`);
  return value;
}
