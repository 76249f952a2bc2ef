import { type MemorySearchResult, type Reranker, parseConfig } from "@memslot/core";
import rerankHttp from "@memslot/rerank-http";
import { openNotes } from "./recall.ts";
import { printTable } from "../support/table.ts";
import { readVault, type Vault, type VaultQuestion } from "./vault.ts";

export interface RerankBenchOptions {
  /** The address of a reranker, below which `/rerank` is. */
  url: string | undefined;
  model: string | undefined;
}

/** Milliseconds: a bench waits for its answers. */
const timeoutMs = 10_000;
/** Spreads of the noise on what a made-up reranker knows: 1 is right, 0 is wrong. */
const spreads = [0, 0.25, 0.5, 1];

/**
 * Measures what a reranker does to the order on the vault, in keyword mode: made-up ones that know the labels, with ever
 * more noise, one that knows nothing, and the one of `--url`.
 */
export async function benchRerank({ url, model }: RerankBenchOptions): Promise<void> {
  const vault = readVault();
  const questions = vault.questions.filter(({ evidence, now }) => evidence.length > 0 && now === undefined);
  const contestants: [name: string, reranker: Reranker | undefined][] = [
    ["no reranker", undefined],
    ...spreads.map((spread): [string, Reranker] => [
      spread === 0 ? "knows the labels" : `labels with noise of ${spread}`,
      knowing(vault, questions, spread),
    ]),
    ["knows nothing", knowing(vault, questions, 1e6)],
  ];
  if (url !== undefined) contestants.push([url, await openHttp(url, model)]);
  const kinds = ["name", "title"].filter((kind) => questions.some((question) => question.kind === kind));
  const rows: string[][] = [];
  for (const [name, reranker] of contestants) {
    const asked = await ask(vault, questions, reranker);
    const share = (measure: (one: Asked) => boolean | number, of: readonly Asked[] = asked): string =>
      (of.reduce((sum, one) => sum + Number(measure(one)), 0) / of.length).toFixed(3);
    const named = asked.filter(({ question }) => kinds.includes(question.kind));
    const waits = asked.flatMap(({ ms }) => (ms === undefined ? [] : [ms])).toSorted((a, b) => a - b);
    rows.push([
      name,
      share(({ first }) => first),
      share(({ inSix }) => inSix),
      share(({ first }) => first, named),
      share(({ failed }) => failed),
      waits.length === 0 ? "" : `${waits[Math.floor(waits.length / 2)]?.toFixed(1)} / ${waits.at(-1)?.toFixed(1)}`,
    ]);
  }
  printTable(
    `Vault, ${questions.length} questions`,
    ["", "note first", "note in six", `${kinds.join(" and ")}: first`, "failed", "ms, median / worst"],
    rows,
  );
}

interface Asked {
  question: VaultQuestion;
  first: boolean;
  inSix: boolean;
  failed: boolean;
  /** Of the reranker. */
  ms: number | undefined;
}

async function ask(
  vault: Vault,
  questions: readonly VaultQuestion[],
  reranker: Reranker | undefined,
): Promise<Asked[]> {
  const { memory, close } = await openNotes(vault.notes, {}, true, { reranker, query: { rerank: { timeoutMs } } });
  try {
    const asked: Asked[] = [];
    for (const question of questions) {
      const right = new Set(question.evidence.map(({ path }) => path));
      let failed = false;
      let ms: number | undefined;
      const results: MemorySearchResult[] = await memory.search(question.query, {
        maxResults: 6,
        onDebug({ rerank }) {
          failed = rerank?.state === "failed";
          ms = rerank?.ms;
        },
      });
      const isRight = ({ path }: MemorySearchResult): boolean => right.has(path);
      asked.push({ question, first: results.slice(0, 1).some(isRight), inSix: results.some(isRight), failed, ms });
    }
    return asked;
  } finally {
    await close();
  }
}

/** Knows which lines answer a question, and mistakes itself by as much as `spread`. The same noise each time. */
function knowing(vault: Vault, questions: readonly VaultQuestion[], spread: number): Reranker {
  const linesOf = new Map(
    questions.map(({ query, evidence }) => [
      query,
      evidence.flatMap(({ path, startLine, endLine }) =>
        (vault.notes.get(path) ?? "")
          .split("\n")
          .slice(startLine - 1, endLine)
          .filter((line) => line.trim().length > 3),
      ),
    ]),
  );
  const noise = gaussian(7);
  return {
    id: "made-up",
    model: `noise ${spread}`,
    rerank: async (query, texts) =>
      texts.map((text) => Number((linesOf.get(query) ?? []).some((line) => text.includes(line))) + spread * noise()),
  };
}

function gaussian(seed: number): () => number {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

async function openHttp(baseUrl: string, model: string | undefined): Promise<Reranker> {
  const rerank = { baseUrl, ...(model !== undefined && { model }) };
  const config = parseConfig({ agents: { defaults: { memorySearch: { query: { rerank } } } } }, { env: process.env });
  return rerankHttp.open({
    settings: config.agent("main").memorySearch,
    environment: (name) => config.environment(name),
    stateDir: config.stateDir,
    options: baseUrl.endsWith("/v1") || baseUrl.endsWith("/v2") ? {} : { format: "texts" },
    signal: new AbortController().signal,
  });
}
