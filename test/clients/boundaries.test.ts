import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
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
import { describe, expect, test } from "vitest";
import { useLab } from "../support/client-home.ts";
import data from "../data/boundaries.json" with { type: "json" };

const lab = useLab();

async function paths(from: string, sources: readonly string[], scope?: "all"): Promise<string[]> {
  const memory = await lab.open({ sources, from, ...(scope && { scope }) });
  await memory.sync({ reason: "cli" });
  const { found } = await lab.ask(memory, "quagga");
  // Else the next one would be the same, with what it has learned.
  await memory.close();
  return found.map((each) => each.path).toSorted();
}

describe("of no project of this machine is", () => {
  test("what was had in a folder that is not a path of this machine", async () => {
    const from = lab.project("app");
    const folders = ["C:\\Users\\ann\\secret", ".", "src", "*", "slug:-tmp", "sha256:00", "~", "/gone/elsewhere"];
    for (const [index, cwd] of folders.entries()) {
      codexSession(lab.home, cwd, `x${index}`, [user("The quagga")]);
      claudeSession(lab.home, cwd, `y${index}`, [user("The quagga")]);
    }
    const before = process.cwd();
    try {
      process.chdir(from);
      expect(await paths(from, ["codex", "claude-code"])).toEqual([]);
    } finally {
      process.chdir(before);
    }
    expect(await paths(from, ["codex", "claude-code"], "all")).toHaveLength(2 * folders.length);
  });

  test("a project of Gemini that calls itself by what stands for all", async () => {
    const cwd = lab.project("app");
    const file = geminiChat(lab.home, cwd, "1", [geminiLine("a", "user", "The quagga")]);
    writeFileSync(path.join(path.dirname(file), "../.project_root"), "*");
    expect(await paths(cwd, ["gemini"])).toEqual([]);
  });

  test("a note below a name that was cut", async () => {
    const [one, other] = ["alpha", "beta"].map((end) => lab.project(`${"a".repeat(120)}/${"b".repeat(120)}-${end}`));
    const slug = `${slugOf(one ?? "").slice(0, 200)}-abc123`;
    const memory = path.join(lab.home, ".claude/projects", slug, "memory");
    mkdirSync(memory, { recursive: true });
    writeFileSync(path.join(memory, "MEMORY.md"), "The quagga\n");
    for (const from of [one, other]) expect(await paths(from ?? "", ["claude-code"])).toEqual([]);
  });

  test("a project that was deleted below a repository", async () => {
    mkdirSync(path.join(lab.home, ".git"));
    const secret = lab.project("secret");
    codexSession(lab.home, secret, "x", [user("The quagga")]);
    mkdirSync(path.join(lab.home, "docs"));
    const from = path.join(lab.home, "docs");
    expect(await paths(from, ["codex"])).toEqual([]);
    rmSync(secret, { recursive: true });
    expect(await paths(from, ["codex"])).toEqual([]);
    expect(await paths(from, ["codex"], "all")).toHaveLength(1);
  });

  test("what a helper of Codex was told", async () => {
    const cwd = lab.project("app");
    const file = codexSession(lab.home, cwd, "x", [user("The quagga")]);
    const [head = "", ...rest] = readFileSync(file, "utf8").split("\n");
    const meta = JSON.parse(head) as { payload: object };
    writeFileSync(
      file,
      [
        JSON.stringify({ ...meta, payload: { ...meta.payload, source: { subagent: { thread_spawn: {} } } } }),
        ...rest,
      ].join("\n"),
    );
    expect(await paths(cwd, ["codex"])).toEqual([]);
  });
});

test("a project is the same by a link to it, and a folder in it by the name that stands for that alone", async () => {
  const cwd = lab.project("app");
  symlinkSync(cwd, path.join(lab.home, "link"));
  codexSession(lab.home, path.join(lab.home, "link"), "x", [user("The quagga")]);
  const inside = path.join(cwd, "packages/x");
  mkdirSync(inside, { recursive: true });
  cursorTranscript(lab.home, inside, "y", [user("The quagga")]);
  for (const from of [cwd, inside, path.join(lab.home, "link")])
    expect(await paths(from, ["codex", "cursor"])).toHaveLength(2);
});

test("a file that another project's has taken the place of is not read under its old name", async () => {
  const [own, other] = [lab.project("app"), lab.project("other")];
  const file = claudeSession(lab.home, own, "one", [user("The quagga")]);
  const theirs = claudeSession(lab.home, other, "two", [user("The password of the other is okapi")]);
  const memory = await lab.open({ sources: ["claude-code"], from: own });
  await memory.sync({ reason: "cli" });
  renameSync(theirs, file);
  const relPath = `claude-code:/${slugOf(own)}/one.jsonl`;
  await expect(memory.readFile({ relPath })).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
});

test("no figure in the report to a group changes with the conversations of other programs", async () => {
  const cwd = lab.project("app");
  const reportToGroup = async (): Promise<object> => {
    const memory = await lab.open({ sources: ["codex"], from: cwd });
    await memory.sync({ reason: "cli" });
    const { report } = await lab.ask(memory, "quagga", "agent:main:telegram:group:7");
    await memory.close();
    return { ...report, timingsMs: 0 };
  };
  const before = await reportToGroup();
  codexSession(lab.home, cwd, "x", [user("The quagga")]);
  expect(await reportToGroup()).toEqual(before);
});

describe("what cannot be read", () => {
  test("is reported with the answer of any project, and not to a shared session", async () => {
    const cwd = lab.project("app");
    const db = path.join(lab.home, ".local/share/opencode/opencode.db");
    mkdirSync(path.dirname(db), { recursive: true });
    writeFileSync(db, "no database");
    mkdirSync(path.join(lab.home, ".codex/sessions"), { recursive: true });
    writeFileSync(path.join(lab.home, ".codex/sessions/rollout-x.jsonl.zst"), "no zstd");
    const memory = await lab.open({ sources: ["opencode", "codex"], from: cwd });
    const unread = [expect.stringContaining("opencode.db"), expect.stringContaining("rollout-x.jsonl")];
    const found = (await lab.ask(memory, "zebra")).report;
    expect(found?.state).toBe("ok");
    expect(found?.excluded?.notes.map(({ path: name }) => name)).toEqual(unread);
    const empty = (await lab.ask(memory, "nothing of the kind")).report;
    expect(empty?.state).toBe("degraded");
    for (const name of unread) expect(empty?.reason).toEqual(name);
    const { report } = await lab.ask(memory, "zebra", "agent:main:telegram:group:7");
    expect(JSON.stringify(report)).not.toMatch(/opencode|rollout|codex/u);
    await expect(memory.readFile({ relPath: "codex:/rollout-x.jsonl" })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("of a database is one odd row, and the others are found", async () => {
    const cwd = lab.project("app");
    const db = lab.running(opencodeDatabase(lab.home));
    opencodeSession(db, { id: "good", cwd, said: [user("The quagga")] });
    for (const [id, directory, updated] of [
      ["blob", Buffer.from("/x"), 5],
      ["null", null, null],
      ["text", cwd, "yesterday"],
      [Buffer.from("id"), cwd, 7],
      [null, cwd, 7],
      ["number", 5, 7],
    ] as const)
      db.prepare("INSERT INTO session VALUES (?, 'p', NULL, ?, 't', 1, ?)").run(id, directory, updated);
    db.prepare("INSERT INTO message VALUES ('m', 'null', 1, 1, '[1,2]')").run();
    db.prepare("INSERT INTO part VALUES ('p', 'm', 'null', 1, 1, 'no json')").run();
    expect(await paths(cwd, ["opencode"])).toEqual(["opencode:/good"]);
    const cursor = lab.running(cursorDatabase(lab.home, cwd, "good", [user("The quagga")]));
    const put = cursor.prepare("INSERT INTO cursorDiskKV VALUES (?, ?)");
    for (const [index, updated] of ["2026-11-20T10:00:00Z", {}, [], null, "soon"].entries())
      put.run(
        `composerData:odd${index}`,
        JSON.stringify({ lastUpdatedAt: updated, createdAt: {}, fullConversationHeadersOnly: [{ bubbleId: 5 }, 7] }),
      );
    put.run("composerData:odd9", "no json");
    expect(await paths(cwd, ["cursor"])).toEqual(["cursor:/good.jsonl"]);
  });
});

test("what a person wrote beside what a program has put in is found, and that is not", async () => {
  const cwd = lab.project("app");
  const file = claudeSession(lab.home, cwd, "s", [user("hello")]);
  const line = (content: unknown): object => ({
    type: "user",
    cwd,
    timestamp: "2026-11-20T11:00:00Z",
    message: { role: "user", content },
  });
  appendLine(file, line(data.besideTheOpening));
  appendLine(file, line("A bandicoot <ide_opened_file>the capybara.ts</ide_opened_file> and <b>a dingo</b>"));
  // A search for the end of each of them would take hours.
  appendLine(file, line(`An emu ${"<system-reminder> <bash-input> ".repeat(60_000)}`));
  const memory = await lab.open({ sources: ["claude-code"], from: cwd });
  for (const [word, count] of data.counts as [string, number][])
    expect([word, (await lab.ask(memory, word)).found.length]).toEqual([word, count]);
});

describe("a copy", () => {
  const sources = ["claude-code", "codex"];
  const copyOf = (cwd: string): string =>
    path.join(lab.stateDir, "agents/main/kept/claude-code", slugOf(cwd), "s.jsonl");

  test("is made of what was indexed before, and again where it was lost", async () => {
    const cwd = lab.project("app");
    claudeSession(lab.home, cwd, "s", [user("The quagga")]);
    codexSession(lab.home, cwd, "x", [user("The quagga")]);
    const before = await lab.open({ sources, from: cwd });
    await before.sync({ reason: "cli" });
    await before.close();
    const memory = await lab.open({ sources, from: cwd, keep: true });
    await memory.sync({ reason: "cli" });
    rmSync(path.join(lab.stateDir, "agents/main/kept"), { recursive: true });
    await memory.sync({ reason: "cli" });
    for (const folder of [".claude/projects", ".codex/sessions"])
      rmSync(path.join(lab.home, folder), { recursive: true });
    await memory.sync({ reason: "cli" });
    expect((await lab.ask(memory, "quagga")).found).toHaveLength(2);
  });

  test("that was truncated in a line, or has foreign lines, is made again", async () => {
    const cwd = lab.project("app");
    const file = claudeSession(lab.home, cwd, "s", [user("The quagga"), assistant("It grazes.")]);
    const memory = await lab.open({ sources, from: cwd, keep: true });
    await memory.sync({ reason: "cli" });
    const whole = readFileSync(copyOf(cwd), "utf8");
    for (const [index, damaged] of [
      `${whole}{"role":"user","text":"The oka`,
      `${whole}\n\n\n`,
      whole.slice(0, -9),
      whole.slice(0, 200),
      "",
    ].entries()) {
      writeFileSync(copyOf(cwd), damaged);
      appendLine(file, {
        type: "user",
        cwd,
        timestamp: "2026-11-20T11:00:00Z",
        message: { role: "user", content: `The okapi ${index}` },
      });
      await memory.sync({ reason: "cli" });
      const copy = readFileSync(copyOf(cwd), "utf8");
      expect(copy.startsWith(whole)).toBe(true);
      expect(copy.split("\n")).toHaveLength(readFileSync(file, "utf8").split("\n").length);
      for (let each = 0; each <= index; each++) expect(copy.split(`The okapi ${each}`)).toHaveLength(2);
    }
  });

  test("holds no secret that the index does not hold", async () => {
    const cwd = lab.project("app");
    const token = "k7Qm2xV9pL4sT8wB3nR6yH1cJ5dF0gZaEuKiXw2v";
    claudeSession(lab.home, cwd, "s", [
      user(`Call it with Authorization: Bearer\n${token}`),
      assistant(`Take ghp_<final></final>${"aB3d".repeat(9)} then`),
    ]);
    codexSession(lab.home, cwd, "x", [user("The quagga")]);
    writeFileSync(
      path.join(lab.home, ".codex/sessions/rollout-z.jsonl"),
      codexLines(cwd, "z", [user(`password=${token}`)]),
    );
    const memory = await lab.open({ sources, from: cwd, keep: true });
    await memory.sync({ reason: "cli" });
    const copy = readFileSync(copyOf(cwd), "utf8");
    expect(copy).toContain("Call it with Authorization");
    expect(copy).not.toContain("k7Qm2xV9");
    expect(copy).not.toContain("aB3daB3d");
  });

  test("of a name that no disk takes does not keep the conversation from being found", async () => {
    const cwd = lab.project("app");
    const db = lab.running(opencodeDatabase(lab.home));
    for (const id of ["x".repeat(300), "..", "a/../../b"]) opencodeSession(db, { id, cwd, said: [user("The quagga")] });
    const memory = await lab.open({ sources: ["opencode"], from: cwd, keep: true });
    expect((await memory.sync({ reason: "cli" }))?.failed).toEqual([]);
    expect((await lab.ask(memory, "quagga")).found).toHaveLength(3);
  });
});
