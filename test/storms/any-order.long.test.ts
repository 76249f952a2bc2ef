import { cpSync, existsSync } from "node:fs";
import { tempFolder } from "@memslot/test-tools/files";
import { describe, expect, test } from "vitest";
import { buildFileFaults, faultEnvironment } from "../support/file-faults.ts";
import { copyHouse, type House, indexFile, useHouse } from "../support/temp-workspace.ts";
import { contentOf, type IndexContent, integrityOf, strayFiles } from "../support/sqlite-index-content.ts";
import { changeSomething, sessionsFolder, vocabulary } from "../support/generated-notes.ts";
import { type Random, randomFrom } from "@memslot/test-tools/random";
import {
  type Ending,
  type Found,
  type MemoryProcessOptions,
  type RemoteMemory,
  resultOf,
} from "../support/start-memory.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";
import data from "../data/any-order.json" with { type: "json" };

const faults = buildFileFaults(tempFolder());

const orders = Array.from({ length: stormSize(2) }, (_, number) => number);
const rounds = Math.max(6, stormSize(30));

type Settings = Omit<MemoryProcessOptions, "stateDir" | "workspaceDir">;

const settingsToChooseFrom: readonly Settings[] = data.settings.map(({ memorySearch, model }) => ({
  model,
  memorySearch: { ...memorySearch, sources: ["memory", "sessions"] },
}));

/** An agent that is killed and started again, at a change of its index that chance decides. */
class Agent {
  settings: Settings;
  readonly did: string[] = [];
  #memory: RemoteMemory | undefined;
  readonly #house: House;
  readonly #random: Random;

  constructor(house: House, random: Random) {
    this.#house = house;
    this.#random = random;
    this.settings = random.pick(settingsToChooseFrom);
  }

  async memory(): Promise<RemoteMemory> {
    if (this.#memory) return this.#memory;
    this.#memory = this.#house.start(this.settings, { env: this.#lifetime() });
    await this.note("open", this.#memory.open());
    return this.#memory ?? (await this.memory());
  }

  #lifetime(): NodeJS.ProcessEnv {
    if (typeof faults === "string" || this.#random.chance(0.3)) return {};
    const how = this.#random.pick(["kill-before", "kill-half", "kill-after"] as const);
    return faultEnvironment(faults.library, { below: this.#house.indexFolder, at: 1 + this.#random.below(150), how });
  }

  /** What a call comes to: it works, or the process was killed in it. */
  async note(what: string, call: Promise<Ending<unknown>>): Promise<void> {
    const ending = await call;
    if (ending.error) throw new Error(`${what}: ${ending.error.code} ${ending.error.message}`);
    this.did.push(ending.ended === undefined ? what : `${what} (killed)`);
    if (ending.ended !== undefined) this.#memory = undefined;
  }

  async act(): Promise<void> {
    const memory = await this.memory();
    const random = this.#random;
    const action = random.below(10);
    if (action < 4)
      return await this.note("sync", memory.sync({ reason: random.pick(["cli", "watch", "session-start"]) }));
    if (action < 5) return await this.note("rebuild", memory.sync({ force: true, reason: "cli" }));
    if (action < 7) return await this.note("search", memory.search(random.pick(vocabulary)));
    if (action < 8) {
      const rebuild = memory.sync({ force: true, reason: "cli" });
      memory.kill();
      await rebuild;
      await memory.ended;
      this.did.push("rebuild, killed at once");
    } else {
      await this.note("close", memory.close());
      if (random.chance(0.4)) this.settings = random.pick(settingsToChooseFrom);
    }
    this.#memory = undefined;
  }

  async end(): Promise<void> {
    this.#memory?.kill();
    await this.#memory?.ended;
    this.#memory = undefined;
  }
}

/** What an index holds, and what it answers. */
interface Settled {
  content: IndexContent;
  answers: Found["results"][];
}

/** Brings an index up to date with no harm done to it, and asks it something. */
async function settle(house: House, settings: Settings): Promise<Settled> {
  const memory = house.start(settings);
  resultOf(await memory.open());
  expect(resultOf(await memory.sync({ reason: "cli" }))).toMatchObject({ failed: [] });
  expect(resultOf(await memory.sync({ reason: "cli" }))).toMatchObject(data.nothingLeft);
  const answers: Found["results"][] = [];
  for (const word of vocabulary.slice(0, 12)) {
    const { results, report } = resultOf(
      await memory.search(`${word} and ${vocabulary.at(-1)}`, { maxResults: 50, maxTokens: 4000 }),
    );
    expect(report).toMatchObject({ state: "ok", mode: "hybrid" });
    answers.push(results);
  }
  expect(resultOf(await memory.check())).toMatchObject({ ok: true });
  resultOf(await memory.close());
  expect(memory.notices).toEqual([]);
  return { content: contentOf(indexFile(house), settings.model), answers };
}

describe("after any order of edits, syncs, rebuilds, kills and new settings", { timeout: 180_000 }, () => {
  test.each(orders)(`the index is the same as one that is built afresh: order %i (${seeded})`, async (order) => {
    const random = randomFrom(stormSeed(order));
    const house = useHouse();
    sessionsFolder(house);
    const agent = new Agent(house, random);
    try {
      await liveThrough(house, agent, random);
      const [grown, fresh] = [await settle(house, agent.settings), await settleAfresh(house, agent.settings)];
      expect(grown).toEqual(fresh);
      expect(integrityOf(indexFile(house))).toEqual(["ok"]);
    } catch (error) {
      throw new Error(`${seeded}: ${agent.did.join(", ")}`, { cause: error });
    }
  });
});

async function liveThrough(house: House, agent: Agent, random: Random): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (let count = random.below(5); count > 0; count--) agent.did.push(changeSomething(house, random));
    await agent.act();
    if (existsSync(house.indexFolder)) expect(strayFiles(indexFile(house))).toEqual([]);
  }
  await agent.end();
}

/** The same notes and transcripts, in an index of their own. */
async function settleAfresh(house: House, settings: Settings): Promise<Settled> {
  const fresh = copyHouse(house, { fresh: true });
  try {
    cpSync(sessionsFolder(house), sessionsFolder(fresh), { recursive: true, preserveTimestamps: true });
    return await settle(fresh, settings);
  } finally {
    await fresh.end();
  }
}
