import path from "node:path";
import { parseArgs } from "node:util";
import { benchAgent } from "./agent.ts";
import { benchBackends } from "./backends.ts";
import { benchEmbeddings } from "./embeddings.ts";
import { benchFreshness } from "./freshness.ts";
import { benchHooks } from "./hooks.ts";
import { benchHybrid } from "./retrieval/hybrid.ts";
import { benchLocal } from "./local.ts";
import { benchMcp } from "./mcp.ts";
import { benchOpenClaw } from "./openclaw.ts";
import { benchPlaces } from "./places.ts";
import { benchPage } from "./page/bench-page.ts";
import { benchRerank } from "./retrieval/rerank.ts";
import { benchRetrieval } from "./retrieval/retrieval.ts";
import { benchScale, usualSizes } from "./scale/scale.ts";
import { benchSpeed } from "./speed.ts";
import { benchUi } from "./ui.ts";
import { benchWords } from "./words.ts";

const usage = `Usage: pnpm bench [page] [--chunks 1000,10000,100000] [--engines NAME,NAME] [--again STEP,STEP] [--draw] [--files 2000]
       pnpm bench speed [--files 2000] [--openclaw]
       pnpm bench words [--files 2000]
       pnpm bench embeddings [--files 2000] [--openclaw]
       pnpm bench freshness [--files 10000]
       pnpm bench local [--model FILE]
       pnpm bench retrieval [--data DIR]
       pnpm bench rerank [--url ADDRESS] [--model NAME]
       pnpm bench hybrid [--data DIR] [--word-vectors FILE] [--embeddings URL --model NAME]
       pnpm bench backends [--files 2000] [--qmd COMMAND] [--data DIR]
       pnpm bench places [--chunks 2000]
       pnpm bench mcp [--files 2000] [--qmd COMMAND]
       pnpm bench agent [--files 2000]
       pnpm bench hooks [--files 2000]
       pnpm bench ui [--files 8000]
       pnpm bench openclaw [--questions 12]
       pnpm bench scale [--chunks 1000,10000,100000] [--engines NAME,NAME] [--json]

page        docs/benchmarks.md: measures all that this clone has not measured yet, and draws it; --draw measures nothing
speed       whole commands on generated notes; --openclaw installs openclaw into .tools and runs it in turn
words       the first index and questions of every kind by words alone, beside plain FTS5 in the same process
embeddings  the same as speed with an embedding server on this machine, and what is asked of it
freshness   what it costs to be right: unchanged and changed files, event loop, watching, transcripts, rebuilds
local       tokens per second of the local embeddings, on a made model if no GGUF file is given
retrieval   recall on the vault, public documentation and public data sets; --data is the folder that holds them
rerank      what a reranker does to the order on the vault: made-up ones, and that of --url
hybrid      words and meaning together, with providers of every quality: made ones, word vectors, an endpoint
backends    the same notes and questions with every backend; --qmd is the command of the qmd tool
places      memory-lancedb in a folder and in a bucket that answers after 20 ms
mcp         searches through \`memslot mcp\` over stdio; with --qmd through \`qmd mcp\` in turn
agent       the start of a session with an index that is there, and what a flush adds to the user's turn
hooks       each event of \`memslot hook\` in a process of its own, in turn with an empty Node
ui          \`memslot ui\` in Chromium: address to first results, key to painted results, beside a bare page
openclaw    the same questions to a real OpenClaw before and after memslot fills its memory slot
scale       vectors and words with more and more chunks: every engine of memslot, sqlite-vec alone, and OpenClaw's queries`;

const { values, positionals } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  allowPositionals: true,
  options: {
    files: { type: "string" },
    chunks: { type: "string" },
    openclaw: { type: "boolean", default: false },
    data: { type: "string" },
    model: { type: "string" },
    "word-vectors": { type: "string" },
    embeddings: { type: "string" },
    qmd: { type: "string" },
    url: { type: "string" },
    engines: { type: "string" },
    again: { type: "string" },
    draw: { type: "boolean", default: false },
    questions: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

const files = Number(values.files ?? 2000);
const sizes = values.chunks === undefined ? usualSizes : values.chunks.split(",").map(Number);
const engines = values.engines?.split(",");
const [data, model, qmd] = [values.data, values.model, values.qmd].map((place) => place && path.resolve(place));
const endpoint = values.embeddings ? { baseUrl: values.embeddings, model: values.model ?? "default" } : undefined;

const benches: Readonly<Record<string, () => unknown>> = {
  page: () => benchPage({ files, sizes, engines, again: values.again?.split(",") ?? [], draw: values.draw }),
  speed: () => benchSpeed({ files, openclaw: values.openclaw }),
  words: () => benchWords(files),
  embeddings: () => benchEmbeddings({ files, openclaw: values.openclaw }),
  freshness: () => benchFreshness(Number(values.files ?? 10_000)),
  local: () => benchLocal(model),
  retrieval: () => benchRetrieval(data),
  rerank: () => benchRerank({ url: values.url, model: values.model }),
  hybrid: () =>
    benchHybrid({ data, wordVectors: values["word-vectors"] && path.resolve(values["word-vectors"]), endpoint }),
  backends: () => benchBackends({ files, qmd, data }),
  places: () => benchPlaces(Number(values.chunks ?? 2000)),
  mcp: () => benchMcp({ files, qmd }),
  agent: () => benchAgent(files),
  hooks: () => benchHooks(files),
  ui: () => benchUi(Number(values.files ?? 8000)),
  openclaw: () => benchOpenClaw(Number(values.questions ?? 12)),
  scale: () => benchScale({ sizes, engines, json: values.json }),
};
const bench = benches[positionals[0] ?? "page"];
if (bench) await bench();
else {
  console.error(usage);
  process.exitCode = 2;
}
