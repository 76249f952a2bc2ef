import {
  type ApiRequest,
  type EmbeddingApi,
  type EmbeddingApiOptions,
  type Quirk,
  startEmbeddingApi,
} from "@memslot/fakes/embedding-api";
import { afterwards } from "@memslot/test-tools/files";
import type { EmbeddingProvider, Memory } from "memslot";
import { expect } from "vitest";
import { ask, type House, useHouse } from "./temp-workspace.ts";

/** A house with a server that plays the far end of every provider. */
export interface EmbeddingHouse extends Omit<House, "open"> {
  api: EmbeddingApi;
  /** Keys of the configuration that lead OpenAI and Google to the server. */
  settings: { models: object };
  /** Opens the memory with these keys under `memorySearch`. */
  open(memorySearch?: Record<string, unknown>): Promise<Memory>;
  /** Another server, closed with the test. */
  startApi(options?: EmbeddingApiOptions): Promise<EmbeddingApi>;
}

export const usualProvider = { provider: "openai", model: "model-a" };

export async function useEmbeddingHouse(
  notes: Readonly<Record<string, string>> = {},
  options?: EmbeddingApiOptions,
): Promise<EmbeddingHouse> {
  const startApi = async (given: EmbeddingApiOptions = {}): Promise<EmbeddingApi> => {
    const server = await startEmbeddingApi({ dimensions: 64, ...given });
    afterwards(() => server.close());
    return server;
  };
  const api = await startApi(options);
  const house = useHouse(notes);
  const openai = { apiKey: "sk-of-the-test", baseUrl: `${api.url}/v1` };
  const settings = { models: { providers: { openai, google: { apiKey: "key-of-google", baseUrl: api.url } } } };
  const open = (memorySearch = {}): Promise<Memory> =>
    house.open({ settings, memorySearch: { ...usualProvider, ...memorySearch } });
  return { ...house, api, settings, startApi, open };
}

/** The texts that were sent to be embedded, over all requests that match. */
export function textsSent(log: readonly ApiRequest[], match = ""): string[] {
  return log.filter(({ path: url }) => url.includes(match)).flatMap(({ body }) => textsOf(body));
}

/** The same without the word that a provider is asked with for the length of its vectors. */
export function notesSent(log: readonly ApiRequest[]): string[] {
  return textsSent(log).filter((text) => text !== "memory");
}

function textsOf(body: string): string[] {
  if (!body.startsWith("{")) return [];
  const { input, requests } = JSON.parse(body) as {
    input?: string | string[];
    requests?: { content: { parts: { text: string }[] } }[];
  };
  if (requests) return requests.map(({ content }) => content.parts.map(({ text }) => text).join(""));
  return input === undefined ? [] : [input].flat();
}

/** Notes on one subject each, a file each. */
export function manyNotes(count: number): Record<string, string> {
  const subjects = ["budget", "server", "kitten", "journey", "garden", "piano", "harvest", "bridge"];
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => {
      const subject = subjects[index % subjects.length] ?? "";
      return [`memory/note-${index}.md`, `# Note ${index}\n\n- The ${subject} of number ${index} is on my mind.\n`];
    }),
  );
}

/** A provider whose vectors are what a test says, with the texts that it was asked for. */
interface PlacedEmbeddings extends EmbeddingProvider {
  readonly texts: string[];
}

/**
 * Vectors of `dimensions` numbers that `place` fills: `near` is how near a text is to all that is asked, 0 to 1. Texts
 * that are equally near lie in different directions around it.
 */
export function placedEmbeddings(
  near: (text: string) => number,
  { model = "placed", dimensions = 8 }: { model?: string; dimensions?: number } = {},
): PlacedEmbeddings {
  const texts: string[] = [];
  const vectorOf = (cosine: number, turn: number): Float32Array => {
    const vector = new Float32Array(dimensions);
    vector[0] = cosine;
    vector[1 + (turn % (dimensions - 1))] = Math.sqrt(1 - cosine * cosine);
    return vector;
  };
  return {
    id: "placed",
    model,
    dimensions,
    maxBatchItems: 64,
    texts,
    embedQuery: () => Promise.resolve(vectorOf(1, 0)),
    embedBatch(batch) {
      texts.push(...batch);
      return Promise.resolve(batch.map((text, index) => vectorOf(near(text), index + text.length)));
    },
  };
}

/**
 * Indexes eight notes with a server that has the quirk: all are embedded but those to blame, and searched by meaning, or
 * none is and the reason says what the server answered. Requests are few either way.
 */
export async function expectQuirkHandled({ faults, missing, refused = "" }: Quirk): Promise<void> {
  const given = await useEmbeddingHouse({
    ...manyNotes(6),
    "memory/bad.md": "# Bad\n\n- Here is the poisonword.\n",
    "memory/long.md": `# Long\n\n${"the granary ledger lists sacks of barley. ".repeat(33)}\n`,
  });
  for (const fault of faults) given.api.fail({ times: 1_000_000, ...fault });
  const memory = await given.open();
  const report = await memory.sync({ reason: "cli" });
  expect(given.api.log.length).toBeLessThan(32);
  const answer = await ask(memory, "the kitten of number 2");
  expect(answer.results[0]?.path).toBe("memory/note-2.md");
  const { embedding, vector } = memory.status();
  if (missing === undefined) {
    expect(report?.pendingVectors?.reason).toMatch(new RegExp(refused, "u"));
    expect(answer.report).toMatchObject({ state: "degraded", mode: "keyword" });
    return;
  }
  expect(report?.pendingVectors).toBeUndefined();
  expect([vector?.embedded, embedding?.quarantined?.length]).toEqual([8 - missing, missing]);
  expect(answer.report).toMatchObject({ state: "ok", mode: "hybrid" });
}
