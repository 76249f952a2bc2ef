import { type Contestant, megabytesOf, memslot, openclaw, withNotes } from "./support/contestants.ts";
import { accessCode } from "./support/corpus.ts";
import { measure, type Usage } from "./support/measure.ts";
import { median, printTable } from "./support/table.ts";

export const rounds = 5;
/** A note that is searched for, where there are as many. */
const usualProbe = 1234;

/** What a program used for whole commands. */
export interface SpeedFigures {
  first: Usage;
  unchanged: Usage[];
  search: Usage[];
  /** Node with nothing to do, in turn with the searches: what of their time is no program's. */
  empty: Usage[];
  indexMegabytes: number;
}

/**
 * Times whole commands on generated notes in keyword mode: first index, index with nothing to do, and search in a fresh
 * process, also as a multiple of an empty one. With `openclaw` it is installed into a temporary folder and runs in turn with this project.
 */
export async function benchSpeed(options: { files: number; openclaw: boolean }): Promise<void> {
  await withNotes(options.files, ({ folder, workspace }) => {
    const contestants = [memslot(folder, workspace, { provider: "none" })];
    if (options.openclaw) contestants.push(openclaw(folder, workspace, { provider: "none" }));
    const figures = contestants.map((contestant) => runCommands(contestant, options.files));
    report(options.files, contestants, figures);
  });
}

/** Runs the commands of one program on its notes. Throws where a search does not find what is there. */
export function runCommands(contestant: Contestant, files: number): SpeedFigures {
  const probe = Math.min(usualProbe, files - 1);
  console.error(`measuring ${contestant.name} …`);
  const call = (program: string[]): Usage => measure(program, contestant.environment, 15 * 60_000);
  const first = call(contestant.firstIndex ?? contestant.index);
  // Files that were saved a moment ago are looked at once more; the second run is the one with nothing to do.
  call(contestant.index);
  const unchanged = Array.from({ length: rounds }, () => call(contestant.index));
  const query = `access code of project zephyr${probe}`;
  const [search, empty]: [Usage[], Usage[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    search.push(call(contestant.search(query)));
    empty.push(call(["--eval", "0"]));
  }
  if (!search.every((usage) => usage.stdout.includes(accessCode(probe))))
    throw new Error(`${contestant.name} did not find ${accessCode(probe)}`);
  return { first, unchanged, search, empty, indexMegabytes: megabytesOf(contestant.indexFolder) };
}

function report(files: number, contestants: readonly Contestant[], figures: readonly SpeedFigures[]): void {
  const rows: [string, (figure: SpeedFigures) => number, string][] = [
    ["first index, CPU", (figure) => figure.first.cpuMs / 1000, "s"],
    ["first index, wall", (figure) => figure.first.wallMs / 1000, "s"],
    ["first index, peak memory", (figure) => figure.first.peakMegabytes, "MB"],
    ["nothing to index, CPU", (figure) => cpuOf(figure.unchanged) / 1000, "s"],
    ["nothing to index, wall", (figure) => median(figure.unchanged.map((usage) => usage.wallMs)) / 1000, "s"],
    ["search, CPU", (figure) => cpuOf(figure.search) / 1000, "s"],
    ["search, wall", (figure) => median(figure.search.map((usage) => usage.wallMs)) / 1000, "s"],
    ["search, CPU of an empty node", (figure) => cpuOf(figure.search) / cpuOf(figure.empty), "times"],
    ["search, peak memory", (figure) => median(figure.search.map((usage) => usage.peakMegabytes)), "MB"],
    ["index on disk", (figure) => figure.indexMegabytes, "MB"],
  ];
  const [own] = figures;
  printTable(
    `${files} generated notes of 4 kB, keyword mode, fresh processes, median of ${rounds}`,
    ["", ...contestants.map((contestant) => contestant.name), ...(figures.length > 1 ? ["ratio"] : [])],
    rows.map(([label, read, unit]) => [
      label,
      ...figures.map((figure) => `${read(figure).toFixed(unit === "s" ? 2 : unit === "times" ? 1 : 0)} ${unit}`),
      ...figures.slice(1).map((figure) => `${(read(figure) / (own ? read(own) : Number.NaN)).toFixed(1)}x`),
    ]),
  );
}

function cpuOf(usages: readonly Usage[]): number {
  return median(usages.map((usage) => usage.cpuMs));
}
