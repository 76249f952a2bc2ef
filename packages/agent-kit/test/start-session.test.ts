import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { MemoryError } from "@memslot/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startSession } from "@memslot/agent-kit";
import { type FakeMemory, fakeMemory } from "./support/fake-memory.ts";

let workspaceDir: string;

beforeEach(async () => {
  workspaceDir = await mkdtemp(path.join(os.tmpdir(), "memslot-start-"));
  await mkdir(path.join(workspaceDir, "memory"));
  await writeFile(path.join(workspaceDir, "MEMORY.md"), "curated fact\n");
  await writeFile(path.join(workspaceDir, "memory/2026-11-21.md"), "log of today\n");
});

afterEach(async () => rm(workspaceDir, { recursive: true, force: true }));

const day = { now: new Date("2026-11-21T12:00:00Z"), timeZone: "Europe/Amsterdam" };
const memoryWith = (sync?: () => Promise<undefined>): FakeMemory =>
  fakeMemory({ workspaceDir, ...(sync === undefined ? {} : { sync }) });

describe("the notes that a session starts with", () => {
  test.each([
    [undefined, true, true],
    ["agent:main:main", true, true],
    ["agent:main:telegram:direct:7", true, true],
    ["agent:main:telegram:direct:8", false, false],
    ["agent:main:cron:job-1", false, true],
    ["agent:main:subagent:5b1", false, true],
    ["agent:main:telegram:group:-100", false, false],
    ["agent:main:slack:channel:c1:thread:9", false, false],
    ["agent:main:some plug-in's own", false, false],
  ])("follow from its key: in %s the curated file %s, the logs %s", async (sessionKey, curated, logs) => {
    const { text } = await startSession({ memory: memoryWith(), sessionKey, ...day });
    expect(text.includes("curated fact")).toBe(curated);
    expect(text.includes("log of today")).toBe(logs);
  });

  test("are those of the agent whose session it is", async () => {
    const memory = memoryWith();
    await expect(startSession({ memory, sessionKey: "agent:other:main", ...day })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(memory.syncs).toEqual([]);
  });
});

describe("the sync at the start of a session", () => {
  test("is asked for and not waited for", async () => {
    const memory = memoryWith(() => new Promise(() => {}));
    const { signal } = new AbortController();
    expect((await startSession({ memory, signal, ...day })).text).toContain("curated fact");
    expect(memory.syncs).toEqual([{ reason: "session-start", signal }]);
  });

  test("that fails is told, and the session starts all the same", async () => {
    const error = new MemoryError("UNAVAILABLE", "the disk is full");
    const told = Promise.withResolvers<unknown>();
    const memory = memoryWith(async () => Promise.reject(error));
    const { text } = await startSession({ memory, onSyncError: told.resolve, ...day });
    expect(text).toContain("curated fact");
    expect(await told.promise).toBe(error);
  });

  test.each([new MemoryError("CLOSED", "closed"), new DOMException("stopped", "AbortError")])(
    "that the host has ended is no news: %s",
    async (error) => {
      const told: unknown[] = [];
      const sync = async (): Promise<undefined> => {
        throw error;
      };
      await startSession({ memory: memoryWith(sync), onSyncError: (given) => told.push(given), ...day });
      await setImmediate();
      expect(told).toEqual([]);
    },
  );
});
