import {
  constants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { appendNote, readNote, replaceNote } from "@memslot/agent-kit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const relPath = "memory/2026-11-22.md";

/** The log is exchanged while an appender has the old one open: it writes there before the new one got what is behind. */
const race = vi.hoisted(() => ({
  isOn: false,
  /** Called when the appender is about to write. */
  begin: undefined as (() => void) | undefined,
  /** Writes what the appender has to say to the old log. */
  append: undefined as (() => void) | undefined,
  appends: 0,
  appendsBeforeRest: 0,
}));

vi.mock(import("@memslot/core/files"), async (original) => {
  const files = await original();
  return {
    ...files,
    async openFolderInPlace(place) {
      const folder = await files.openFolderInPlace(place);
      return {
        ...folder,
        async open(name, flags, mode) {
          const handle = await folder.open(name, flags, mode);
          if (!race.isOn || (flags & constants.O_APPEND) === 0) return handle;
          const write = handle.write.bind(handle) as (...given: unknown[]) => Promise<unknown>;
          const isLog = name.endsWith(".md");
          handle.write = (async (buffer: Buffer, ...rest: unknown[]) => {
            if (!isLog) {
              // Time for whoever would not wait.
              await sleep(300);
              race.appendsBeforeRest = race.appends;
            } else if (++race.appends === 1)
              return await new Promise((resolve) => {
                race.append = () => resolve({ bytesWritten: writeSync(handle.fd, buffer), buffer });
                race.begin?.();
              });
            return await write(buffer, ...rest);
          }) as typeof handle.write;
          return handle;
        },
        replace(name, by, isStill) {
          const isReplaced = folder.replace(name, by, isStill);
          race.append?.();
          return isReplaced;
        },
      };
    },
  };
});

let workspaceDir: string;
let log: string;

beforeEach(() => {
  workspaceDir = realpathSync.native(mkdtempSync(path.join(os.tmpdir(), "memslot-exchange-")));
  log = path.join(workspaceDir, relPath);
  mkdirSync(path.dirname(log));
  writeFileSync(log, "- 09:00 the boat is red\n");
  Object.assign(race, { isOn: true, begin: undefined, append: undefined, appends: 0, appendsBeforeRest: 0 });
});

afterEach(() => {
  race.isOn = false;
  rmSync(workspaceDir, { recursive: true, force: true });
});

test("what is appended in the very moment of a change is in the note once", async () => {
  const given = {
    workspaceDir,
    stateDir: path.join(workspaceDir, ".state"),
    relPath,
    settings: { extraPaths: [], notes: "auto" as const },
  };
  const sha256 = (await readNote(given))?.sha256 ?? "";
  const isWriting = new Promise<void>((resolve) => (race.begin = resolve));
  const appending = appendNote({
    workspaceDir,
    text: "the dog is old",
    kind: "daily",
    at: new Date("2026-11-22T13:05:00Z"),
    timeZone: "UTC",
  });
  await isWriting;
  const replaced = await replaceNote({ ...given, sha256, text: "- 09:00 the boat is green\n" });

  expect(replaced.state).toBe("replaced");
  expect(await appending).toMatchObject({ state: "appended", startLine: 2, endLine: 2 });
  expect(readFileSync(log, "utf8")).toBe("- 09:00 the boat is green\n- 13:05 the dog is old\n");
  expect({ ...race }).toMatchObject({ appends: 1, appendsBeforeRest: 1 });
});
