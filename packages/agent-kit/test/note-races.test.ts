import { createHash } from "node:crypto";
import fs, {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type AppendedNote,
  appendNote,
  createMemoryCommands,
  createMemoryTools,
  editNote,
  forgetNote,
  listChanges,
  type MemoryTool,
  readNote,
  type ReplacedNote,
  replaceNote,
  undoChange,
} from "@memslot/agent-kit";
import { createWorkspace } from "@memslot/test-tools/files";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { fakeMemory } from "./support/fake-memory.ts";
import { expectAllLines, expectSurvivesKills } from "./support/note-processes.ts";

type Handle = Awaited<ReturnType<typeof promises.open>>;
type Write = (bytes: Buffer) => Promise<{ bytesWritten: number; buffer: Buffer }>;

/** What other programs and the disk do at a moment of a write. Those of an exchange happen once. */
interface Moments {
  /** Before a note is opened. */
  beforeOpen?: (() => void | Promise<void>) | undefined;
  /** After the size of an open note was read. */
  afterStat?: (() => void) | undefined;
  /** In place of an appending write to a note, or to the draft of one. */
  write?: ((handle: Handle, write: Write, bytes: Buffer) => ReturnType<Write>) | undefined;
  writeDraft?: Moments["write"];
  /** In place of `handle.sync`. */
  sync?: ((sync: () => Promise<void>) => Promise<void>) | undefined;
  /** Before a change looks at the old file for the last time, between that look and the exchange, and after the exchange. */
  beforeLook?: (() => void) | undefined;
  afterLook?: (() => void) | undefined;
  afterExchange?: (() => void) | undefined;
}

let moments: Moments = {};
const real = { open: promises.open, lstatSync: fs.lstatSync, renameSync: fs.renameSync };

function once(name: "beforeLook" | "afterLook" | "afterExchange"): void {
  const happens = moments[name];
  moments[name] = undefined;
  happens?.();
}

async function open(...given: Parameters<typeof real.open>): Promise<Handle> {
  const [file, flags = 0] = given;
  const [isNote, isDraft] = [String(file).endsWith(".md"), String(file).endsWith(".tmp")];
  if (isNote) await moments.beforeOpen?.();
  const handle = await real.open(...given);
  if (!isNote && !isDraft) return handle;
  if ((Number(flags) & constants.O_APPEND) !== 0) {
    const write = handle.write.bind(handle) as (...args: unknown[]) => ReturnType<Write>;
    handle.write = ((bytes: Buffer, ...rest: unknown[]) => {
      const other = isNote ? moments.write : moments.writeDraft;
      const whole: Write = (part) => (part === bytes ? write(bytes, ...rest) : write(part, 0, part.length, null));
      return other === undefined ? whole(bytes) : other(handle, whole, bytes);
    }) as typeof handle.write;
  }
  if (isDraft) return handle;
  const sync = handle.sync.bind(handle);
  handle.sync = () => (moments.sync === undefined ? sync() : moments.sync(sync));
  const stat = handle.stat.bind(handle);
  handle.stat = (async (options?: { bigint: true }) => {
    const found = await (options === undefined ? stat() : stat(options));
    if (options === undefined) moments.afterStat?.();
    return found;
  }) as typeof handle.stat;
  return handle;
}

let workspaceDir: string;
let folder: string;
let log: string;
let curated: string;

beforeEach(() => {
  const workspace = createWorkspace({ "memory/2026-11-22.md": "by hand\n" });
  ({ workspaceDir, folder } = workspace);
  [log, curated] = [path.join(workspaceDir, "memory/2026-11-22.md"), path.join(workspaceDir, "MEMORY.md")];
  moments = {};
  promises.open = open;
  const lstatSync = ((file: string, options?: { bigint?: boolean; throwIfNoEntry?: boolean }) => {
    const isLastLook = options?.bigint === true && options.throwIfNoEntry === false;
    if (isLastLook && path.basename(file) === "MEMORY.md") once("beforeLook");
    return real.lstatSync(file, options);
  }) as typeof fs.lstatSync;
  const rename: typeof fs.renameSync = (from, to) => {
    const isExchange = String(from).endsWith(".tmp") && String(to).endsWith(".md");
    if (isExchange) once("afterLook");
    real.renameSync(from, to);
    if (isExchange) once("afterExchange");
  };
  Object.assign(fs, { lstatSync, renameSync: rename });
  syncBuiltinESMExports();
});

afterEach(() => {
  Object.assign(promises, { open: real.open });
  Object.assign(fs, { lstatSync: real.lstatSync, renameSync: real.renameSync });
  syncBuiltinESMExports();
});

const at = new Date("2026-11-22T13:05:00Z");
const append = (text = "fact"): Promise<AppendedNote> =>
  appendNote({ workspaceDir, text, kind: "daily", at, timeZone: "UTC" });
const place = (relPath = "MEMORY.md") => ({
  workspaceDir,
  stateDir: path.join(folder, "state"),
  settings: { extraPaths: [], notes: "auto" as const },
  changer: { agentId: "main", by: "test" },
  at,
  relPath,
});

/** Saves as many editors do: a new file takes the place of the old one. */
function save(file: string, content: string): void {
  writeFileSync(`${file}~`, content);
  renameSync(`${file}~`, file);
}

/** What happens after an entry is on disk. */
function afterWrite(happens: () => void): void {
  moments.sync = async (sync) => {
    await sync();
    happens();
  };
}

describe("while a note is appended", () => {
  test("an editor saves an older state over it: it is written again", async () => {
    let saves = 0;
    afterWrite(() => ++saves <= 2 && save(log, `by hand ${saves}\n`));
    expect(await append()).toMatchObject({ state: "appended", startLine: 2 });
    expect(readFileSync(log, "utf8")).toBe("by hand 2\n- 13:05 fact\n");
  });

  test("the log is deleted: it is created again", async () => {
    afterWrite(() => {
      moments.sync = undefined;
      rmSync(log);
    });
    expect(await append()).toMatchObject({ state: "appended", startLine: 3 });
    expect(readFileSync(log, "utf8")).toBe("# 2026-11-22\n\n- 13:05 fact\n");
  });

  test("an editor saves over it without end: the error says so", async () => {
    afterWrite(() => save(log, "by hand\n"));
    await expect(append()).rejects.toMatchObject({ code: "WORKSPACE", message: /again and again/ });
  });

  test("others add lines before and after it: its citation is that of its own line", async () => {
    moments.beforeOpen = () => {
      moments.beforeOpen = undefined;
      appendFileSync(log, "- 13:01 another\n");
    };
    afterWrite(() => appendFileSync(log, "- 13:05 fact, and more\n- 13:06 third\n"));
    expect(await append()).toMatchObject({ state: "appended", startLine: 3, endLine: 3 });
  });

  test("another program begins a line without ending it: the note is found behind it and not written twice", async () => {
    afterWrite(() => writeFileSync(log, readFileSync(log, "utf8").replace("- 13:05", "half a line- 13:05")));
    expect(await append()).toMatchObject({ state: "appended", startLine: 2 });
    expect(readFileSync(log, "utf8")).toBe("by hand\nhalf a line- 13:05 fact\n");
  });

  test("its folder becomes a link: nothing is written to the target", async () => {
    const elsewhere = path.join(folder, "elsewhere");
    const theirs = path.join(elsewhere, path.basename(log));
    mkdirSync(elsewhere);
    writeFileSync(theirs, "theirs\n");
    moments.beforeOpen = () => {
      moments.beforeOpen = undefined;
      renameSync(path.dirname(log), path.join(folder, "away"));
      symlinkSync(elsewhere, path.dirname(log), "junction");
    };
    await expect(append()).rejects.toMatchObject({ code: "WORKSPACE", message: /memory is a symbolic link/ });
    expect(moments.beforeOpen).toBeUndefined();
    expect(readFileSync(theirs, "utf8")).toBe("theirs\n");
  });

  test("a change exchanges the file: the entry is in the new one, once", async () => {
    const begun = Promise.withResolvers<void>();
    let writes = 0;
    moments.write = async (handle, write, bytes) => {
      if (++writes > 1) return await write(bytes);
      begun.resolve();
      return await new Promise((resolve) => {
        moments.afterExchange = () => resolve({ bytesWritten: writeSync(handle.fd, bytes), buffer: bytes });
      });
    };
    let writesBeforeRest = 0;
    moments.writeDraft = async (_handle, write, bytes) => {
      // Gives an append that does not wait for the exchange the time to write again.
      await sleep(100);
      writesBeforeRest = writes;
      return await write(bytes);
    };
    const sha256 = (await readNote(place("memory/2026-11-22.md")))?.sha256 ?? "";
    const appending = append();
    await begun.promise;
    const replaced = await replaceNote({ ...place("memory/2026-11-22.md"), sha256, text: "changed\n" });
    expect(replaced.state).toBe("replaced");
    expect(await appending).toMatchObject({ state: "appended", startLine: 2, endLine: 2 });
    expect(readFileSync(log, "utf8")).toBe("changed\n- 13:05 fact\n");
    expect([writes, writesBeforeRest]).toEqual([1, 1]);
  });
});

describe("a log that another process creates at the same moment", () => {
  const theirs = "# 2026-11-22\n\n- 13:05 theirs\n";
  const both = `${theirs}- 13:05 fact\n`;

  test("gets no second heading if it appears after the look for it", async () => {
    rmSync(log);
    let opens = 0;
    moments.beforeOpen = () => void (++opens === 2 && writeFileSync(log, theirs));
    expect(await append()).toMatchObject({ state: "appended", startLine: 4 });
    expect(readFileSync(log, "utf8")).toBe(both);
  });

  test("is waited for while it is new and empty", async () => {
    writeFileSync(log, "");
    // New for however long this test takes.
    const future = new Date(Date.now() + 3_600_000);
    utimesSync(log, future, future);
    moments.afterStat = () => {
      moments.afterStat = undefined;
      writeFileSync(log, theirs);
    };
    expect(await append()).toMatchObject({ state: "appended", startLine: 4 });
    expect(readFileSync(log, "utf8")).toBe(both);
  });

  test("is not waited for if it has been empty for long", async () => {
    writeFileSync(log, "");
    utimesSync(log, new Date(0), new Date(0));
    let looks = 0;
    moments.afterStat = () => void looks++;
    expect(await append()).toMatchObject({ state: "appended", startLine: 3 });
    // Once before the write, and once to find the entry.
    expect(looks).toBe(2);
  });
});

describe("a disk that", () => {
  const takesOnly =
    (bytes: number, then: () => void = () => undefined): Moments["write"] =>
    async (_handle, write, all) => {
      const written = await write(all.subarray(0, bytes));
      then();
      return written;
    };

  test.skipIf(process.platform !== "linux").each<[string, () => void, string, string]>([
    ["takes a part: the part is removed", () => (moments.write = takesOnly(9)), "ENOSPC", "by hand\n"],
    [
      "takes a part, and another program appends behind it: the part becomes blank lines",
      () => (moments.write = takesOnly(9, () => appendFileSync(log, "- 13:06 theirs\n"))),
      "ENOSPC",
      `by hand\n${"\n".repeat(9)}- 13:06 theirs\n`,
    ],
    [
      "takes all and cannot keep it: all of it is removed",
      () => {
        moments.sync = async () => {
          moments.sync = undefined;
          throw Object.assign(new Error("i/o error"), { code: "EIO" });
        };
      },
      "EIO",
      "by hand\n",
    ],
  ])("%s", async (_, given, code, left) => {
    given();
    await expect(append()).rejects.toMatchObject({ code: "WORKSPACE", cause: { code } });
    expect(readFileSync(log, "utf8")).toBe(left);
  });

  test("does not answer is given up at the deadline, and a note that had not begun is not written later", async () => {
    const stuck = Promise.withResolvers<void>();
    moments.beforeOpen = () => stuck.promise;
    const tool = (deadlineMs: number): MemoryTool | undefined =>
      createMemoryTools({
        memory: fakeMemory({ workspaceDir }),
        citations: "off",
        deadlineMs,
        append: { timeZone: "UTC", clock: () => at },
      }).find(({ name }) => name === "memory_append");
    expect(await tool(20)?.execute({ text: "fact", kind: "daily" })).toEqual({
      status: "error",
      code: "UNAVAILABLE",
      error: "the note was not on disk within 0.02 s",
      timedOut: true,
      timeoutMs: 20,
      action: expect.stringContaining("Call memory_append again"),
    });
    const controller = new AbortController();
    const aborted = tool(30_000)?.execute({ text: "aborted", kind: "daily" }, { signal: controller.signal });
    const again = tool(30_000)?.execute({ text: "other", kind: "daily" });
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
    stuck.resolve();
    // It waits for its turn, so the first call has ended when it has.
    expect(await again).toMatchObject({ state: "appended" });
    expect(readFileSync(log, "utf8")).toBe("by hand\n- 13:05 other\n");
  });
});

describe("while a note is replaced, what another program", () => {
  const theirs = (): void => writeFileSync(curated, "theirs\n");

  test.each<[string, string, Moments, Pick<ReplacedNote, "state">["state"], string]>([
    [
      "appends before the last look is a conflict",
      "mine\n",
      { beforeLook: () => appendFileSync(curated, "theirs\n") },
      "conflict",
      "one\ntheirs\n",
    ],
    [
      "puts in its place is a conflict, and stays",
      "mine\n",
      { beforeLook: () => save(curated, "theirs\n") },
      "conflict",
      "theirs\n",
    ],
    [
      "appends after the last look follows the new text",
      "mine",
      { afterLook: () => appendFileSync(curated, "theirs\n") },
      "replaced",
      "mine\ntheirs\n",
    ],
    ["writes after the last look stays, and is a conflict", "mine\n", { afterLook: theirs }, "conflict", "theirs\n"],
    [
      "writes stays, also if the second name of the old file is removed",
      "mine\n",
      {
        afterLook: () => {
          for (const name of readdirSync(workspaceDir).filter((each) => each.endsWith(".tmp"))) {
            const file = path.join(workspaceDir, name);
            if (statSync(file).ino === statSync(curated).ino) rmSync(file);
          }
          theirs();
        },
      },
      "conflict",
      "theirs\n",
    ],
  ])("%s", async (_, text, given, state, left) => {
    writeFileSync(curated, "one\n");
    const note = await readNote(place());
    moments = given;
    const answer = await replaceNote({ ...place(), text, sha256: note?.sha256 ?? "" });
    expect(answer).toMatchObject({ state, note: { text: left } });
    expect(readFileSync(curated, "utf8")).toBe(left);
    expect(readdirSync(workspaceDir).toSorted()).toEqual(["MEMORY.md", "memory"]);
  });
});

test.each<[string, () => void, string]>([
  ["a file that an editor saves stays", () => save(curated, "saved\n"), "saved\n"],
  ["a line that is appended stays", () => appendFileSync(curated, "late\n"), "theirs\nlate\n"],
])("while a replacement finds that the replaced file was written to, %s", async (_, happens, left) => {
  writeFileSync(curated, "one\n");
  const { sha256 = "" } = (await readNote(place())) ?? {};
  moments = {
    afterLook: () => writeFileSync(curated, "theirs\n"),
    afterExchange: () => {
      moments.afterStat = () => {
        moments.afterStat = undefined;
        happens();
      };
    },
  };
  const replaced = await replaceNote({ ...place(), text: "mine\n", sha256 });
  expect(replaced).toMatchObject({ state: "conflict", note: { text: left } });
  expect(readFileSync(curated, "utf8")).toBe(left);
  expect(readdirSync(workspaceDir).toSorted()).toEqual(["MEMORY.md", "memory"]);
});

test("a line that a program appends late, through the file that it had open before a replacement, is in the note", async () => {
  writeFileSync(curated, "one\n");
  const { sha256 = "" } = (await readNote(place())) ?? {};
  const file = openSync(curated, "a");
  moments.afterExchange = () => {
    // After the replacement has read the size of the old file.
    moments.afterStat = () => {
      moments.afterStat = undefined;
      writeSync(file, "theirs\n");
      closeSync(file);
    };
  };
  const replaced = await replaceNote({ ...place(), text: "mine\n", sha256 });
  expect(replaced).toMatchObject({ state: "replaced", note: { text: "mine\ntheirs\n" } });
  expect(readFileSync(curated, "utf8")).toBe("mine\ntheirs\n");
  expect(readdirSync(workspaceDir).toSorted()).toEqual(["MEMORY.md", "memory"]);
});

test.each([
  ["is in the note after the next change", "one\ntheirs\n", "mine\n", "mine\ntheirs\nmore\n"],
  ["is not appended twice", "one\ntheirs\n", "mine\ntheirs\n", "mine\ntheirs\nmore\n"],
  ["is appended if it is only the end of another line", "one\ncat\n", "mine\ntomcat\n", "mine\ntomcat\ncat\nmore\n"],
  ["is appended if it is only the start of another line", "one\ncat", "mine\ncats\n", "mine\ncats\ncatmore\n"],
])("a line that was appended to a file whose replacement was killed %s", async (_, replaced, note, left) => {
  writeFileSync(curated, note);
  const key = createHash("sha256").update("MEMORY.md").digest("hex").slice(0, 32);
  const name = `.memslot-01234567-89ab-cdef-0123-456789abcdef.${key}-4.tmp`;
  writeFileSync(path.join(workspaceDir, name), replaced);
  const change = async (): Promise<string> => {
    const { text = "", sha256 = "" } = (await readNote(place())) ?? {};
    return (await replaceNote({ ...place(), text: `${text}more\n`, sha256 })).state;
  };
  // The first one finds a note that has changed since it was read.
  if ((await change()) === "conflict") await change();
  expect(readFileSync(curated, "utf8")).toBe(left);
  expect(readdirSync(workspaceDir).toSorted()).toEqual(["MEMORY.md", "memory"]);
});

test("a second name that a process was killed with before its replacement is removed with the note", async () => {
  writeFileSync(curated, "one\n");
  const key = createHash("sha256").update("MEMORY.md").digest("hex").slice(0, 32);
  linkSync(curated, path.join(workspaceDir, `.memslot-01234567-89ab-cdef-0123-456789abcdef.${key}-4.tmp`));
  const { settings, stateDir } = place();
  const memory = { agentId: "main", workspaceDir, ownerAllowFrom: [] };
  await createMemoryCommands({ memory, edit: { settings, stateDir } }).delete({ path: "/memories/MEMORY.md" });
  expect(readdirSync(workspaceDir)).toEqual(["memory"]);
});

test("old drafts are removed, except bytes that only the replaced file of another note has", async () => {
  writeFileSync(curated, "one\n");
  const key = createHash("sha256").update("OTHER.md").digest("hex").slice(0, 32);
  const [unsaved, saved] = [4, 11].map((size) => `.memslot-01234567-89ab-cdef-0123-456789abcdef.${key}-${size}.tmp`);
  for (const name of [unsaved, saved]) writeFileSync(path.join(workspaceDir, name ?? ""), "one\ntheirs\n");
  const { sha256 = "" } = (await readNote(place())) ?? {};
  const later = Date.now() + 61_000;
  vi.spyOn(Date, "now").mockReturnValue(later);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(await replaceNote({ ...place(), text: "mine\n", sha256 })).toMatchObject({ state: "replaced" });
  expect(readdirSync(workspaceDir).toSorted()).toEqual([unsaved, "MEMORY.md", "memory"]);
});

describe("while a line is changed, an editor", () => {
  const begin = "- the boat is red\n- the dog is old\n";
  const saves: [string, () => void, string][] = [
    ["puts a new file in its place", () => save(curated, "- the boat is blue\n"), "- the boat is blue\n"],
    ["writes over it", () => writeFileSync(curated, "- the boat is gone\n"), "- the boat is gone\n"],
    ["adds a line", () => appendFileSync(curated, "- the cat is new\n"), `${begin}- the cat is new\n`],
  ];

  test.each(
    saves.flatMap(([what, ...rest]) => (["edit", "forget"] as const).map((kind) => [what, kind, ...rest] as const)),
  )(
    "%s: the %s changes nothing, says so in the log too, and uses the new text the next time",
    async (_, kind, saved, then) => {
      writeFileSync(curated, begin);
      const given = { ...place(), timeZone: "UTC" };
      const change = async (old: string): Promise<unknown> => {
        const hash = (await readNote(given))?.sha256 ?? "";
        return kind === "edit"
          ? await editNote({ ...given, old, hash, text: "- the boat is green" })
          : await forgetNote({ ...given, old, hash, reason: "It is sold." });
      };
      moments = { beforeLook: saved };
      await expect(change("- the boat is red")).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringMatching(/read it again/u) as string,
      });
      expect(readFileSync(curated, "utf8")).toBe(then);
      expect((await listChanges(place())).map(({ state }) => state)).toEqual(["not done"]);
      const trash = path.join(workspaceDir, "memory/.trash");
      expect(existsSync(trash) ? readdirSync(trash) : []).toEqual([]);
      expect(readdirSync(workspaceDir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
      const [line = ""] = then.split("\n");
      await change(line);
      expect(readFileSync(curated, "utf8")).not.toContain(line);
      await undoChange(place());
      expect(readFileSync(curated, "utf8")).toBe(then);
    },
  );
});

test("three processes that edit a note and one that appends to it lose nothing of each other", async () => {
  await expectAllLines(4, 12);
});

test("a process that is killed while it edits leaves the note whole, with all finished edits, and unlocked", async () => {
  await expectSurvivesKills(1);
});
