import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { appendWhole } from "./append-whole.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "memslot-full-"));
  mkdirSync(path.join(folder, "memory"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Outcome {
  room: number;
  needed: number;
  error: string;
  holds: string;
}

const program = path.join(import.meta.dirname, "../../test/support/append-with-room.ts");

/** Runs the program in a shell that has been told something first. */
function appendWithRoom(first: string, end: number, disk: string, wrapper: readonly string[] = []): Outcome[] {
  const script = `${first} && cd / && mkdir -p "$3/memory" && exec "$@"`;
  const node = [process.execPath, "--conditions=@memslot/source", program, folder, String(end), disk];
  const [command = "sh", ...args] = [...wrapper, "sh", "-c", script.replace("$3", folder), "sh", ...node];
  const env = { ...process.env, NODE_COMPILE_CACHE: undefined, NODE_V8_COVERAGE: undefined };
  const output = execFileSync(command, args, { encoding: "utf8", env, timeout: 50_000 });
  return JSON.parse(output) as Outcome[];
}

function expectAllOrNothing(outcomes: readonly Outcome[]): void {
  expect(outcomes.length).toBeGreaterThan(20);
  for (const { room, needed, error, holds } of outcomes) {
    expect({ room, holds }).toEqual({ room, holds: room < needed ? "none" : "all" });
    expect(error, String(room)).toMatch(room < needed ? /^cannot write memory\/2026-11-22\.md in / : /^$/);
    if (room > 0 && room < needed) expect(error).toContain(`only ${room} of ${needed} bytes`);
  }
}

/** The bytes of what `ulimit -f` of this shell calls a block. */
function blockBytes(): number {
  const probe = path.join(folder, "probe");
  spawnSync("sh", ["-c", 'ulimit -f 1; head -c 8192 /dev/zero > "$0"', probe], { stdio: "ignore" });
  return statSync(probe).size;
}

/** Why no small disk can be mounted here; undefined where one can. */
function whyNoMount(): string | undefined {
  if (process.platform !== "linux") return "a small disk is mounted on Linux only";
  const tried = spawnSync("unshare", ["-m", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"], {
    timeout: 10_000,
  });
  return tried.status === 0 ? undefined : "mounting is not allowed here";
}
const noMount = whyNoMount();

describe("a note is written whole or not at all", () => {
  test.skipIf(process.platform === "win32")("whatever number of its bytes a limit lets through", () => {
    const end = blockBytes();
    expectAllOrNothing(appendWithRoom("ulimit -f 1", end, ""));
  });

  test.skipIf(noMount !== undefined)(
    `whatever number of its bytes a full disk takes${noMount === undefined ? "" : ` (not run: ${noMount})`}`,
    () => {
      const mount = `mount -t tmpfs -o size=64k tmpfs "${folder}"`;
      expectAllOrNothing(appendWithRoom(mount, 8192, "full", ["unshare", "-m"]));
    },
  );
});

describe("bytes that a disk has taken only a part of", () => {
  const bytes = Buffer.from("- 13:05 half of it is gone\n");

  async function withFile(use: (handle: FileHandle, file: string) => Promise<void>): Promise<void> {
    const file = path.join(folder, "log.md");
    writeFileSync(file, "mine\n");
    const handle = await open(file, "a+");
    try {
      await use(handle, file);
    } finally {
      await handle.close();
    }
  }

  /** A disk that takes some bytes and no more; then `after` happens. */
  function takesOnly(handle: FileHandle, taken: number, after: () => void): void {
    const write = handle.write.bind(handle) as (
      ...given: unknown[]
    ) => Promise<{ bytesWritten: number; buffer: Buffer }>;
    handle.write = (async (buffer: Buffer) => {
      const done = await write(buffer, 0, taken, null);
      after();
      return done;
    }) as typeof handle.write;
  }

  test("are taken back", async () => {
    await withFile(async (handle, file) => {
      takesOnly(handle, 9, () => undefined);
      await expect(appendWhole(handle, bytes)).rejects.toMatchObject({ code: "ENOSPC" });
      expect(readFileSync(file, "utf8")).toBe("mine\n");
    });
  });

  test("are taken back, too, where the disk takes all and cannot keep them", async () => {
    await withFile(async (handle, file) => {
      const sync = handle.sync.bind(handle);
      let asked = 0;
      handle.sync = async () => {
        if (++asked === 1) throw Object.assign(new Error("i/o error"), { code: "EIO" });
        await sync();
      };
      await expect(appendWhole(handle, bytes)).rejects.toMatchObject({ code: "EIO" });
      expect(readFileSync(file, "utf8")).toBe("mine\n");
    });
  });

  test.skipIf(process.platform !== "linux")("become blank where another program has gone on behind them", async () => {
    await withFile(async (handle, file) => {
      takesOnly(handle, 9, () => appendFileSync(file, "- 13:06 theirs\n"));
      await expect(appendWhole(handle, bytes)).rejects.toMatchObject({ code: "ENOSPC" });
      expect(readFileSync(file, "utf8")).toBe(`mine\n${"\n".repeat(9)}- 13:06 theirs\n`);
    });
  });
});
