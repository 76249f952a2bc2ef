import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { createMemoryTools, parseCitation } from "@memslot/agent-kit";
import { type Memory, type MemslotConfig, parseConfig } from "@memslot/core";
import { sessionsFolder } from "@memslot/indexing/host";
import { openMemory } from "memslot";
import { type Agent, type Answer, createAgent } from "../agent.ts";
import { type ScriptedModel, createScriptedModel } from "./scripted-model.ts";
import { type ToyEmbeddings, startToyEmbeddings } from "./toy-embeddings.ts";

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

export interface Tour extends Teller {
  readonly signal: AbortSignal;
  readonly stateDir: string;
  readonly embeddings: ToyEmbeddings;
  readonly model: ScriptedModel;
  readonly memory: Memory;
  readonly agent: Agent;
  /** Sets the virtual clock, in `timeZone`: `2026-03-02 23:58`. */
  at(time: string): void;
  /** Replaces the open memory; the conversation continues with it. */
  openMemory(options: { provider: "none" | "openai"; slot?: string }): Promise<void>;
  openAgent(): Promise<void>;
  ask(question: string): Promise<Answer>;
  /** Waits for the flush after the reply, and syncs the index. */
  settled(): Promise<void>;
  call(tool: string, input: object): Promise<unknown>;
  /** Every note, by its path. */
  notes(): Promise<ReadonlyMap<string, string>>;
  cited(citation: string | undefined): Promise<string>;
  /** Lines of the transcript, or entries of the flush journal. */
  records(kind: "sessions" | "flush"): Promise<StateRecord[]>;
  close(): Promise<void>;
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

/** Opens the shared parts; reads nothing of the user's. */
export async function openTour(options: {
  rootDir: string;
  parts: TourParts;
  signal: AbortSignal;
  teller: Teller;
}): Promise<Tour> {
  const { rootDir, parts, signal, teller } = options;
  const [workspaceDir, stateDir] = [path.join(rootDir, "notes"), path.join(rootDir, "state")];
  const embeddings = await startToyEmbeddings();
  const model = parts.createModel(windowTokens);
  let now = new Date(0);
  let open: { memory: Memory; config: MemslotConfig } | undefined;
  let agent: Agent | undefined;
  const clock = (): Date => now;

  const tour: Tour = {
    ...teller,
    signal,
    stateDir,
    embeddings,
    model,
    get memory() {
      return there(open, "memory").memory;
    },
    get agent() {
      return there(agent, "conversation");
    },
    at: (time) => {
      now = new Date(`${time.replace(" ", "T")}:00+08:00`);
    },
    openMemory: async ({ provider, slot = "memory-core" }) => {
      const remote = { baseUrl: embeddings.baseUrl, apiKey: "tour" };
      const memoryFlush = { softThresholdTokens: windowTokens - reserveTokens - flushTokens };
      const defaults = {
        userTimezone: timeZone,
        // The scan before a search has 0.3 s, too little on slow machines: the tour syncs by itself.
        memorySearch: { provider, model: "toy", remote, sync: { watch: false, onSearch: false } },
        compaction: { reserveTokensFloor: reserveTokens, memoryFlush },
      };
      const config = parseConfig(
        { agents: { defaults }, plugins: { slots: { memory: slot } } },
        { env: {}, baseDir: rootDir, stateDir, workspace: workspaceDir },
      );
      const memory = await parts.openMemory({ config, agentId, notify: teller.say, signal });
      const old = open;
      open = { memory, config };
      agent?.useMemory(memory);
      await old?.memory.close();
      await memory.sync({ signal });
    },
    openAgent: async () => {
      await agent?.close();
      agent = undefined;
      const { memory, config } = there(open, "memory");
      const shared = { memory, config, agent: config.agent(agentId), stateDir, sessionKey: `agent:${agentId}:main` };
      agent = await createAgent({ ...shared, model, clock, notify: () => undefined });
    },
    ask: (question) => tour.agent.ask(question, { signal }),
    settled: async () => {
      await tour.agent.settled();
      await tour.memory.sync({ signal });
    },
    call: async (name, input) => {
      const tools = createMemoryTools({ memory: tour.memory, citations: "on", append: { timeZone, clock } });
      const tool = tools.find((each) => each.name === name);
      return await there(tool, name).execute(input, { signal });
    },
    notes: async () => {
      const names = (await readdir(workspaceDir, { recursive: true })).filter((name) => name.endsWith(".md"));
      const read = async (name: string): Promise<[string, string]> => [
        name.replaceAll("\\", "/"),
        await readFile(path.join(workspaceDir, name), "utf8"),
      ];
      return new Map(await Promise.all(names.toSorted().map(read)));
    },
    cited: async (citation = "") => {
      const { path: name = "", startLine = 0, endLine = 0 } = parseCitation(citation) ?? {};
      const lines = (await tour.notes()).get(name)?.split("\n") ?? [];
      return lines.slice(startLine - 1, endLine).join("\n");
    },
    records: async (kind) => {
      const folder = path.join(path.dirname(sessionsFolder({ stateDir, agentId })), kind);
      // The journal's folder is created with its first entry.
      const names = (await readdir(folder).catch(() => [])).filter((name) => /\.jsonl?$/.test(name));
      const wanted = names.filter((name) => name !== "sessions.json").toSorted();
      const texts = await Promise.all(wanted.map((name) => readFile(path.join(folder, name), "utf8")));
      const lines = texts.join("").split("\n").filter(Boolean);
      return lines.map((line) => JSON.parse(line) as StateRecord);
    },
    close: async () => {
      const closed = await Promise.allSettled([agent?.close(), embeddings.stop(), model.close()]);
      const [last] = await Promise.allSettled([open?.memory.close()]);
      for (const end of [...closed, last]) if (end.status === "rejected") throw end.reason;
    },
  };
  return tour;
}

function there<Value>(value: Value | undefined, what: string): Value {
  if (value === undefined) throw new Error(`there is no ${what}, as an earlier step has failed`);
  return value;
}
