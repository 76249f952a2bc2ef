import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type ImportedNote, type ImportedNotes, importNotes, type ImportNotesOptions } from "@memslot/agent-kit";
import { createWorkspace } from "@memslot/test-tools/files";
import { beforeEach, expect, test } from "vitest";

let workspaceDir: string;
let folder: string;
let stateDir: string;

beforeEach(() => {
  ({ workspaceDir, stateDir } = createWorkspace());
  folder = path.join(workspaceDir, "memory/imports/elsewhere");
});

const place = (): Pick<ImportNotesOptions, "workspaceDir" | "stateDir" | "settings"> => ({
  workspaceDir,
  stateDir,
  settings: { extraPaths: [], notes: "auto" },
});

const pump: ImportedNote = { id: "1", title: "Heat  pump", day: "2024-03-12", url: "https://x.test/1", text: "8 kW." };
const boat: ImportedNote = { id: "2", title: "船", text: "It leaks." };

async function importAll(notes: readonly ImportedNote[], options: { dryRun?: boolean } = {}): Promise<ImportedNotes> {
  async function* each(): AsyncGenerator<ImportedNote> {
    yield* notes;
  }
  return await importNotes({ ...place(), source: "elsewhere", notes: each(), ...options });
}

const files = (): string[] => readdirSync(folder).toSorted();
const read = (name = ""): string => readFileSync(path.join(folder, name), "utf8");

test("each note is a file with its day, title and where it comes from, found again by its identifier", async () => {
  expect(await importAll([pump, boat])).toEqual({
    folder: "memory/imports/elsewhere",
    counts: { added: 2, changed: 0, unchanged: 0, edited: 0, deleted: 0 },
    edited: [],
  });
  const [dated = "", plain = ""] = files();
  expect(dated).toMatch(/^2024-03-12-heat-pump-[0-9a-f]{12}\.md$/u);
  expect(plain).toMatch(/^[0-9a-f]{12}\.md$/u);
  expect(read(dated)).toMatch(
    /^---\nimported: elsewhere\nid: "1"\ndate: 2024-03-12\nurl: "https:\/\/x\.test\/1"\nstate: [0-9a-f]{64}\n---\n# Heat pump\n\n8 kW\.\n$/u,
  );
  expect(read(plain)).toContain("\n# 船\n\nIt leaks.\n");
  expect((await importAll([boat, pump])).counts).toEqual({ added: 0, changed: 0, unchanged: 2, edited: 0, deleted: 0 });
  // Also under another title: it is the same one.
  const grown = { ...pump, title: "Heating", text: "8 kW.\n\nOr 9." };
  expect((await importAll([grown])).counts).toMatchObject({ changed: 1, added: 0 });
  expect(files()).toEqual([dated, plain]);
  expect(read(dated)).toContain("# Heating\n\n8 kW.\n\nOr 9.\n");
  expect((await importAll([{ ...boat, title: "Boat", day: "2024-05-01" }])).counts).toMatchObject({ changed: 1 });
  expect(files()).toEqual([dated, plain]);
});

test("what somebody has changed here stays as it is, and is named", async () => {
  await importAll([pump]);
  const [name = ""] = files();
  for (const mine of [read(name).replace("8 kW", "9 kW"), "mine\n", "", read(name).replaceAll("\n", "\r\n")]) {
    writeFileSync(path.join(folder, name), mine);
    const { counts, edited } = await importAll([{ ...pump, text: "10 kW." }]);
    expect({ counts, edited }).toEqual({
      counts: { added: 0, changed: 0, unchanged: 0, edited: 1, deleted: 0 },
      edited: [`memory/imports/elsewhere/${name}`],
    });
    expect(read(name)).toBe(mine);
  }
});

test("a dry run writes nothing and says what would be", async () => {
  expect((await importAll([pump, boat], { dryRun: true })).counts).toMatchObject({ added: 2 });
  expect(existsSync(path.join(workspaceDir, "memory"))).toBe(false);
  await importAll([pump]);
  const before = read(files()[0]);
  const { counts } = await importAll([{ ...pump, text: "new" }, boat], { dryRun: true });
  expect(counts).toEqual({ added: 1, changed: 1, unchanged: 0, edited: 0, deleted: 0 });
  expect([files().length, read(files()[0])]).toEqual([1, before]);
});

test("no note makes no folder", async () => {
  await importAll([]);
  expect(readdirSync(workspaceDir)).toEqual([]);
});

test("a note of any text and name stays in its folder, is text alone, and holds no secret", async () => {
  const key = "AKIAIOSFODNN7EXAMPLQ";
  const hostile: ImportedNote[] = [
    { id: "../../../escape", title: "../../etc/passwd", text: `password AWS_SECRET ${key}` },
    { id: 'x"\n---\nstate: 1', title: "a\n# b\u0000\u202Ec", text: "\u0000\u001B[31mred\r\nnext\uD800" },
    { id: "", title: "", text: "" },
  ];
  expect((await importAll(hostile)).counts).toMatchObject({ added: 3 });
  expect(readdirSync(workspaceDir)).toEqual(["memory"]);
  for (const name of files()) {
    expect(name).toMatch(/^[a-z0-9-]+\.md$/u);
    for (const sign of ["\u0000", "\u001B", "\r", "\u202E", key]) expect(read(name)).not.toContain(sign);
    // The first lines are its own, whatever the others say.
    expect(read(name)).toMatch(/^---\nimported: elsewhere\nid: ".*"\nstate: [0-9a-f]{64}\n---\n# .+\n\n/u);
  }
  expect((await importAll(hostile)).counts).toMatchObject({ unchanged: 3 });
});

test("a link in the way, and a name that is none, are refused", async () => {
  const away = path.join(workspaceDir, "away");
  mkdirSync(away);
  symlinkSync(away, path.join(workspaceDir, "memory"));
  await expect(importAll([pump])).rejects.toMatchObject({ code: "WORKSPACE" });
  expect(readdirSync(away)).toEqual([]);
  async function* none(): AsyncGenerator<ImportedNote> {}
  for (const source of ["..", "A", "a/b", ""])
    await expect(importNotes({ ...place(), source, notes: none() })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
});

test("what was written stays where the source fails or it is called off, and the next run goes on", async () => {
  const calledOff = new AbortController();
  async function* broken(): AsyncGenerator<ImportedNote> {
    yield pump;
    throw new Error("the file ends here");
  }
  async function* slow(): AsyncGenerator<ImportedNote> {
    yield boat;
    calledOff.abort();
    yield { ...boat, id: "3" };
  }
  await expect(importNotes({ ...place(), source: "elsewhere", notes: broken() })).rejects.toThrow(
    /^the file ends here$/u,
  );
  await expect(
    importNotes({ ...place(), source: "elsewhere", notes: slow(), signal: calledOff.signal }),
  ).rejects.toMatchObject({ name: "AbortError" });
  expect(files()).toHaveLength(2);
  expect((await importAll([pump, boat])).counts).toMatchObject({ unchanged: 2 });
});
