import { type Contestant, memslot, openclaw, qmd, withNotes } from "../support/contestants.ts";
import type { Usage } from "../support/measure.ts";
import { rounds, runCommands } from "../speed.ts";
import { median } from "../support/table.ts";
import type { CommandFigures, CommandUsage } from "./results.ts";

/** Whole commands of this project, OpenClaw and qmd on the same notes, by words, one program after the other. */
export async function measureCommands(files: number): Promise<CommandFigures> {
  const programs: CommandFigures["programs"] = [];
  await withNotes(files, ({ folder, workspace }) => {
    const contestants: Contestant[] = [
      memslot(folder, workspace, { provider: "none" }),
      openclaw(folder, workspace, { provider: "none" }),
      qmd(folder, workspace),
    ];
    for (const contestant of contestants) {
      const { first, unchanged, search, indexMegabytes } = runCommands(contestant, files);
      programs.push({
        name: contestant.name,
        first: usageOf([first]),
        unchanged: usageOf(unchanged),
        search: usageOf(search),
        indexMegabytes: rounded(indexMegabytes),
      });
    }
  });
  return { files, rounds, programs };
}

function usageOf(usages: readonly Usage[]): CommandUsage {
  const middle = (read: (usage: Usage) => number): number => rounded(median(usages.map(read)));
  return {
    cpu: middle(({ cpuMs }) => cpuMs / 1000),
    wall: middle(({ wallMs }) => wallMs / 1000),
    megabytes: middle(({ peakMegabytes }) => peakMegabytes),
  };
}

/** Three digits are more than such a figure is good for. */
function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
