import { mkdirSync } from "node:fs";
import path from "node:path";
import { writeFiles } from "@memslot/test-tools/files";
import type { Memory } from "memslot";
import { describe, expect, test } from "vitest";
import {
  assistant,
  claudeSession,
  codexSession,
  copilotSession,
  cursorDatabase,
  cursorTranscript,
  geminiChat,
  geminiLine,
  opencodeDatabase,
  opencodeSession,
  qwenSession,
  slugOf,
  user,
} from "@memslot/fakes/clients";
import { stateOf, useLab } from "../support/client-home.ts";

const lab = useLab();
const said = [
  user("Which port does the quagga service use?"),
  assistant("The quagga service listens on port 5544."),
  user("Then write it down."),
];

/** What each of them keeps, the folder that nothing may change in, and where the answer stands. */
const histories: Record<string, { folder: string; make(cwd: string): void; answer: [path: string, line: number] }> = {
  "claude-code": {
    folder: ".claude",
    make: (cwd) => claudeSession(lab.home, cwd, "8f2c", said),
    answer: ["claude-code:/SLUG/8f2c.jsonl", 7],
  },
  codex: {
    folder: ".codex",
    make: (cwd) => codexSession(lab.home, cwd, "0199", said),
    answer: ["codex:/rollout-2026-11-20T09-59-00-0199.jsonl", 6],
  },
  gemini: {
    folder: ".gemini",
    make: (cwd) =>
      geminiChat(
        lab.home,
        cwd,
        "77",
        said.map(({ role, text }, at) => geminiLine(`m${at}`, role === "user" ? "user" : "gemini", text)),
      ),
    answer: ["gemini:/app/session-77.jsonl", 3],
  },
  opencode: {
    folder: ".local/share/opencode",
    make(cwd) {
      const db = lab.running(opencodeDatabase(lab.home));
      opencodeSession(db, { id: "ses_1", cwd, said });
      opencodeSession(db, { id: "ses_2", cwd, parent: "ses_1", said: [user("A quagga for the helper")] });
    },
    answer: ["opencode:/ses_1", 2],
  },
  copilot: {
    folder: ".copilot",
    make: (cwd) => copilotSession(lab.home, cwd, "5d1e", said),
    answer: ["copilot:/5d1e.jsonl", 7],
  },
  qwen: {
    folder: ".qwen",
    make: (cwd) => qwenSession(lab.home, cwd, "21ac", said),
    answer: ["qwen:/SLUG/21ac.jsonl", 5],
  },
  cursor: {
    folder: ".config/Cursor",
    make: (cwd) => lab.running(cursorDatabase(lab.home, cwd, "c0ffee", said)),
    answer: ["cursor:/c0ffee.jsonl", 2],
  },
  "cursor of the command line": {
    folder: ".cursor",
    make: (cwd) => cursorTranscript(lab.home, cwd, "dead", said),
    answer: ["cursor:/dead.jsonl", 2],
  },
};

describe.each(Object.keys(histories))("%s", (name) => {
  const { folder, make, answer } = histories[name] as (typeof histories)[string];
  const source = name.split(" ")[0] ?? "";

  test("is found by what was said alone, in place, and the citation opens the message", async () => {
    const cwd = lab.project("app");
    make(cwd);
    const before = stateOf(path.join(lab.home, folder));
    const memory = await lab.open({ sources: [source], from: cwd });
    const { found, report } = await lab.ask(memory, "port of the quagga service");
    const [place, line] = [answer[0].replace("SLUG", slugOf(cwd)), answer[1]];
    expect(report?.state).toBe("ok");
    expect(found.map((each) => each.path)).toEqual([place]);
    const [first] = found;
    expect(first?.source).toBe(source);
    expect(first?.snippet).toContain("Assistant: The quagga service listens on port 5544.");
    expect(line).toBeGreaterThanOrEqual(first?.startLine ?? Infinity);
    expect(line).toBeLessThanOrEqual(first?.endLine ?? 0);
    const read = await memory.readFile({ relPath: place, from: line, lines: 1 });
    expect(read).toMatchObject({ status: "ok", path: place, from: line, lines: 1 });
    expect(read.text.split("\n")[0]).toBe("Assistant: The quagga service listens on port 5544.");
    // Nothing of tools, thoughts, helpers and what the program itself has put in.
    for (const word of ["toolnoise", "thoughts", "reminder", "caveat", "helper"])
      expect([word, (await lab.ask(memory, word)).found]).toEqual([word, []]);
    expect(stateOf(path.join(lab.home, folder))).toEqual(before);
  });

  test("is seen from its own project alone, from everywhere by scope all, and never where others read along", async () => {
    const cwd = lab.project("app");
    make(cwd);
    const place = answer[0].replace("SLUG", slugOf(cwd));
    const opened = async (from: string, scope?: "all", named = [source]): Promise<Memory> =>
      await lab.open({ sources: named, from, ...(scope && { scope }) });
    const paths = async (memory: Memory, key?: string): Promise<string[]> =>
      (await lab.ask(memory, "quagga service", key)).found.map((each) => each.path);
    const [below, other] = [path.join(cwd, "src/deep"), lab.project("other")];
    mkdirSync(below, { recursive: true });
    const [mine, theirs, all] = [await opened(cwd), await opened(other), await opened(other, "all")];
    for (const memory of [mine, all, await opened(below)]) expect(await paths(memory)).toEqual([place]);
    for (const memory of [theirs, await opened(lab.home)]) expect(await paths(memory)).toEqual([]);
    for (const memory of [mine, all]) expect(await paths(memory, "agent:main:telegram:group:7")).toEqual([]);
    // Nor where no source names it.
    const unnamed = await opened(cwd, "all", []);
    expect(await paths(unnamed)).toEqual([]);
    await expect(unnamed.readFile({ relPath: place, from: 1 })).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
    const window = { relPath: place, from: answer[1], lines: 1 };
    expect((await mine.readFile(window)).text).toContain("5544");
    await expect(theirs.readFile(window)).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
    await expect(mine.readFile({ ...window, sessionKey: "agent:main:discord:channel:1" })).rejects.toMatchObject({
      code: "PATH_NOT_ALLOWED",
    });
  });
});

test("the notes that a program keeps are notes, by their headings and lines", async () => {
  const cwd = lab.project("app");
  writeFiles(lab.home, {
    [`.claude/projects/${slugOf(cwd)}/memory/MEMORY.md`]:
      "# Memory\n\n## Deploys\n\nThe okapi job deploys on Fridays.\n",
    ".codex/memories/MEMORY.md": "# Notes\n\nThe okapi of Codex is blue.\n",
    // What memslot connect has written there is an instruction.
    ".gemini/GEMINI.md":
      "<!-- memslot connect: begin -->\nSearch the okapi notes.\n<!-- memslot connect: end -->\n## Gemini Added Memories\n- The okapi of Gemini is green.\n",
    ".codex/memories/AGENTS.md":
      "<!-- memslot connect: begin -->\r\nSearch the okapi notes.\r\n<!-- memslot connect: end -->\r\n",
  });
  const memory = await lab.open({ sources: ["claude-code", "codex", "gemini"], from: cwd });
  const { found } = await lab.ask(memory, "okapi");
  expect(found.map(({ path: place, endLine }) => `${place}:${endLine}`).toSorted()).toEqual([
    `claude-code:/${slugOf(cwd)}/memory/MEMORY.md:5`,
    "codex:/memories/MEMORY.md:3",
    "gemini:/GEMINI.md:5",
  ]);
  const read = await memory.readFile({ relPath: `claude-code:/${slugOf(cwd)}/memory/MEMORY.md`, from: 3 });
  expect(read.text).toBe("## Deploys\n\nThe okapi job deploys on Fridays.");
  // What is of one project is not of another; what is of none is of all.
  const elsewhere = await lab.open({ sources: ["claude-code", "codex", "gemini"], from: lab.project("other") });
  expect((await lab.ask(elsewhere, "okapi")).found.map((each) => each.path).toSorted()).toEqual([
    "codex:/memories/MEMORY.md",
    "gemini:/GEMINI.md",
  ]);
});
