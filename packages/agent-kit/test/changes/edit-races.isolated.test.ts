import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { type ChangePlace, editNote, forgetNote, listChanges, readNote, undoChange } from "@memslot/agent-kit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

/** What an editor does between the entry in the log and the exchange of the file. */
const between = vi.hoisted((): { run?: (() => void) | undefined } => ({}));

vi.mock(import("@memslot/core/files"), async (original) => {
  const files = await original();
  return {
    ...files,
    async openFolderInPlace(place) {
      const folder = await files.openFolderInPlace(place);
      return {
        ...folder,
        replace: (name, by, isStill) => {
          const { run } = between;
          between.run = undefined;
          run?.();
          return folder.replace(name, by, isStill);
        },
      };
    },
  };
});

const begin = "- the boat is red\n- the dog is old\n";
let place: ChangePlace;
let file: string;

beforeEach(() => {
  const folder = realpathSync.native(mkdtempSync(path.join(os.tmpdir(), "memslot-edit-race-")));
  place = {
    workspaceDir: path.join(folder),
    stateDir: path.join(folder, ".state"),
    settings: { extraPaths: [], notes: "auto" },
    changer: { agentId: "main", by: "test" },
    at: new Date("2026-11-22T12:00:00Z"),
  };
  file = path.join(folder, "MEMORY.md");
  writeFileSync(file, begin);
});

afterEach(() => rmSync(place.workspaceDir, { recursive: true, force: true }));

const saves: [string, () => void, string][] = [
  ["puts a new file in its place", () => exchange("- the boat is blue\n"), "- the boat is blue\n"],
  ["writes over it", () => writeFileSync(file, "- the boat is gone\n"), "- the boat is gone\n"],
  ["adds a line", () => appendFileSync(file, "- the cat is new\n"), `${begin}- the cat is new\n`],
];

function exchange(text: string): void {
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
}

const kinds = ["edit", "forget"] as const;

test.each(saves.flatMap(([what, save, then]) => kinds.map((kind) => [kind, what, save, then] as const)))(
  "to %s a line while an editor %s changes nothing and says so, in the log too, and goes by the new text the next time",
  async (kind, _, save, then) => {
    const given = { ...place, relPath: "MEMORY.md", timeZone: "UTC", old: "- the boat is red" };
    const change = async (old: string): Promise<unknown> => {
      const hash = (await readNote(given))?.sha256 ?? "";
      return kind === "edit"
        ? await editNote({ ...given, old, hash, text: "- the boat is green" })
        : await forgetNote({ ...given, old, hash, reason: "It is sold." });
    };
    between.run = save;
    await expect(change("- the boat is red")).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringMatching(/read it again/u) as string,
    });
    expect(readFileSync(file, "utf8")).toBe(then);
    expect((await listChanges(place)).map(({ state }) => state)).toEqual(["not done"]);
    expect(trash()).toEqual([]);
    expect(readdirSync(place.workspaceDir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    const [line = ""] = then.split("\n");
    await change(line);
    expect(readFileSync(file, "utf8")).not.toContain(line);
    await undoChange(place);
    expect(readFileSync(file, "utf8")).toBe(then);
  },
);

function trash(): string[] {
  const folder = path.join(place.workspaceDir, "memory/.trash");
  return existsSync(folder) ? readdirSync(folder) : [];
}
