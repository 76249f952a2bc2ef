import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { describe, expect, test } from "vitest";
import { checkKills, checkManyWriters, sharedNote } from "./support/note-processes.ts";
import { runProgram } from "./support/run-program.ts";

test("three processes that edit a note 40 times and one that appends 150 notes lose nothing of each other", async () => {
  await checkManyWriters(40, 150);
}, 300_000);

test("a process that is killed eight times while it edits leaves the note whole and unlocked", async () => {
  await checkKills(8);
}, 300_000);

/** Why no small disk can be mounted here. Undefined if one can. */
function whyNoMount(): string | undefined {
  if (process.platform !== "linux") return "a small disk is mounted on Linux only";
  const options = ["-m", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"];
  return spawnSync("unshare", options, { timeout: 10_000 }).status === 0 ? undefined : "mounting is not allowed here";
}
const noMount = whyNoMount();

interface Outcome {
  room: number;
  needed: number;
  error: string;
  holds: string;
}

describe.skipIf(process.platform === "win32")("a note is written whole or not at all", { timeout: 120_000 }, () => {
  async function check(workspaceDir: string, end: number, disk: string, limits: string): Promise<void> {
    const { lines } = await runProgram("support/append-with-room.ts", [workspaceDir, end, disk], { limits }).ended;
    const outcomes = JSON.parse(lines.join("\n")) as Outcome[];
    expect(outcomes.length).toBeGreaterThan(20);
    for (const { room, needed, error, holds } of outcomes) {
      expect({ room, holds }).toEqual({ room, holds: room < needed ? "none" : "all" });
      expect(error, String(room)).toMatch(room < needed ? /^cannot write memory\/2026-11-22\.md in / : /^$/);
      if (room > 0 && room < needed) expect(error).toContain(`only ${room} of ${needed} bytes`);
    }
  }

  test("for every number of bytes that a limit lets through", async () => {
    const folder = tempFolder({ "memory/probe": "" });
    const probe = path.join(folder, "probe");
    spawnSync("sh", ["-c", 'ulimit -f 1; head -c 8192 /dev/zero > "$0"', probe], { stdio: "ignore" });
    // The size of a block differs between shells.
    await check(folder, statSync(probe).size, "", "ulimit -f 1");
  });

  test.skipIf(noMount !== undefined)(
    `for every number of bytes that a full disk takes (${noMount ?? "run"})`,
    async () => {
      const folder = tempFolder();
      const mount = `mount -t tmpfs -o size=64k tmpfs "${folder}" && mkdir "${folder}/memory"`;
      // The mount is visible to the program alone, which runs inside of `unshare` in place of `exec`.
      await check(folder, 8192, "full", `unshare -m sh -c '${mount} && exec "$@"' sh "$@"; exit; true`);
    },
  );

  test("also when it is replaced", async () => {
    const note = sharedNote("a\n".repeat(20));
    const { code, errors } = await note.edit("anna", 1, { size: 100_000, limits: "ulimit -f 8" }).ended;
    expect(code).not.toBe(0);
    expect(errors).toMatch(/cannot write memory\/2026-11-22\.md in /u);
    expect(note.text()).toBe("a\n".repeat(20));
    expect(readdirSync(path.join(note.workspaceDir, "memory"))).toEqual(["2026-11-22.md"]);
  });
});
