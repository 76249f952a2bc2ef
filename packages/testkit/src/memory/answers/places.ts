import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { assertDoesNotFind, assertFinds } from "../lab/expect.ts";
import type { MemoryCheck, MemoryLab } from "../lab/lab.ts";

interface Home {
  workspaceDir: string;
  agentId: string;
  own: string;
  foreign: string;
}

/** Two workspaces with notes of their own, for the same agent or for another one. */
async function twoHomes(lab: MemoryLab, otherAgent: string): Promise<[Home, Home]> {
  const other = join(lab.outsideDir, "other");
  await mkdir(other);
  await lab.write("MEMORY.md", "The otter sleeps in the boathouse.\n");
  await writeFile(join(other, "MEMORY.md"), "The badger digs behind the orchard.\n");
  return [
    { workspaceDir: lab.workspaceDir, agentId: "main", own: "otter boathouse", foreign: "badger orchard" },
    { workspaceDir: other, agentId: otherAgent, own: "badger orchard", foreign: "otter boathouse" },
  ];
}

async function openAt(lab: MemoryLab, { workspaceDir, agentId }: Home) {
  return await lab.open({ workspaceDir, agentId });
}

/** Nothing that the other home's note says, before a sync and after it. */
async function assertOwn(opened: Awaited<ReturnType<typeof openAt>>, { own, foreign }: Home): Promise<void> {
  const answers = async (): Promise<string> =>
    JSON.stringify((await opened.ask(foreign, { maxResults: 50, minScore: 0 })).results);
  const word = foreign.split(" ")[0] ?? foreign;
  assert.ok(!(await answers()).includes(word), `what stands in another workspace was found before the sync`);
  await opened.settle();
  assert.ok(!(await answers()).includes(word), `what stands in another workspace was found after the sync`);
  const { snippet } = await assertFinds(opened, own, "MEMORY.md");
  assert.ok(snippet.includes(own.split(" ")[0] ?? own), snippet);
}

const cases = [
  { who: "two workspaces of one agent", otherAgent: "main" },
  { who: "two agents, each with a workspace", otherAgent: "other" },
] as const;

/** What is kept for one workspace and one agent is theirs alone. */
export const placeChecks: readonly MemoryCheck[] = cases.flatMap(({ who, otherAgent }): MemoryCheck[] => [
  {
    name: `places: ${who}, open at once, find their own notes alone`,
    async run(lab) {
      const [first, second] = await twoHomes(lab, otherAgent);
      const one = await openAt(lab, first);
      await one.settle();
      const two = await openAt(lab, second);
      await assertOwn(two, second);
      await assertOwn(one, first);
      await assertDoesNotFind(two, first.own, "memory/none.md");
      await assertOwn(two, second);
    },
  },
  {
    name: `places: ${who}, open one after the other, find their own notes alone`,
    async run(lab) {
      const homes = await twoHomes(lab, otherAgent);
      for (const home of [...homes, ...homes]) {
        const opened = await openAt(lab, home);
        await assertOwn(opened, home);
        await opened.memory.close();
      }
    },
  },
]);
