import { execFileSync } from "node:child_process";
import { linkSync, lstatSync, mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { sentence } from "@memslot/core/host";
import { type Files, tempFolder as folderWith, writeFiles } from "@memslot/test-tools/files";
import { describe, expect, test } from "vitest";
import { KnownFiles, isSameFile, maxFileBytes } from "./file-state.ts";
import { scanMemory, type ScanResult } from "./scan.ts";
import type { Workspace } from "./memory-roots.ts";
import { createSessionSource } from "../sources/sessions.ts";
import { never, settingsWith } from "../../test/support/context.ts";
import tables from "./test/paths.json" with { type: "json" };

type ExtraPaths = Workspace["settings"]["extraPaths"];

const isWindows = process.platform === "win32";

async function scan(workspaceDir: string, extraPaths: ExtraPaths = []): Promise<ScanResult> {
  return await scanMemory({ workspaceDir, settings: { extraPaths, notes: "agent" } }, never);
}

function paths(result: ScanResult): string[] {
  return result.files.map((file) => file.path).toSorted();
}

function places({ roots }: ScanResult): Record<string, unknown> {
  return Object.fromEntries(
    roots.map((root) => [root.path, root.state === "indexed" ? `${root.files} files` : root.reason]),
  );
}

const linked = "is a symbolic link, which is not followed";
const missing = "does not exist";
const ofTools = [".git", "node_modules", ".obsidian", ".venv", "__pycache__", ".trash"];

interface Row {
  name: string;
  files: Files;
  /** Makes what is no plain file. */
  make?: (at: (name: string) => string, outside: string) => void;
  extraPaths?: ExtraPaths;
  found: string[];
  places?: Record<string, unknown>;
  failed?: string[];
  onlyPosix?: true;
}

const rows: Row[] = [
  ...(tables.scanned as Row[]),
  {
    name: "hidden folders, but none of tools",
    files: {
      ...Object.fromEntries(ofTools.map((name) => [`memory/${name}/note.md`, "x"])),
      "memory/.hidden/note.md": "kept",
      "memory/my_modules/note.md": "kept",
    },
    found: ["memory/.hidden/note.md", "memory/my_modules/note.md"],
  },
  {
    name: "no link, to a file, to nowhere, to a folder or in a circle, and no named pipe",
    files: { "memory/note.md": "n" },
    onlyPosix: true,
    make(at, outside) {
      symlinkSync(path.join(outside, "note.md"), at("memory/link.md"));
      symlinkSync(path.join(outside, "nowhere.md"), at("memory/broken.md"));
      symlinkSync(outside, at("memory/linked"));
      symlinkSync(at("memory"), at("memory/again"));
      execFileSync("mkfifo", [at("memory/pipe.md"), at("MEMORY.md")]);
    },
    found: ["memory/note.md"],
    places: {
      "memory/link.md": linked,
      "memory/broken.md": linked,
      "memory/linked": linked,
      "memory/again": linked,
      "memory/pipe.md": "is a named pipe, not a file",
      "MEMORY.md": "is a named pipe, not a file",
    },
  },
  {
    name: "no root that is a link, with its target",
    files: {},
    onlyPosix: true,
    make(at, outside) {
      for (const name of ["memory", "extra"]) symlinkSync(outside, at(name));
      symlinkSync(path.join(outside, "note.md"), at("MEMORY.md"));
      symlinkSync(path.join(outside, "gone.md"), at("USER.md"));
    },
    extraPaths: ["extra"],
    found: [],
    places: {
      memory: expect.stringMatching(/^is a symbolic link, which is not followed: name the real path instead, \//u),
      extra: expect.stringMatching(/name the real path instead, \//u),
      "MEMORY.md": expect.stringMatching(/name the real path instead, .*note\.md$/u),
      "USER.md": expect.stringMatching(/its target cannot be reached \(ENOENT/u),
    },
  },
  {
    name: "a file with two names once",
    files: { "memory/a.md": "same" },
    make: (at) => linkSync(at("memory/a.md"), at("memory/b.md")),
    extraPaths: [".", "memory"],
    found: ["memory/a.md"],
    places: { "memory/b.md": "is the same file as memory/a.md, which is indexed" },
  },
  {
    name: "no file of more than 16 MiB, with what to do",
    files: { "memory/big.md": "", "memory/full.md": "", "MEMORY.md": "" },
    make(at) {
      truncateSync(at("memory/big.md"), 300 * 1000 * 1000);
      truncateSync(at("memory/full.md"), maxFileBytes);
      truncateSync(at("MEMORY.md"), maxFileBytes + 1);
    },
    extraPaths: ["memory"],
    found: ["memory/full.md"],
    places: {
      "MEMORY.md": expect.stringMatching(/^is .* limit is 16 MiB: split it/u),
      "memory/big.md": "is 286.1 MiB; the limit is 16 MiB: split it into smaller files",
    },
  },
  {
    name: "no extra path that is missing, no Markdown, or behind a file",
    files: { "notes.txt": "t" },
    extraPaths: ["missing", "notes.txt", "notes.txt/below"],
    found: [],
    failed: ["notes.txt/below"],
    places: {
      missing,
      "notes.txt": "is not a Markdown file (.md)",
      "notes.txt/below": expect.stringMatching(/^cannot be read: ENOTDIR/u),
    },
  },
];

describe("a scan", () => {
  test.each(rows.filter(({ onlyPosix }) => !(onlyPosix && isWindows)))("takes $name", async (row) => {
    const workspace = folderWith(row.files);
    row.make?.((name) => path.join(workspace, name), folderWith({ "note.md": "secret" }));
    const result = await scan(workspace, row.extraPaths);
    expect(paths(result)).toEqual(row.found.toSorted());
    expect(places(result)).toMatchObject(row.places ?? {});
    expect(result.failed.map((file) => file.path)).toEqual(row.failed ?? []);
  });

  test("tells where a file is, its size and its time, and which places could not be looked at", async () => {
    const workspace = folderWith({ "MEMORY.md": "four", "notes.txt": "t" });
    const { files, unknown } = await scan(workspace, ["notes.txt/below"]);
    expect(files).toMatchObject([{ absolutePath: path.join(workspace, "MEMORY.md"), size: 4 }]);
    expect(files[0]?.mtimeMs).toBeGreaterThan(0);
    // What is indexed of a place that cannot be looked at has to stay.
    expect(unknown).toEqual(["notes.txt/below", "notes.txt/below/"]);
  });

  test.runIf(process.platform === "linux")("reports files and folders whose names are no UTF-8", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    const named = (...parts: (string | number[])[]): Buffer =>
      Buffer.concat([`${workspace}/memory/`, ...parts].map((part) => Buffer.from(part as string)));
    writeFileSync(named("caf", [0xe9], ".md"), "latin");
    mkdirSync(named("dossier ", [0xe9]));
    writeFileSync(named("dossier ", [0xe9], "/b.md"), "b");
    const result = await scan(workspace);
    expect(paths(result)).toEqual(["memory/a.md"]);
    expect(result.failed).toEqual([
      { path: "memory/caf\ufffd.md", ...sentence("file.name") },
      { path: "memory/dossier \ufffd", ...sentence("file.name") },
    ]);
  });

  test("takes extra paths inside the workspace and outside, folders, files and patterns", async () => {
    const names = ["wiki/a.md", "wiki/deep/b.md", "single.md", "docs/x.md", "docs/y.txt.md", "docs/sub/x.md"];
    const outside = folderWith(Object.fromEntries(names.map((name) => [name, name])));
    const workspace = folderWith({ "notes/n.md": "n", "notes/n.txt": "t" });
    if (!isWindows) symlinkSync(outside, path.join(workspace, "linked"));
    const docs = path.join(outside, "docs");
    // Links among the parents of an extra path are resolved, since its owner named it.
    const wiki = isWindows ? path.join(outside, "wiki") : "linked/wiki";
    const extraPaths = ["notes", wiki, path.join(outside, "single.md"), { path: docs, pattern: "x*.md" }];
    const result = await scan(workspace, extraPaths);
    const above = path.relative(workspace, outside).replaceAll(path.sep, "/");
    const found = result.files.map(({ absolutePath }) =>
      path.relative(outside, absolutePath).replaceAll(path.sep, "/"),
    );
    expect(found.filter((name) => !name.startsWith(".."))).toEqual([...names.slice(0, 3), "docs/x.md"]);
    expect(paths(result)).toEqual(expect.arrayContaining(["notes/n.md", `${above}/single.md`, `${above}/docs/x.md`]));
    expect(places(result)).toMatchObject({ notes: "1 files", [docs]: "1 files" });
  });

  test("takes a pattern as a glob below its folder", async () => {
    const [all = []] = tables.belowFolder.map(([, found]) => found as string[]);
    const workspace = folderWith(Object.fromEntries(all.map((name) => [`docs/${name}`, name])));
    for (const [pattern, found] of tables.belowFolder as [string, string[]][])
      expect(paths(await scan(workspace, [{ path: "docs", pattern }]))).toEqual(found.map((name) => `docs/${name}`));
  });

  test("of a workspace that has vanished, or is a file, is an error that names it and the next step", async () => {
    const workspace = folderWith({ "memory/a.md": "a", "file.md": "x" });
    await expect(scan(path.join(workspace, "file.md"))).rejects.toMatchObject({ code: "WORKSPACE" });
    rmSync(workspace, { recursive: true });
    const error: unknown = await scan(workspace).catch((reason: unknown) => reason);
    expect(MemoryError.is(error, "WORKSPACE")).toBe(true);
    expect((error as Error).message).toContain(workspace);
    expect((error as Error).message).toContain("memslot init");
  });
});

test("the same file is found under two names, also where a disk gives two files one number", () => {
  const folder = folderWith({ "a.md": "same", "b.md": "same" });
  const [a, b, c, none] = ["a.md", "b.md", "c.md", "none.md"].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  linkSync(a, c);
  const pairs: [string, string][] = [
    [a, c],
    [a, b],
    [a, none],
    [none, none],
  ];
  expect(pairs.map(([one, other]) => isSameFile(one, other))).toEqual([true, false, false, false]);
  // As FAT on macOS numbers empty files, or a number of Windows that a JavaScript number cannot hold.
  const known = new KnownFiles<{ absolutePath: string }>();
  const stats = lstatSync(a, { bigint: true });
  const added = [a, b, c].map((absolutePath) => known.add({ absolutePath }, stats));
  expect(added).toEqual([undefined, undefined, { absolutePath: a }]);
});

describe("the transcripts of an agent", () => {
  const sessions = "agents/main/sessions";
  const transcripts = async (stateDir: string, agentId = "main"): Promise<ScanResult> =>
    await createSessionSource({ stateDir, agentId, settings: settingsWith() }).scan(never, async () => new Map());

  test("are the .jsonl files of its own folder, without what hosts keep beside them", async () => {
    const beside = tables.besideTranscripts;
    const names = ["b.jsonl", "a.JSONL", "id-topic-7.jsonl", ...beside];
    const stateDir = folderWith({ "agents/other/sessions/c.jsonl": "{}\n" });
    writeFiles(path.join(stateDir, sessions), Object.fromEntries(names.map((name) => [name, "{}\n"])));
    const result = await transcripts(stateDir);
    expect(paths(result)).toEqual(["sessions/a.JSONL", "sessions/b.jsonl", "sessions/id-topic-7.jsonl"]);
    expect(result.files[1]).toMatchObject({ absolutePath: path.join(stateDir, sessions, "b.jsonl"), size: 3 });
    expect(places(result)).toEqual({ sessions: "3 files" });
    expect([result.failed, result.unknown]).toEqual([[], []]);
  });

  test("may be missing, or a file where the folder should be", async () => {
    expect(places(await transcripts(folderWith()))).toEqual({ sessions: missing });
    expect(places(await transcripts(folderWith({ [sessions]: "" })))).toEqual({ sessions: "is not a folder" });
  });

  test.skipIf(isWindows)("are no links, folders, named pipes and second names, which are reported", async () => {
    const stateDir = folderWith({ [`${sessions}/real.jsonl`]: "{}\n", "secret.jsonl": "{}\n" });
    const folder = path.join(stateDir, sessions);
    symlinkSync(path.join(stateDir, "secret.jsonl"), path.join(folder, "link.jsonl"));
    mkdirSync(path.join(folder, "folder.jsonl"));
    execFileSync("mkfifo", [path.join(folder, "pipe.jsonl")]);
    linkSync(path.join(folder, "real.jsonl"), path.join(folder, "second.jsonl"));
    const result = await transcripts(stateDir);
    expect(paths(result)).toEqual(["sessions/real.jsonl"]);
    expect(places(result)).toMatchObject({
      "sessions/link.jsonl": linked,
      "sessions/folder.jsonl": "is a folder, not a file",
      "sessions/pipe.jsonl": "is a named pipe, not a file",
      "sessions/second.jsonl": expect.stringContaining("same file as sessions/real.jsonl"),
    });
    expect(result.failed).toEqual([]);
  });

  test.skipIf(isWindows)("are not behind a folder that is a link, which could lead to another agent", async () => {
    const stateDir = folderWith({ "agents/other/sessions/secret.jsonl": "{}\n" });
    const [main, other] = [path.join(stateDir, "agents/main"), path.join(stateDir, "agents/other")];
    symlinkSync(other, main);
    const byAgent = await transcripts(stateDir);
    renameSync(main, path.join(stateDir, "agents/away"));
    mkdirSync(main);
    symlinkSync(path.join(other, "sessions"), path.join(main, "sessions"));
    for (const result of [byAgent, await transcripts(stateDir)]) {
      expect(result.files).toEqual([]);
      expect(places(result)).toEqual({ sessions: expect.stringContaining("is a symbolic link") });
    }
  });
});
