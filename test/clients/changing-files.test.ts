import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { DatabaseSync } from "node:sqlite";
import type { Memory } from "@memslot/core";
import {
  appendLine,
  assistant,
  claudeSession,
  codexLines,
  codexSession,
  cursorDatabase,
  cursorTranscript,
  geminiChat,
  geminiLine,
  opencodeDatabase,
  opencodeSession,
  slugOf,
  user,
} from "@memslot/fakes/clients";
import { stateOf, useLab } from "../support/client-home.ts";

const lab = useLab();

/** What is found, after whatever has changed was looked at. */
async function found(memory: Memory, query: string): Promise<string[]> {
  await memory.sync({ reason: "cli" });
  const { found: results, report } = await lab.ask(memory, query);
  expect(report?.state, report?.reason).toBe("ok");
  return results.map((each) => each.path);
}

function claudeLine(cwd: string, uuid: string, text: string): object {
  return {
    type: "assistant",
    uuid,
    cwd,
    sessionId: "s",
    timestamp: "2026-11-20T11:00:00.000Z",
    message: { role: "assistant", content: [{ type: "text", text }] },
  };
}

describe("a transcript", () => {
  test("that grows is read on, a half-written line once it is whole", async () => {
    const { cwd, file, memory } = await lab.claude([user("The first aardvark")]);
    const place = `claude-code:/${slugOf(cwd)}/s.jsonl`;
    expect(await found(memory, "aardvark")).toEqual([place]);
    appendLine(file, claudeLine(cwd, "a", "A second bandicoot"));
    const half = JSON.stringify(claudeLine(cwd, "b", "A third capybara"));
    appendFileSync(file, half.slice(0, 60));
    expect(await found(memory, "bandicoot")).toEqual([place]);
    expect(await found(memory, "capybara")).toEqual([]);
    appendFileSync(file, `${half.slice(60)}\n`);
    expect(await found(memory, "capybara")).toEqual([place]);
    expect(await found(memory, "aardvark")).toEqual([place]);
  });

  test("that is rewritten, truncated, renamed or deleted is followed", async () => {
    const { cwd, file, memory } = await lab.claude([user("The first aardvark"), assistant("A second bandicoot")]);
    expect(await found(memory, "bandicoot")).toHaveLength(1);
    const lines = readFileSync(file, "utf8").split("\n");
    writeFileSync(file, `${lines.slice(0, 3).join("\n")}\n`);
    expect(await found(memory, "bandicoot")).toEqual([]);
    expect(await found(memory, "aardvark")).toHaveLength(1);
    claudeSession(lab.home, cwd, "s", [user("Quite another capybara")]);
    expect(await found(memory, "aardvark")).toEqual([]);
    expect(await found(memory, "capybara")).toHaveLength(1);
    renameSync(file, file.replace("s.jsonl", "t.jsonl"));
    expect(await found(memory, "capybara")).toEqual([`claude-code:/${slugOf(cwd)}/t.jsonl`]);
    rmSync(path.dirname(file), { recursive: true });
    expect(await found(memory, "capybara")).toEqual([]);
  });

  test("of the same size with other words and its old time is read again", async () => {
    const { file, memory } = await lab.claude([user("The word aardvark here")]);
    expect(await found(memory, "aardvark")).toHaveLength(1);
    const time = new Date("2026-11-20T10:00:00Z");
    utimesSync(file, time, time);
    expect(await found(memory, "aardvark")).toHaveLength(1);
    writeFileSync(file, readFileSync(file, "utf8").replace("aardvark", "anteater"));
    utimesSync(file, time, time);
    expect(await found(memory, "aardvark")).toEqual([]);
    expect(await found(memory, "anteater")).toHaveLength(1);
  });

  test("of Codex is the same session when it is compressed, archived and gone on with", async () => {
    const cwd = lab.project("app");
    const said = [user("The first aardvark"), assistant("A second bandicoot")];
    const file = codexSession(lab.home, cwd, "id", said);
    const place = `codex:/${path.basename(file)}`;
    const memory = await lab.open({ sources: ["codex"], from: cwd });
    expect(await found(memory, "bandicoot")).toEqual([place]);
    writeFileSync(`${file}.zst`, zstdCompressSync(readFileSync(file)));
    rmSync(file);
    expect(await found(memory, "bandicoot")).toEqual([place]);
    expect((await memory.readFile({ relPath: place, from: 6, lines: 1 })).text).toContain("bandicoot");
    const archive = path.join(lab.home, ".codex/archived_sessions");
    mkdirSync(archive);
    renameSync(`${file}.zst`, path.join(archive, `${path.basename(file)}.zst`));
    expect(await found(memory, "bandicoot")).toEqual([place]);
    writeFileSync(file, codexLines(cwd, "id", [...said, user("And a third capybara")]));
    expect(await found(memory, "capybara")).toEqual([place]);
    expect(memory.status().files).toBe(2);
  });

  test("that is damaged is read as far as possible, and the rest is reported", async () => {
    const cwd = lab.project("app");
    const file = claudeSession(lab.home, cwd, "s", [user("The first aardvark")]);
    appendFileSync(file, '{"type":"user","message"\n\u0000\u0001\n[1,2]\n');
    appendFileSync(file, Buffer.from([0xff, 0xfe, 0x0a]));
    appendLine(file, claudeLine(cwd, "z", "Behind it a dingo"));
    codexSession(lab.home, cwd, "id", [user("elsewhere")]);
    const zst = path.join(lab.home, ".codex/sessions/2026/11/20/rollout-broken.jsonl.zst");
    writeFileSync(zst, "no zstd");
    const memory = await lab.open({ sources: ["claude-code", "codex"], from: cwd });
    const report = await memory.sync({ reason: "cli" });
    expect(report?.failed.map((each) => each.path)).toEqual(["codex:/rollout-broken.jsonl"]);
    const { found: results } = await lab.ask(memory, "dingo aardvark");
    expect(results.map((each) => each.path)).toContain(`claude-code:/${slugOf(cwd)}/s.jsonl`);
    const own = memory.status().sourceCounts?.find(({ source }) => source === "claude-code");
    expect(JSON.stringify(own)).toContain("skipped or cut lines: 4");
  });

  test.skipIf(process.getuid?.() === 0)(
    "that cannot be read is reported, and what is known of it is not shown",
    async () => {
      const { file, memory } = await lab.claude([user("The first aardvark")]);
      expect(await found(memory, "aardvark")).toHaveLength(1);
      chmodSync(path.dirname(file), 0);
      const report = await memory.sync({ reason: "cli" });
      chmodSync(path.dirname(file), 0o755);
      expect(report?.failed).toHaveLength(1);
    },
  );

  test("behind a link is not taken, but the folder of a program may be one", async () => {
    const cwd = lab.project("app");
    const outside = path.join(lab.home, "elsewhere.jsonl");
    const file = claudeSession(lab.home, cwd, "s", [user("The first aardvark")]);
    renameSync(file, outside);
    symlinkSync(outside, file);
    claudeSession(lab.home, cwd, "t", [user("A second bandicoot")]);
    renameSync(path.join(lab.home, ".claude"), path.join(lab.home, "dotfiles"));
    symlinkSync(path.join(lab.home, "dotfiles"), path.join(lab.home, ".claude"));
    const memory = await lab.open({ sources: ["claude-code"], from: cwd });
    expect(await found(memory, "aardvark")).toEqual([]);
    expect(await found(memory, "bandicoot")).toEqual([`claude-code:/${slugOf(cwd)}/t.jsonl`]);
  });
});

test("in a chat of Gemini a line may replace an earlier one, take back others or all, and start again", async () => {
  const cwd = lab.project("app");
  const file = geminiChat(lab.home, cwd, "1", [
    geminiLine("a", "user", "The first aardvark"),
    geminiLine("b", "gemini", "A second band"),
    geminiLine("b", "gemini", "A second bandicoot"),
    geminiLine("c", "user", "A third capybara"),
  ]);
  const memory = await lab.open({ sources: ["gemini"], from: cwd });
  const animals = ["aardvark", "bandicoot", "capybara", "dingo", "emu"];
  const left = async (): Promise<string[]> => {
    const counts = new Map<string, number>();
    for (const animal of animals) counts.set(animal, (await found(memory, animal)).length);
    return animals.filter((animal) => counts.get(animal) === 1);
  };
  const lineAt = async (from: number): Promise<string> =>
    (await memory.readFile({ relPath: "gemini:/app/session-1.jsonl", from, lines: 1 })).text;
  expect(await left()).toEqual(["aardvark", "bandicoot", "capybara"]);
  expect(await lineAt(3)).toContain("A second bandicoot");
  appendLine(file, { $rewindTo: "b" });
  expect(await left()).toEqual(["aardvark"]);
  appendLine(file, { $set: { messages: [geminiLine("d", "user", "A dingo"), geminiLine("e", "gemini", "An emu")] } });
  expect(await left()).toEqual(["dingo", "emu"]);
  expect(await lineAt(readFileSync(file, "utf8").trimEnd().split("\n").length)).toBe("User: A dingo Assistant: An emu");
  // A compaction keeps copies and adds a summary; the conversation itself stays.
  const copies = (id: string, text: string, confirmed: string) => {
    const snapshot = [geminiLine(id, "user", text), geminiLine(`${id}-t`, "gemini", confirmed)];
    return { $set: { messages: [...snapshot, geminiLine(`${id}-f`, "gemini", "An emu")] } };
  };
  const first = copies("s", "<state_snapshot>A wombat</state_snapshot>", "A yak");
  appendLine(file, first);
  appendLine(file, geminiLine("g", "user", "A flamingo"));
  appendLine(file, first);
  // A resumed session writes what opens it alone, then its whole list again.
  const opening = geminiLine("o", "user", "<session_context>An okapi</session_context>");
  appendLine(file, { $set: { messages: [opening] } });
  appendLine(file, { $set: { messages: [opening, ...first.$set.messages, geminiLine("g", "user", "A flamingo")] } });
  appendLine(file, copies("u", "<scratchpad>A wombat</scratchpad>", "Got it. Thanks for the additional context!"));
  for (const word of ["dingo", "emu", "flamingo"])
    expect(await found(memory, word)).toEqual(["gemini:/app/session-1.jsonl"]);
  for (const word of ["wombat", "yak"]) expect([word, await found(memory, word)]).toEqual([word, []]);
  const { text } = await memory.readFile({ relPath: "gemini:/app/session-1.jsonl", from: 1 });
  expect(text.split("An emu")).toHaveLength(2);
  appendLine(file, { $rewindTo: "unknown" });
  expect(await left()).toEqual([]);
  const messages = [geminiLine("x", "user", "Of an earlier version an emu")];
  writeFileSync(path.join(path.dirname(file), "session-0.json"), JSON.stringify({ sessionId: "0", messages }));
  expect(await found(memory, "emu")).toEqual(["gemini:/app/session-0.json"]);
});

test("a database is read while its program writes to it, and left as it is when that has ended", async () => {
  const cwd = lab.project("app");
  const db = opencodeDatabase(lab.home);
  opencodeSession(db, { id: "ses_1", cwd, said: [user("The first aardvark")] });
  const memory = await lab.open({ sources: ["opencode"], from: cwd });
  expect(await found(memory, "aardvark")).toEqual(["opencode:/ses_1"]);
  db.exec("BEGIN IMMEDIATE");
  opencodeSession(db, { id: "ses_1", cwd, said: [user("The first aardvark"), assistant("A second bandicoot")] });
  expect(await found(memory, "bandicoot")).toEqual([]);
  db.exec("COMMIT");
  expect(await found(memory, "bandicoot")).toEqual(["opencode:/ses_1"]);
  opencodeSession(db, { id: "ses_2", cwd, said: [user("Elsewhere a capybara")] });
  db.exec("DELETE FROM session WHERE id = 'ses_1'");
  expect(await found(memory, "capybara")).toEqual(["opencode:/ses_2"]);
  expect(await found(memory, "bandicoot")).toEqual([]);
  db.close();
  const folder = path.join(lab.home, ".local/share/opencode");
  const before = stateOf(folder);
  expect(Object.keys(before)).toEqual(["opencode.db"]);
  const later = await lab.open({ sources: ["opencode"], from: cwd, scope: "all" });
  expect(await found(later, "capybara")).toEqual(["opencode:/ses_2"]);
  expect(stateOf(folder)).toEqual(before);
});

test("a database that is damaged, locked or not as it was fails by its name, and what it held is not forgotten", async () => {
  const cwd = lab.project("app");
  const db = lab.running(opencodeDatabase(lab.home));
  opencodeSession(db, { id: "ses_1", cwd, said: [user("The first aardvark")] });
  const memory = await lab.open({ sources: ["opencode"], from: cwd });
  expect(await found(memory, "aardvark")).toEqual(["opencode:/ses_1"]);
  const file = path.join(lab.home, ".local/share/opencode/opencode.db");
  db.exec("ALTER TABLE session RENAME COLUMN directory TO folder");
  const failed = async (): Promise<string[]> =>
    (await memory.sync({ reason: "cli" }))?.failed.map(({ path: place, reason }) => `${place} ${reason}`) ?? [];
  expect(await failed()).toEqual([expect.stringMatching(/opencode\.db cannot be read: no such column/u)]);
  expect((await lab.ask(memory, "aardvark")).found).toEqual([]);
  expect((await lab.ask(memory, "zebra")).found.map((each) => each.path)).toEqual(["MEMORY.md"]);
  db.exec("ALTER TABLE session RENAME COLUMN folder TO directory");
  expect(await found(memory, "aardvark")).toEqual(["opencode:/ses_1"]);
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const bytes = readFileSync(file);
  writeFileSync(file, Buffer.concat([bytes.subarray(0, 20), Buffer.alloc(4000, 7)]));
  expect(await failed()).toEqual([expect.stringContaining("opencode.db cannot be read: ")]);
  writeFileSync(file, bytes);
  expect(await found(memory, "aardvark")).toEqual(["opencode:/ses_1"]);
});

test.skipIf(process.platform === "win32")("a pipe in the place of any file blocks nothing", async () => {
  const cwd = lab.project("app");
  const text = readFileSync(path.join(import.meta.dirname, "../data/client-pipes.json"), "utf8");
  const places = JSON.parse(text.replaceAll("SLUG", slugOf(cwd))) as string[];
  for (const place of places) {
    mkdirSync(path.dirname(path.join(lab.home, place)), { recursive: true });
    execFileSync("mkfifo", [path.join(lab.home, place)]);
  }
  const memory = await lab.open({ sources: ["claude-code", "codex", "gemini", "opencode", "cursor"], from: cwd });
  const report = await memory.sync({ reason: "cli" });
  expect(report?.failed.map((each) => path.basename(each.path)).toSorted()).toEqual(["opencode.db", "state.vscdb"]);
  expect((await lab.ask(memory, "zebra")).found).toHaveLength(1);
});

test("a conversation that Cursor has in its database and in a transcript is found once", async () => {
  const cwd = lab.project("app");
  lab.running(cursorDatabase(lab.home, cwd, "same", [user("The first aardvark")]));
  cursorTranscript(lab.home, cwd, "same", [user("The first aardvark")]);
  const memory = await lab.open({ sources: ["cursor"], from: cwd });
  expect(await found(memory, "aardvark")).toEqual(["cursor:/same.jsonl"]);
});

describe("folders whose names a program writes alike", () => {
  test("are distinguished by the lines", async () => {
    const [one, other] = [lab.project("a-b"), lab.project("a/b")];
    expect(slugOf(one)).toBe(slugOf(other));
    claudeSession(lab.home, one, "one", [user("The first aardvark")]);
    claudeSession(lab.home, other, "two", [user("The second aardvark")]);
    for (const [from, name] of [
      [one, "one"],
      [other, "two"],
    ] as const) {
      const memory = await lab.open({ sources: ["claude-code"], from });
      expect(await found(memory, "aardvark")).toEqual([`claude-code:/${slugOf(from)}/${name}.jsonl`]);
    }
  });

  test("and where they do not say, only where one folder can be meant", async () => {
    const one = lab.project("a-b");
    cursorTranscript(lab.home, one, "x", [user("The first aardvark")]);
    const alone = await lab.open({ sources: ["cursor"], from: one });
    expect(await found(alone, "aardvark")).toEqual(["cursor:/x.jsonl"]);
    await alone.close();
    const other = lab.project("a/b");
    for (const from of [one, other])
      expect(await found(await lab.open({ sources: ["cursor"], from }), "aardvark")).toEqual([]);
    const all = await lab.open({ sources: ["cursor"], from: one, scope: "all" });
    expect(await found(all, "aardvark")).toEqual(["cursor:/x.jsonl"]);
  });
});

describe("what a program deletes", () => {
  const sources = ["claude-code", "opencode", "cursor"];

  function make(cwd: string): DatabaseSync {
    claudeSession(lab.home, cwd, "s", [user("Mind the aardvark"), assistant(`key sk-ant-api03-${"aB3".repeat(30)}`)]);
    cursorTranscript(lab.home, cwd, "c", [user("Mind the bandicoot")]);
    const db = opencodeDatabase(lab.home);
    opencodeSession(db, { id: "ses_1", cwd, said: [user("Mind the capybara")] });
    return db;
  }

  function drop(db: DatabaseSync): void {
    for (const folder of [".claude/projects", ".cursor/projects"])
      rmSync(path.join(lab.home, folder), { recursive: true });
    db.exec("DELETE FROM session");
    db.close();
  }

  const animals = ["aardvark", "bandicoot", "capybara"];

  test("is found no more, and nothing of it is kept", async () => {
    const cwd = lab.project("app");
    const db = make(cwd);
    const memory = await lab.open({ sources, from: cwd });
    for (const animal of animals) expect([animal, await found(memory, animal)]).toEqual([animal, [expect.anything()]]);
    drop(db);
    for (const animal of animals) expect([animal, await found(memory, animal)]).toEqual([animal, []]);
    expect(existsSync(path.join(lab.stateDir, "agents/main/kept"))).toBe(false);
  });

  test("stays to be found where the user has said so, under its name and in its project, without secrets", async () => {
    const cwd = lab.project("app");
    const db = make(cwd);
    const before = await lab.open({ sources, from: cwd, keep: true });
    const places: string[][] = [];
    for (const animal of animals) places.push(await found(before, animal));
    expect(places.flat()).toEqual([`claude-code:/${slugOf(cwd)}/s.jsonl`, "cursor:/c.jsonl", "opencode:/ses_1"]);
    await before.close();
    drop(db);
    rmSync(path.join(lab.stateDir, "memory"), { recursive: true });
    const after = await lab.open({ sources, from: cwd, keep: true });
    for (const [index, animal] of animals.entries()) {
      expect(await found(after, animal)).toEqual(places[index]);
      const [place = ""] = places[index] ?? [];
      const { found: results } = await lab.ask(after, animal);
      const line = results[0]?.endLine ?? 0;
      expect((await after.readFile({ relPath: place, from: 1, lines: line })).text).toContain(
        `User: Mind the ${animal}`,
      );
    }
    const elsewhere = await lab.open({ sources, from: lab.project("other"), keep: true });
    for (const animal of animals) expect(await found(elsewhere, animal)).toEqual([]);
    const kept = path.join(lab.stateDir, "agents/main/kept");
    const texts = readdirSync(kept, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith(".rules"))
      .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), "utf8"));
    expect(texts).toHaveLength(3);
    expect(texts.join("")).toContain("Mind the aardvark");
    expect(texts.join("")).not.toContain("aB3aB3");
  });

  test("a copy grows with its transcript, and follows it when it is rewritten", async () => {
    const { cwd, file, memory } = await lab.claude([user("The first aardvark")], true);
    const copy = path.join(lab.stateDir, "agents/main/kept/claude-code", slugOf(cwd), "s.jsonl");
    const lines = (): number => readFileSync(copy, "utf8").split("\n").length;
    for (let index = 0; index < 30; index++) {
      appendLine(file, claudeLine(cwd, `u${index}`, `Number ${index} of the bandicoots ${"word ".repeat(40)}`));
      await memory.sync({ reason: "cli" });
      expect([index, lines()]).toEqual([index, readFileSync(file, "utf8").split("\n").length]);
    }
    const whole = readFileSync(copy, "utf8");
    for (let index = 0; index < 30; index++) expect(whole.split(`Number ${index} of`)).toHaveLength(2);
    claudeSession(lab.home, cwd, "s", [user("Quite another dingo")]);
    await memory.sync({ reason: "cli" });
    expect(readFileSync(copy, "utf8")).toContain("dingo");
    expect(readFileSync(copy, "utf8")).not.toContain("aardvark");
  });
});
