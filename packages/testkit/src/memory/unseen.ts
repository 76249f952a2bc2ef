import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SearchReport } from "@memslot/core";
import { deterministicEmbeddings } from "../deterministic-embeddings.ts";
import { randomFrom } from "../helpers/random.ts";
import type { MemoryCheck, MemoryLab, OpenedMemory } from "./lab/lab.ts";

const group = "agent:main:telegram:group:-100";

const vocabulary =
  "heron nest pike reed marsh plan planet plankton boat ferry deploy server cluster invoice garden tomato 上海 会议".split(
    " ",
  );

/** Words of the shared notes, words that stand in private ones alone, beginnings of both, and none at all. */
const questions: readonly string[] = [
  "heron nest",
  "deploy zanzibar",
  "zanzibr deplyo icecream",
  "zanzibar",
  "zanz plan",
  "planet ferry invoice 2026-05-04",
  "上海 会议",
  "a question about nothing that stands anywhere",
  "tomato",
];

function drawNote(random: () => number, lines: number): string {
  const draw = (): string => vocabulary[Math.floor(random() * vocabulary.length)] ?? "heron";
  const drawn = Array.from({ length: lines }, () =>
    Array.from({ length: 3 + Math.floor(random() * 6) }, draw).join(" "),
  );
  return `# ${draw()}\n\n${drawn.join("\n")}\n`;
}

/** What a group is told, without what says how long it took or which of two backends answered since when. */
async function toldTo(opened: OpenedMemory): Promise<unknown[]> {
  const told: unknown[] = [];
  for (const query of questions) {
    for (const maxResults of [2, 20]) {
      const { results, report } = await opened.ask(query, { sessionKey: group, maxResults, minScore: 0.2 });
      const { timingsMs: _timings, fallback: _fallback, ...rest } = report satisfies SearchReport;
      told.push(JSON.parse(JSON.stringify({ query, maxResults, results, report: rest })));
    }
  }
  return told;
}

async function staysTheSame(lab: MemoryLab, opened: OpenedMemory): Promise<void> {
  const random = randomFrom(9);
  await opened.settle();
  const before = await toldTo(opened);
  await lab.write("MEMORY.md", "# Zanzibar\n\nThe trip to zanzibar is a secret. heron heron heron deploy\n");
  for (let index = 0; index < 25; index++)
    await lab.write(`memory/${index}.md`, `${drawNote(random, 8)}\nzanzibar planets zanzibari deploy\n`);
  await opened.settle();
  assert.deepEqual(await toldTo(opened), before);
  const [own] = (await opened.ask("zanzibar trip secret")).results;
  assert.ok(own !== undefined, "the owner finds the private notes, so that there was something to keep quiet about");
}

async function shareNotes(lab: MemoryLab): Promise<string> {
  const random = randomFrom(8);
  const folder = join(lab.outsideDir, "shared");
  await mkdir(folder);
  for (let index = 0; index < 8; index++) await writeFile(join(folder, `${index}.md`), drawNote(random, 5));
  return folder;
}

/** A group can learn nothing of the private notes by asking for words and looking at figures. */
export const unseenChecks: readonly MemoryCheck[] = [
  {
    name: "audience: nothing that a shared session is told changes with private notes",
    async run(lab) {
      const folder = await shareNotes(lab);
      await staysTheSame(lab, await lab.open({ memorySearch: { extraPaths: [folder] } }));
    },
  },
  {
    name: "audience: nothing that a shared session is told changes with private notes where there is no other note",
    async run(lab) {
      await mkdir(join(lab.outsideDir, "empty"));
      await staysTheSame(lab, await lab.open({ memorySearch: { extraPaths: [join(lab.outsideDir, "empty")] } }));
    },
  },
  {
    name: "audience: nothing that a shared session is told by meaning changes with private notes",
    needs: ["vector"],
    async run(lab) {
      const embeddings = deterministicEmbeddings();
      const folder = await shareNotes(lab);
      await staysTheSame(lab, await lab.open({ embeddings, memorySearch: { extraPaths: [folder] } }));
    },
  },
];
