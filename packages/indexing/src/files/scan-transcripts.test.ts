import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, renameSync, symlinkSync } from "node:fs";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { describe, expect, test } from "vitest";
import type { ScanResult } from "./scan.ts";
import { createSessionSource } from "../sessions/session-source.ts";
import { never, settingsWith } from "../../test/support/context.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";

const isWindows = process.platform === "win32";
const sessions = "agents/main/sessions";

async function scan(stateDir: string, agentId = "main"): Promise<ScanResult> {
  return await createSessionSource({ stateDir, agentId, settings: settingsWith() }).scan(never, async () => new Map());
}

const pathsOf = (result: ScanResult): string[] => result.files.map(({ path: file }) => file);
const reasonOf = (result: ScanResult, file: string): string | undefined =>
  result.roots.find((root) => root.path === file)?.reason;

describe("the transcripts of an agent", () => {
  test("are the .jsonl files of its own folder", async () => {
    const stateDir = folderWith({
      [`${sessions}/b.jsonl`]: "{}\n",
      [`${sessions}/a.JSONL`]: "{}\n",
      [`${sessions}/id-topic-7.jsonl`]: "",
      "agents/other/sessions/c.jsonl": "{}\n",
      [`${sessions}/below/d.jsonl`]: "{}\n",
    });
    const result = await scan(stateDir);
    expect(pathsOf(result)).toEqual(["sessions/a.JSONL", "sessions/b.jsonl", "sessions/id-topic-7.jsonl"]);
    expect(result.files[1]).toMatchObject({ absolutePath: path.join(stateDir, sessions, "b.jsonl"), size: 3 });
    expect(result.roots).toEqual([{ path: "sessions", state: "indexed", files: 3 }]);
    expect([result.failed, result.unknown]).toEqual([[], []]);
  });

  test("are not the files that hosts keep beside them", async () => {
    const names = [
      "sessions.json",
      "a.jsonl.lock",
      "a.jsonl.bak",
      "a.jsonl.deleted.2026-03-05T10-00-00.000Z",
      "a.jsonl.reset.2026-03-05",
      "a.deleted.jsonl",
      "a.bak.2026.jsonl",
      "a.checkpoint.3f2a.jsonl",
      "a.trajectory.jsonl",
      ".a.jsonl",
      "._a.jsonl",
      "notes.md",
    ];
    const stateDir = folderWith(Object.fromEntries(names.map((name) => [`${sessions}/${name}`, "{}\n"])));
    expect(pathsOf(await scan(stateDir))).toEqual([]);
  });

  test("may be missing", async () => {
    const result = await scan(folderWith());
    expect(result).toEqual({
      files: [],
      roots: [{ path: "sessions", state: "skipped", reason: "does not exist" }],
      failed: [],
      unknown: [],
    });
  });

  test.each(["", ".", "..", "../other", "a/b", "a\\b", "a\0b", "x".repeat(65)])(
    "are not looked for under the agent id %j",
    (agentId) => {
      const make = (): unknown => createSessionSource({ stateDir: folderWith(), agentId, settings: settingsWith() });
      expect(make).toThrow(MemoryError);
      expect(make).toThrow(/cannot name a folder/);
    },
  );
});

describe("what is passed over is said", () => {
  test.skipIf(isWindows)("links, folders, named pipes and sockets", async () => {
    const stateDir = folderWith({ [`${sessions}/real.jsonl`]: "{}\n", "secret.jsonl": "{}\n" });
    const folder = path.join(stateDir, sessions);
    symlinkSync(path.join(stateDir, "secret.jsonl"), path.join(folder, "link.jsonl"));
    mkdirSync(path.join(folder, "folder.jsonl"));
    execFileSync("mkfifo", [path.join(folder, "pipe.jsonl")]);
    const result = await scan(stateDir);
    expect(pathsOf(result)).toEqual(["sessions/real.jsonl"]);
    expect(reasonOf(result, "sessions/link.jsonl")).toBe("is a symbolic link, which is not followed");
    expect(reasonOf(result, "sessions/folder.jsonl")).toBe("is a folder, not a file");
    expect(reasonOf(result, "sessions/pipe.jsonl")).toBe("is a named pipe, not a file");
    expect(result.failed).toEqual([]);
  });

  test("a second name of the same file", async () => {
    const stateDir = folderWith({ [`${sessions}/a.jsonl`]: "{}\n" });
    linkSync(path.join(stateDir, sessions, "a.jsonl"), path.join(stateDir, sessions, "b.jsonl"));
    const result = await scan(stateDir);
    expect(pathsOf(result)).toEqual(["sessions/a.jsonl"]);
    expect(reasonOf(result, "sessions/b.jsonl")).toContain("same file as sessions/a.jsonl");
  });

  test.skipIf(isWindows)("a folder that is a link, which could lead to another agent", async () => {
    const stateDir = folderWith({ "agents/other/sessions/secret.jsonl": "{}\n" });
    symlinkSync(path.join(stateDir, "agents/other"), path.join(stateDir, "agents/main"));
    const byAgent = await scan(stateDir);
    expect(byAgent.files).toEqual([]);
    expect(reasonOf(byAgent, "sessions")).toContain("is a symbolic link");

    renameSync(path.join(stateDir, "agents/main"), path.join(stateDir, "agents/away"));
    mkdirSync(path.join(stateDir, "agents/main"));
    symlinkSync(path.join(stateDir, "agents/other/sessions"), path.join(stateDir, sessions));
    const byFolder = await scan(stateDir);
    expect(byFolder.files).toEqual([]);
    expect(reasonOf(byFolder, "sessions")).toContain("is a symbolic link");
  });

  test("a file where the folder should be", async () => {
    const result = await scan(folderWith({ "agents/main/sessions": "" }));
    expect(reasonOf(result, "sessions")).toBe("is not a folder");
  });
});
