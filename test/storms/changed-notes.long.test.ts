import { readFileSync } from "node:fs";
import { listChanges, type LoggedChange, undoChange } from "@memslot/agent-kit";
import { type Child, startChild } from "@memslot/test-tools/child";
import { expect, test } from "vitest";
import { askOnce, useHouse } from "../support/temp-workspace.ts";
import { stormSize } from "../support/storm-size.ts";

const storm = stormSize(60);
const relPath = "memory/2026-01-05.md";
const editors = ["anna", "bruno"];
const begin = `# 2026-01-05\n\n${editors.map((name) => `- ${name} 0\n`).join("")}`;

const programs = new URL("../support/programs.ts", import.meta.url);
/** Counts in a line of a note, in a process of its own. */
const editor = new URL("../../packages/agent-kit/test/changes/support/change-notes.ts", import.meta.url);

test(
  `two processes edit a note, two append to it and one searches for ${storm} s: nothing is lost or doubled, all is found`,
  { timeout: 300_000 },
  async () => {
    const house = useHouse({ [relPath]: begin });
    const { stateDir, notes: workspaceDir } = house;
    const read = (): string => readFileSync(house.at(relPath), "utf8");
    const appended: string[] = [];
    const children = editors.map((name) => startChild(editor, [workspaceDir, stateDir, relPath, name, "1000000"]));
    const editsOf = (child: Child): number => child.output().split("\n").length - 1;
    const searches = { ok: 0, missed: [] as string[] };
    // However short the storm is, each of them has done something.
    const endsAt = performance.now() + storm * 1000;
    const isOver = (): boolean =>
      performance.now() > endsAt &&
      appended.length > 20 &&
      searches.ok > 0 &&
      children.every((each) => editsOf(each) > 10);
    async function appending(name: string): Promise<void> {
      for (let batch = 0; !isOver(); batch++) {
        const word = `${name}${String(batch).padStart(4, "0")}`;
        const child = startChild(programs, ["write-notes", workspaceDir, word, "5"]);
        expect(await child.ended, child.output()).toBe(0);
        appended.push(...child.output().trim().split("\n"));
      }
    }
    async function searching(): Promise<void> {
      const memory = await house.open();
      for (let asked = 0; !isOver(); asked++) {
        // What was on disk before the question.
        const word = appended.at(-1 - (asked % 7)) ?? "anna";
        const { results, report } = await askOnce(memory, word);
        if (report.state !== "ok") continue;
        searches.ok++;
        if (!results.some(({ snippet }) => snippet.includes(word))) searches.missed.push(word);
      }
      await memory.close();
    }
    await Promise.all([appending("kiwi"), appending("plum"), searching()]);
    // A last change is under way when it ends, as when a person closes the window.
    for (const child of children) child.process.kill("SIGKILL");
    expect(await Promise.all(children.map(({ ended }) => ended))).toEqual(["SIGKILL", "SIGKILL"]);

    expect(searches.missed).toEqual([]);
    const lines = read().split("\n");
    for (const word of appended)
      expect(
        lines.filter((line) => line.endsWith(`end of ${word}.`)),
        word,
      ).toHaveLength(1);

    const place = {
      workspaceDir,
      stateDir,
      settings: { extraPaths: [], notes: "auto" as const },
      changer: { agentId: "main", by: "test" },
      at: new Date(),
    };
    const changes = await listChanges(place);
    expect(changes.filter(({ state }) => state !== "done" && state !== "not done")).toEqual([]);
    for (const name of editors) {
      const counted = changes.filter((change) => isCount(change, name)).length;
      expect(
        lines.filter((line) => line === `- ${name} ${counted}`),
        name,
      ).toHaveLength(1);
      expect(counted).toBeGreaterThan(10);
    }
    for (const { id, state } of changes.toReversed()) if (state === "done") await undoChange(place, id);
    const own = read()
      .split("\n")
      .filter((line) => !line.includes("The ferret "));
    expect(own.join("\n")).toBe(begin);
  },
);

function isCount({ kind, state, session }: LoggedChange, name: string): boolean {
  return kind === "edit" && state === "done" && session === `agent:main:${name}`;
}
