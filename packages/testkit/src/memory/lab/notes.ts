import type { SyncReport } from "@memslot/core";
import type { MemoryLab, OpenedMemory } from "./lab.ts";

/** Writes files, opens the plugin and syncs. */
export async function openWith(lab: MemoryLab, files: Readonly<Record<string, string>>): Promise<OpenedMemory> {
  for (const [path, content] of Object.entries(files)) await lab.write(path, content);
  const opened = await lab.open();
  await opened.settle();
  return opened;
}

/** The built-in synonyms of the fake join `car` and `automobile`; no word of the query stands in the file. */
export const paraphrase: { query: string; path: string; text: string } = {
  query: "automobile",
  path: "memory/garage.md",
  text: "The car is in the second row of the garage.\n",
};

/** Writes the file that the paraphrase is about, and forty that say other things. */
export async function writeParaphraseNotes(lab: MemoryLab): Promise<void> {
  await lab.write(paraphrase.path, paraphrase.text);
  for (let index = 0; index < 40; index++)
    await lab.write(`memory/other-${index}.md`, `Groceries and errands of the day, list ${index}.\n`);
}

/** A few syncs, until no vector is missing. */
export async function settleVectors(opened: OpenedMemory): Promise<SyncReport | undefined> {
  let report = await opened.settle();
  for (let round = 0; round < 20 && report?.pendingVectors !== undefined; round++) report = await opened.settle();
  return report;
}
