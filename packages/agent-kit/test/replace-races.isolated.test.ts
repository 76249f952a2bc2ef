import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { readNote, replaceNote, type ReplacedNote } from "@memslot/agent-kit";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

/** What another program does: when the old file was looked at for the last time, or before. */
const moment = vi.hoisted((): { before?: (() => void) | undefined; last?: (() => void) | undefined } => ({}));

vi.mock(import("@memslot/core/files"), async (original) => {
  const files = await original();
  return {
    ...files,
    async openFolderInPlace(place) {
      const folder = await files.openFolderInPlace(place);
      return {
        ...folder,
        replace: (name, by, isStill) => {
          const { before, last } = moment;
          [moment.before, moment.last] = [undefined, undefined];
          before?.();
          return folder.replace(name, by, (there) => {
            const answer = isStill(there);
            last?.();
            return answer;
          });
        },
      };
    },
  };
});

let folder: string;
let file: string;

beforeEach(() => {
  folder = realpathSync.native(mkdtempSync(path.join(os.tmpdir(), "memslot-race-")));
  file = path.join(folder, "MEMORY.md");
  writeFileSync(file, "one\n");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function replaceWhile(text: string, what: typeof moment): Promise<ReplacedNote> {
  const place = {
    workspaceDir: folder,
    stateDir: path.join(folder, "state"),
    relPath: "MEMORY.md",
    settings: { extraPaths: [], notes: "auto" as const },
  };
  const note = await readNote(place);
  Object.assign(moment, what);
  const answer = await replaceNote({ ...place, text, sha256: note?.sha256 ?? "" });
  expect(readdirSync(folder).toSorted(), "nothing is left beside it").toEqual(["MEMORY.md", "state"]);
  expect(answer.note?.text).toBe(readFileSync(file, "utf8"));
  return answer;
}

describe("what another program does in the moment of the change:", () => {
  test("what it appends before the last look is a conflict", async () => {
    const answer = await replaceWhile("mine\n", { before: () => appendFileSync(file, "theirs\n") });
    expect(answer).toMatchObject({ state: "conflict", note: { text: "one\ntheirs\n" } });
  });

  test("another file that it puts in the place is a conflict, and stays", async () => {
    const exchange = (): void => {
      writeFileSync(`${file}.new`, "theirs\n");
      renameSync(`${file}.new`, file);
    };
    expect(await replaceWhile("mine\n", { before: exchange })).toMatchObject({
      state: "conflict",
      note: { text: "theirs\n" },
    });
  });

  test("what it appends after the last look stands behind the new text", async () => {
    const last = (): void => appendFileSync(file, "theirs\n");
    expect(await replaceWhile("mine", { last })).toMatchObject({ state: "replaced", note: { text: "mine\ntheirs\n" } });
  });

  test("what else it writes after the last look stays, and the change is a conflict", async () => {
    const last = (): void => writeFileSync(file, "theirs\n");
    expect(await replaceWhile("mine\n", { last })).toMatchObject({ state: "conflict", note: { text: "theirs\n" } });
  });

  test("what else it writes stays, also where the name that the old file was to keep is taken away", async () => {
    const last = (): void => {
      for (const name of readdirSync(folder))
        if (name.endsWith(".tmp") && statSync(path.join(folder, name)).ino === statSync(file).ino)
          rmSync(path.join(folder, name));
      writeFileSync(file, "theirs\n");
    };
    expect(await replaceWhile("mine\n", { last })).toMatchObject({ state: "conflict", note: { text: "theirs\n" } });
  });
});
