import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type AppendedNote, type MemoryTool, appendNote, createMemoryTools } from "@memslot/agent-kit";
import { fakeMemory } from "./fake-memory.ts";

/** What others do to the files: right before a log is opened, or right after a write of ours is on disk. */
const others = vi.hoisted(() => ({
  beforeOpen: undefined as (() => void | Promise<void>) | undefined,
  /** Right after it was looked how long the log is. */
  afterStat: undefined as (() => void) | undefined,
  afterWrite: undefined as (() => void) | undefined,
}));

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  return {
    ...real,
    async open(...given: Parameters<typeof real.open>) {
      const isLog = String(given[0]).endsWith(".md");
      if (isLog) await others.beforeOpen?.();
      const handle = await real.open(...given);
      if (!isLog) return handle;
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        await sync();
        others.afterWrite?.();
      };
      const stat = handle.stat.bind(handle);
      handle.stat = (async (options?: { bigint: true }) => {
        const found = await (options === undefined ? stat() : stat(options));
        if (options === undefined) others.afterStat?.();
        return found;
      }) as typeof handle.stat;
      return handle;
    },
  };
});

let folder: string;
let workspaceDir: string;
let log: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "memslot-races-"));
  workspaceDir = path.join(folder, "notes");
  log = path.join(workspaceDir, "memory/2026-11-22.md");
  mkdirSync(path.dirname(log), { recursive: true });
  writeFileSync(log, "by hand\n");
});

afterEach(() => {
  others.beforeOpen = undefined;
  others.afterStat = undefined;
  others.afterWrite = undefined;
  rmSync(folder, { recursive: true, force: true });
});

const append = (): Promise<AppendedNote> =>
  appendNote({ workspaceDir, text: "fact", kind: "daily", at: new Date("2026-11-22T13:05:00Z"), timeZone: "UTC" });

/** Saves as many editors do: another file takes the place of the old one, and what was added meanwhile is gone. */
function save(content: string): void {
  writeFileSync(`${log}~`, content);
  renameSync(`${log}~`, log);
}

describe("while a note is written", () => {
  test("an editor saves an older state over it: it is written again", async () => {
    let saves = 0;
    others.afterWrite = () => {
      if (++saves <= 2) save(`by hand ${saves}\n`);
    };
    expect(await append()).toMatchObject({ state: "appended", startLine: 2 });
    expect(readFileSync(log, "utf8")).toBe("by hand 2\n- 13:05 fact\n");
  });

  test("the log is deleted: it is made again", async () => {
    others.afterWrite = () => {
      others.afterWrite = undefined;
      rmSync(log);
    };
    expect(await append()).toMatchObject({ state: "appended", startLine: 3 });
    expect(readFileSync(log, "utf8")).toBe("# 2026-11-22\n\n- 13:05 fact\n");
  });

  test("an editor saves over it without end: it is an error that says so", async () => {
    others.afterWrite = () => save("by hand\n");
    await expect(append()).rejects.toMatchObject({ code: "WORKSPACE", message: /again and again/ });
  });

  test("others add lines before and after it: its citation is that of its own line", async () => {
    others.beforeOpen = () => {
      others.beforeOpen = undefined;
      writeFileSync(log, "- 13:01 another\n", { flag: "a" });
    };
    others.afterWrite = () => writeFileSync(log, "- 13:05 fact, and more\n- 13:06 third\n", { flag: "a" });
    expect(await append()).toMatchObject({ state: "appended", startLine: 3, endLine: 3 });
  });

  test("another begins a line and has not ended it: the note is found behind it and not written twice", async () => {
    others.afterWrite = () => {
      const written = readFileSync(log, "utf8");
      writeFileSync(log, written.replace("- 13:05", "half a line- 13:05"));
    };
    expect(await append()).toMatchObject({ state: "appended", startLine: 2 });
    expect(readFileSync(log, "utf8")).toBe("by hand\nhalf a line- 13:05 fact\n");
  });

  test("its folder becomes a link: nothing is written where it leads", async () => {
    const elsewhere = path.join(folder, "elsewhere");
    mkdirSync(elsewhere);
    const theirs = path.join(elsewhere, path.basename(log));
    writeFileSync(theirs, "theirs\n");
    others.beforeOpen = () => {
      others.beforeOpen = undefined;
      renameSync(path.dirname(log), path.join(folder, "away"));
      symlinkSync(elsewhere, path.dirname(log), "junction");
    };
    await expect(append()).rejects.toMatchObject({ code: "WORKSPACE", message: /memory is a symbolic link/ });
    expect(others.beforeOpen).toBeUndefined();
    expect(readFileSync(theirs, "utf8")).toBe("theirs\n");
  });
});

describe("a log that another process is making at the same moment", () => {
  const theirs = "# 2026-11-22\n\n- 13:05 theirs\n";
  const both = `${theirs}- 13:05 fact\n`;

  test("is not begun a second time where it is there when we want to make it", async () => {
    rmSync(log);
    let opens = 0;
    others.beforeOpen = () => {
      if (++opens === 2) writeFileSync(log, theirs);
    };
    expect(await append()).toMatchObject({ state: "appended", startLine: 4 });
    expect(readFileSync(log, "utf8")).toBe(both);
  });

  test("is waited for where it is still empty", async () => {
    writeFileSync(log, "");
    // However long this test takes, it was made just now.
    const future = new Date(Date.now() + 3_600_000);
    utimesSync(log, future, future);
    others.afterStat = () => {
      others.afterStat = undefined;
      writeFileSync(log, theirs);
    };
    expect(await append()).toMatchObject({ state: "appended", startLine: 4 });
    expect(readFileSync(log, "utf8")).toBe(both);
  });

  test("is not waited for where it has been empty for long", async () => {
    writeFileSync(log, "");
    utimesSync(log, new Date(0), new Date(0));
    let looks = 0;
    others.afterStat = () => {
      looks++;
    };
    expect(await append()).toMatchObject({ state: "appended", startLine: 3 });
    // Once before it is written, and once to find what was.
    expect(looks).toBe(2);
  });
});

describe("a disk that does not answer", () => {
  test("is cut off at the deadline; what had not begun is not written later, and the same call again writes it", async () => {
    const stuck = Promise.withResolvers<void>();
    others.beforeOpen = () => stuck.promise;
    const tool = (deadlineMs: number): MemoryTool | undefined =>
      createMemoryTools({
        memory: fakeMemory({ workspaceDir }),
        citations: "off",
        deadlineMs,
        append: { timeZone: "UTC", clock: () => new Date("2026-11-22T13:05:00Z") },
      }).find(({ name }) => name === "memory_append");
    expect(await tool(20)?.execute({ text: "fact", kind: "daily" })).toEqual({
      status: "error",
      code: "UNAVAILABLE",
      error: "the note was not on disk within 0.02 s",
      timedOut: true,
      timeoutMs: 20,
      action: expect.stringContaining("Call memory_append again"),
    });
    const again = tool(30_000)?.execute({ text: "other", kind: "daily" });
    stuck.resolve();
    // It waits for its turn, so the first call has ended when it has.
    expect(await again).toMatchObject({ state: "appended" });
    expect(readFileSync(log, "utf8")).toBe("by hand\n- 13:05 other\n");
  });

  test("lets the caller go who does not want to wait", async () => {
    const stuck = Promise.withResolvers<void>();
    others.beforeOpen = () => stuck.promise;
    const [, , tool] = createMemoryTools({ memory: fakeMemory({ workspaceDir }), citations: "off" });
    const controller = new AbortController();
    const running = tool?.execute({ text: "fact", kind: "daily" }, { signal: controller.signal });
    controller.abort();
    await expect(running).rejects.toMatchObject({ name: "AbortError" });
    stuck.resolve();
  });
});
