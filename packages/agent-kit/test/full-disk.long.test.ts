import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { describe, expect, test } from "vitest";
import { sharedNote } from "./support/note-processes.ts";
import { runProgram } from "./support/run-program.ts";

interface Outcome {
  room: number;
  needed: number;
  error: string;
  holds: string;
}

describe.skipIf(process.platform === "win32")("a note is written whole or not at all", { timeout: 120_000 }, () => {
  test("for every number of bytes that a limit lets through", async () => {
    const folder = tempFolder({ "memory/.keep": "" });
    const probe = path.join(folder, "probe");
    spawnSync("sh", ["-c", 'ulimit -f 1; head -c 8192 /dev/zero > "$0"', probe], { stdio: "ignore" });
    // The size of a block differs between shells.
    const args = [folder, statSync(probe).size];
    const { lines } = await runProgram("support/append-with-room.ts", args, { limits: "ulimit -f 1" }).ended;
    const outcomes = JSON.parse(lines.join("\n")) as Outcome[];
    expect(outcomes.length).toBeGreaterThan(20);
    for (const { room, needed, error, holds } of outcomes) {
      expect({ room, holds }).toEqual({ room, holds: room < needed ? "none" : "all" });
      expect(error, String(room)).toMatch(room < needed ? /^cannot write memory\/2026-11-22\.md in / : /^$/);
      if (room > 0 && room < needed) expect(error).toContain(`only ${room} of ${needed} bytes`);
    }
  });

  test("also when it is replaced", async () => {
    const note = sharedNote("a\n".repeat(20));
    const { code, errors } = await note.edit("anna", 1, { size: 100_000, limits: "ulimit -f 8" }).ended;
    expect(code).not.toBe(0);
    expect(errors).toMatch(/cannot write memory\/2026-11-22\.md in /u);
    expect(note.text()).toBe("a\n".repeat(20));
    expect(readdirSync(path.join(note.workspaceDir, "memory"))).toEqual(["2026-11-22.md"]);
  });
});
