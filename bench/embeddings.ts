import { appendFileSync } from "node:fs";
import path from "node:path";
import { type Contestant, megabytesOf, memslot, openclaw, withNotes } from "./support/contestants.ts";
import { accessCode } from "./support/corpus.ts";
import { measure, type Usage } from "./support/measure.ts";
import { type EmbeddingServer, type ServerStats, startEmbeddingServer } from "./support/start-embedding-server.ts";
import { median, printTable } from "./support/table.ts";

const rounds = 5;

/** What commands used, and what they asked of the embedding server. */
interface Step {
  runs: Usage[];
  asked: ServerStats[];
}

interface Figures {
  first: Step;
  unchanged: Step;
  edited: Step;
  search: Step;
  /** Searches that gave the one note that has the answer. */
  found: number;
  indexMegabytes: number;
}

/**
 * Times whole commands with an embedding provider, and counts what they ask of it: an embedding server on this machine
 * that takes 20 ms an answer. With `openclaw` it is installed into a temporary folder and runs in turn with this project.
 */
export async function benchEmbeddings(options: { files: number; openclaw: boolean }): Promise<void> {
  await withNotes(options.files, async ({ folder, workspace }) => {
    const server = await startEmbeddingServer();
    try {
      const model = "bench-embed";
      const apiKey = "sk-bench";
      const remote = { baseUrl: `${server.url}/v1`, apiKey };
      const contestants = [memslot(folder, workspace, { provider: "openai", model, remote })];
      if (options.openclaw) {
        const search = { provider: "openai-compatible", model, remote: { baseUrl: `${server.url}/v1/`, apiKey } };
        contestants.push(openclaw(folder, workspace, search));
      }
      const figures: Figures[] = [];
      for (const contestant of contestants) figures.push(await run(contestant, workspace, server));
      report(options.files, contestants, figures);
    } finally {
      await server.close();
    }
  });
}

async function run(contestant: Contestant, workspace: string, server: EmbeddingServer): Promise<Figures> {
  console.error(`measuring ${contestant.name} …`);
  const step = async (times: number, program: (round: number) => string[]): Promise<Step> => {
    const result: Step = { runs: [], asked: [] };
    for (let round = 0; round < times; round++) {
      const command = program(round);
      await server.takeStats();
      result.runs.push(measure(command, contestant.environment, 15 * 60_000));
      result.asked.push(await server.takeStats());
    }
    return result;
  };
  const index = (): string[] => contestant.index;
  const first = await step(1, index);
  const indexMegabytes = megabytesOf(contestant.indexFolder);
  // Files that were saved a moment ago are looked at once more; the second run is the one with nothing to do.
  await step(1, index);
  const unchanged = await step(rounds, index);
  const edited = await step(rounds, (round) => {
    const note = path.join(workspace, `memory/note-${String(100 + round).padStart(5, "0")}.md`);
    appendFileSync(note, `\nThe lighthouse of ${contestant.name} was painted ${round + 1} times.\n`);
    return contestant.index;
  });
  const search = await step(rounds, (round) => contestant.search(`access code of project zephyr${200 + round}`));
  const found = search.runs.filter((usage, round) => usage.stdout.includes(accessCode(200 + round))).length;
  return { first, unchanged, edited, search, found, indexMegabytes };
}

interface Row {
  label: string;
  read: (figures: Figures) => number;
  unit: "s" | "MB" | "";
  target?: Target;
}

/** What is aimed at with 2,000 notes. */
interface Target {
  words: string;
  isMet: (own: number, peer: number | undefined) => boolean;
}

const cpu = (step: Step): number => median(step.runs.map((usage) => usage.cpuMs)) / 1000;
const wall = (step: Step): number => median(step.runs.map((usage) => usage.wallMs)) / 1000;
const peak = (step: Step): number => Math.max(...step.runs.map((usage) => usage.peakMegabytes));
/** The most of any round: one request too many is one too many. */
const most = (step: Step, read: (asked: ServerStats) => number): number => Math.max(...step.asked.map(read));
const requests = (step: Step): number => most(step, (asked) => asked.requests);
const texts = (step: Step): number => most(step, (asked) => asked.texts);
const atMost = (limit: number, unit = ""): Target => ({ words: `≤ ${limit}${unit}`, isMet: (own) => own <= limit });
const exactly = (count: number): Target => ({ words: String(count), isMet: (own) => own === count });

const rows: Row[] = [
  { label: "first index, requests", read: ({ first }) => requests(first), unit: "", target: atMost(100) },
  { label: "first index, texts", read: ({ first }) => texts(first), unit: "" },
  {
    label: "first index, requests at one time",
    read: ({ first }) => most(first, ({ maxInFlight }) => maxInFlight),
    unit: "",
  },
  {
    label: "first index, wall",
    read: ({ first }) => wall(first),
    unit: "s",
    target: { words: "8x faster", isMet: (own, peer) => peer === undefined || peer >= own * 8 },
  },
  { label: "first index, CPU", read: ({ first }) => cpu(first), unit: "s" },
  { label: "first index, peak memory", read: ({ first }) => peak(first), unit: "MB", target: atMost(300, " MB") },
  { label: "index on disk", read: (figures) => figures.indexMegabytes, unit: "MB", target: atMost(45, " MB") },
  { label: "nothing to index, requests", read: ({ unchanged }) => requests(unchanged), unit: "", target: exactly(0) },
  { label: "nothing to index, CPU", read: ({ unchanged }) => cpu(unchanged), unit: "s" },
  { label: "nothing to index, wall", read: ({ unchanged }) => wall(unchanged), unit: "s" },
  { label: "one file edited, requests", read: ({ edited }) => requests(edited), unit: "", target: exactly(1) },
  { label: "one file edited, texts", read: ({ edited }) => texts(edited), unit: "" },
  { label: "one file edited, CPU", read: ({ edited }) => cpu(edited), unit: "s" },
  { label: "one file edited, wall", read: ({ edited }) => wall(edited), unit: "s", target: atMost(0.6, " s") },
  { label: "search, requests", read: ({ search }) => requests(search), unit: "", target: exactly(1) },
  { label: `search, of ${rounds} answered rightly`, read: ({ found }) => found, unit: "", target: exactly(rounds) },
  { label: "search, CPU", read: ({ search }) => cpu(search), unit: "s" },
  { label: "search, wall", read: ({ search }) => wall(search), unit: "s" },
  { label: "search, peak memory", read: ({ search }) => peak(search), unit: "MB" },
];

function report(files: number, contestants: readonly Contestant[], figures: readonly Figures[]): void {
  const [own, peer] = figures;
  if (own === undefined) return;
  printTable(
    `${files} generated notes of 4 kB, vectors of 768 from a server on this machine with 20 ms an answer, fresh processes, median of ${rounds}`,
    ["", ...contestants.map((contestant) => contestant.name), ...(peer ? ["ratio"] : []), "target"],
    rows.map(({ label, read, unit, target }) => [
      label,
      ...figures.map((figure) => withUnit(read(figure), unit)),
      ...(peer ? [ratio(read(peer), read(own))] : []),
      files === 2000 && target
        ? `${target.words}${target.isMet(read(own), peer && read(peer)) ? "" : " (missed)"}`
        : "",
    ]),
  );
}

function ratio(peer: number, own: number): string {
  return own === 0 ? "" : `${(peer / own).toFixed(1)}x`;
}

function withUnit(value: number, unit: Row["unit"]): string {
  return `${value.toFixed(unit === "s" ? 2 : 0)} ${unit}`.trimEnd();
}
