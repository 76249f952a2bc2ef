import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { createSandbox, type Sandbox } from "./run-memslot.ts";

const begun = 1_710_238_920;

/** A node of ChatGPT's tree. */
function node(id: string, parent: string | null, role: string, content: unknown): [string, unknown] {
  const message = { author: { role }, create_time: begun + Number(id), content };
  return [id, { id, parent, children: [], message: role === "" ? null : message }];
}

const said = (...parts: unknown[]): unknown => ({ content_type: "text", parts });

const heating = {
  title: "Heat pump",
  create_time: begun,
  conversation_id: "6600aa-1",
  current_node: "8",
  mapping: Object.fromEntries([
    node("0", null, "", undefined),
    node("1", "0", "system", said("You are a helpful assistant.")),
    node("2", "1", "user", said("How large a pump?\n---\n# Data\n```js\nlet area = 140;")),
    node("3", "1", "user", said("How big a pump?")),
    node("4", "2", "assistant", { content_type: "thoughts", thoughts: [] }),
    node("5", "4", "assistant", { content_type: "code", text: "search('heat')" }),
    node("6", "5", "tool", { content_type: "text", parts: ["found"] }),
    node("7", "6", "assistant", said("## Answer\nAbout 8 kW.")),
    node("8", "7", "user", {
      content_type: "multimodal_text",
      parts: [{ content_type: "image_asset_pointer" }, { content_type: "audio_transcription", text: "Thank you!" }],
    }),
  ]),
};

const boat = {
  uuid: "b0a7",
  name: "The boat",
  created_at: "2025-07-01T08:00:00Z",
  chat_messages: [
    {
      sender: "human",
      created_at: "2025-07-01T08:00:00Z",
      text: "Where does it leak?",
      content: [{ type: "text", text: "Where does it leak?" }],
      attachments: [{ file_name: "hull.txt" }],
      files: [{ file_name: "hull.png" }],
    },
    {
      sender: "assistant",
      created_at: "2025-07-01T08:01:00Z",
      text: "",
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "tool_use", name: "look" },
        { type: "tool_result", content: "x" },
        { type: "text", text: "At the keel." },
        { type: "text", text: "Behind the mast." },
      ],
    },
    { sender: "human", created_at: "2024-01-01T00:00:00Z", text: "Of an older export, without blocks." },
  ],
};

interface Told {
  counts: Record<string, number>;
  leftOut: Record<string, number>;
}

async function importIn(sandbox: Sandbox, source: string, file: string, ...args: string[]): Promise<Told> {
  const { exitCode, stdout, stderr } = await sandbox.runHere(["import", source, file, "--json", ...args]);
  expect(exitCode, stderr).toBe(0);
  return JSON.parse(stdout) as Told;
}

function write(sandbox: Sandbox, name: string, value: unknown): string {
  const file = path.join(sandbox.cwd, name);
  writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
  return file;
}

function notesOf(sandbox: Sandbox, source: string): string[] {
  const folder = path.join(sandbox.workspace, "memory/imports", source);
  return readdirSync(folder).map((name) => readFileSync(path.join(folder, name), "utf8"));
}

test("what was said with ChatGPT is a note, along the branch that was shown last, and the rest is counted", async () => {
  const sandbox = await createSandbox();
  const config = await sandbox.writeConfig(`{ agents: { defaults: { userTimezone: "Europe/Amsterdam" } } }`);
  const file = write(sandbox, "conversations.json", [heating, { ...heating, mapping: {}, conversation_id: "2" }, 7]);
  expect(await importIn(sandbox, "chatgpt", file, "--config", config)).toMatchObject({
    counts: { added: 1 },
    leftOut: {
      "messages of branches that were given up": 1,
      "thoughts of the model": 1,
      "calls of tools": 1,
      "answers of tools": 1,
      "pictures, sounds and files": 1,
      "conversations in which nothing was said": 1,
      "entries that are no conversation": 1,
    },
  });
  const [note = ""] = notesOf(sandbox, "chatgpt");
  expect(note.slice(note.indexOf("# Heat"))).toBe(
    [
      "# Heat pump\n",
      "[Conversation with ChatGPT](https://chatgpt.com/c/6600aa-1)\n",
      "## User, 2024-03-12 11:22\n",
      "How large a pump?\n\\---\n### Data\n```js\nlet area = 140;\n```\n",
      "## ChatGPT, 2024-03-12 11:22\n",
      "#### Answer\nAbout 8 kW.\n",
      "## User, 2024-03-12 11:22\n",
      "Thank you!\n",
    ].join("\n"),
  );
  const found = await sandbox.runHere(["memory", "search", "how large is the heat pump", "--json"]);
  expect(found.stdout).toMatch(/memory\/imports\/chatgpt\/2024-03-12-heat-pump-[0-9a-f]{12}\.md/u);
});

test("what was said with Claude is a note, and the rest is counted", async () => {
  const sandbox = await createSandbox();
  const file = write(sandbox, "conversations.json", [boat, { uuid: "e", name: "", chat_messages: [] }]);
  expect(await importIn(sandbox, "claude", file)).toMatchObject({
    counts: { added: 1 },
    leftOut: {
      "pictures, sounds and files": 2,
      "thoughts of the model": 1,
      "calls of tools": 1,
      "answers of tools": 1,
      "conversations in which nothing was said": 1,
    },
  });
  const [note = ""] = notesOf(sandbox, "claude");
  expect(note).toContain("At the keel.\n\nBehind the mast.\n");
  expect(note.match(/^## /gmu)).toHaveLength(3);
  expect(note).toContain("https://claude.ai/chat/b0a7");
});

test("the same export adds nothing, as a file, a folder or in its parts; a dry run writes nothing", async () => {
  const sandbox = await createSandbox();
  const file = write(sandbox, "conversations.json", [heating]);
  expect(await importIn(sandbox, "chatgpt", file, "--dry-run")).toMatchObject({ counts: { added: 1 }, dryRun: true });
  expect(readdirSync(sandbox.workspace)).toEqual([]);
  await importIn(sandbox, "chatgpt", file);
  const before = notesOf(sandbox, "chatgpt");
  write(sandbox, "conversations-001.json", [{ ...heating, conversation_id: "another" }]);
  expect((await importIn(sandbox, "chatgpt", sandbox.cwd)).counts).toMatchObject({ added: 1, unchanged: 1 });
  expect(notesOf(sandbox, "chatgpt")).toEqual(expect.arrayContaining(before));
});

test("a zip is read as it was sent", async () => {
  const sandbox = await createSandbox();
  const stored = zipOf("export/conversations.json", JSON.stringify([boat]));
  writeFileSync(path.join(sandbox.cwd, "export.zip"), stored);
  expect((await importIn(sandbox, "claude", "export.zip")).counts).toMatchObject({ added: 1 });
  writeFileSync(path.join(sandbox.cwd, "other.zip"), zipOf("photos/a.png", "[]"));
  writeFileSync(path.join(sandbox.cwd, "cut.zip"), stored.subarray(0, 100));
  for (const [file, words] of [
    ["other.zip", "holds no conversations.json"],
    ["cut.zip", "is a zip that cannot be read"],
  ] as const) {
    const { exitCode, stderr } = await sandbox.runHere(["import", "claude", file]);
    expect([file, exitCode, stderr.includes(words)]).toEqual([file, 2, true]);
  }
});

test.each<[string, unknown, string]>([
  ["is cut off", '[{"uuid":"1","chat_messages":[', "is no list of conversations in JSON"],
  ["is no JSON", "hello", "is no list of conversations in JSON"],
  ["is no list", { a: 1 }, "is no list of conversations in JSON"],
  ["is of another product", [heating, heating], "holds 2 entries, and none is a conversation of Claude"],
])("a file that %s says so, and makes no folder", async (_, value, words) => {
  const sandbox = await createSandbox();
  const { exitCode, stderr } = await sandbox.runHere(["import", "claude", write(sandbox, "c.json", value)]);
  expect(stderr).toContain(words);
  expect(exitCode).toBe(2);
  expect(readdirSync(sandbox.workspace)).toEqual([]);
});

test("a person is told where the notes are, what was left out, and which were left as they are", async () => {
  const sandbox = await createSandbox();
  const file = write(sandbox, "conversations.json", [boat]);
  // The usual workspace is made, one that was named is not.
  const { exitCode, stdout } = await sandbox.run(["import", "claude", file]);
  const folder = path.join(sandbox.stateDir, "workspace/memory/imports/claude");
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`${folder}: 1 conversation added, 0 changed since, 0 there already.\nLeft out:\n`);
  expect(stdout).toContain("  pictures, sounds and files: 2\n");
  const [name = ""] = readdirSync(folder);
  writeFileSync(path.join(folder, name), "mine\n");
  const again = await sandbox.run(["import", "claude", file]);
  expect(again.stdout).toContain(`changed them here: 1\n  memory/imports/claude/${name}\n`);
  expect(readFileSync(path.join(folder, name), "utf8")).toBe("mine\n");
  const wrong = await sandbox.run(["import", "claude", file, "--workspace", "nowhere"]);
  expect([wrong.exitCode, wrong.stderr.includes("check that the workspace folder is there")]).toEqual([1, true]);
});

test("a file that is not there, and a source that there is not, say so", async () => {
  const sandbox = await createSandbox();
  const missing = await sandbox.runHere(["import", "claude", "missing.json"]);
  expect([missing.exitCode, missing.stderr.includes("missing.json cannot be read: ENOENT")]).toEqual([2, true]);
  const unknown = await sandbox.runHere(["import", "notion", "x.zip"]);
  expect([unknown.exitCode, unknown.stderr.includes('"notion" is no source: chatgpt, claude or openclaw')]).toEqual([
    2,
    true,
  ]);
});

/** A zip of one file, not compressed. */
function zipOf(name: string, text: string): Buffer {
  const [title, body] = [Buffer.from(name), Buffer.from(text)];
  const facts = Buffer.alloc(26);
  facts.writeUInt16LE(20, 0);
  facts.writeUInt32LE(crc32(body), 10);
  facts.writeUInt32LE(body.length, 14);
  facts.writeUInt32LE(body.length, 18);
  facts.writeUInt16LE(title.length, 22);
  const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), facts, title, body]);
  const central = Buffer.concat([Buffer.from("PK\u0001\u0002"), Buffer.from([20, 0]), facts, Buffer.alloc(14), title]);
  const end = Buffer.alloc(22);
  end.write("PK\u0005\u0006", "latin1");
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

test("a note that was deleted here stays away, until it is wanted again", async () => {
  const sandbox = await createSandbox();
  const file = write(sandbox, "conversations.json", [boat, { ...boat, uuid: "other", name: "Another" }]);
  expect((await importIn(sandbox, "claude", file)).counts).toMatchObject({ added: 2, deleted: 0 });
  const folder = path.join(sandbox.workspace, "memory/imports/claude");
  const gone = readdirSync(folder).find((name) => name.includes("the-boat")) ?? "";
  rmSync(path.join(folder, gone));
  expect((await importIn(sandbox, "claude", file, "--dry-run")).counts).toMatchObject({ unchanged: 1, deleted: 1 });
  expect((await importIn(sandbox, "claude", file)).counts).toMatchObject({ added: 0, unchanged: 1, deleted: 1 });
  expect(readdirSync(folder)).toHaveLength(1);
  const told = await sandbox.runHere(["import", "claude", file]);
  expect(told.stdout).toContain("Deleted here, and left out: 1; --again brings them back.");
  expect((await importIn(sandbox, "claude", file, "--again")).counts).toMatchObject({ added: 1, deleted: 0 });
  expect(readdirSync(folder)).toContain(gone);
  // Elsewhere nothing was deleted.
  const other = await createSandbox();
  expect((await importIn(other, "claude", write(other, "conversations.json", [boat]))).counts.added).toBe(1);
});

test("what Claude has noted itself, and its projects, are notes beside the conversations", async () => {
  const sandbox = await createSandbox();
  const folder = path.join(sandbox.cwd, "export");
  mkdirSync(path.join(folder, "projects"), { recursive: true });
  const put = (name: string, value: unknown): void => writeFileSync(path.join(folder, name), JSON.stringify(value));
  put("conversations.json", [boat]);
  put("memories.json", [
    {
      account_uuid: "acc",
      conversations_memory: "# Work\nSails on Fridays.",
      project_memories: { "p-1": "The hull is of oak." },
    },
  ]);
  put("projects/p-1.json", {
    uuid: "p-1",
    name: "Boat yard",
    created_at: "2025-06-01T08:00:00Z",
    description: "All about the yard.",
    prompt_template: "Answer briefly.",
    docs: [{ filename: "hull.txt", content: "# Hull\nTwelve planks." }],
  });
  put("projects/p-2.json", { uuid: "p-2", name: "Empty", docs: [] });
  put("users.json", [{ uuid: "u", full_name: "Nobody's business" }]);
  const told = await importIn(sandbox, "claude", folder);
  expect(told.counts).toMatchObject({ added: 4 });
  expect(told.leftOut).toMatchObject({ "projects with nothing in them": 1 });
  const notes = notesOf(sandbox, "claude").join("\n");
  for (const text of [
    "# What Claude has noted of all conversations",
    "Sails on Fridays.",
    "# What Claude has noted of the project Boat yard",
    "The hull is of oak.",
    "# Project Boat yard",
    "https://claude.ai/project/p-1",
    "All about the yard.",
    "## Instructions\n\nAnswer briefly.",
    "## hull.txt\n\n### Hull\nTwelve planks.",
  ])
    expect(notes).toContain(text);
  expect(notes).not.toContain("Nobody's business");
  expect((await importIn(sandbox, "claude", folder)).counts).toMatchObject({ added: 0, unchanged: 4 });
  writeFileSync(path.join(folder, "memories.json"), "{");
  const broken = await sandbox.runHere(["import", "claude", folder]);
  expect(broken.exitCode).toBe(2);
  expect(broken.stderr).toContain("memories.json is no JSON that can be read");
});

const openclaw = `{
  // My assistant.
  agents: {
    defaults: {
      workspace: "~/claw",
      userTimezone: "Europe/Zurich",
      model: { primary: "x/y" },
      memorySearch: {
        provider: "openai", sources: ["memory", "sessions"], extraPaths: ["~/team"],
        remote: { apiKey: "sk-proj-${"a1B2".repeat(12)}", baseUrl: "https://api.example.com/v1" },
        store: { path: "~/.openclaw/memory/{agentId}.sqlite" }, query: { maxResults: 8 },
      },
    },
    list: [{ id: "main", default: true }, { id: "work", workspace: "~/claw-work", memorySearch: { remote: { apiKey: "\${WORK_KEY}" } } }],
  },
  memory: { citations: "on" },
  channels: { telegram: { token: "123" } },
  commands: { ownerAllowFrom: ["telegram:7", "*"] },
}`;

test("an OpenClaw's workspace and settings become memslot's, its notes stay where they are, and no key is copied", async () => {
  const sandbox = await createSandbox();
  const home = sandbox.env["HOME"] ?? "";
  const env = { WORK_KEY: "secret-of-work" };
  mkdirSync(path.join(home, ".openclaw/memory"), { recursive: true });
  mkdirSync(path.join(home, "claw"), { recursive: true });
  writeFileSync(path.join(home, ".openclaw/openclaw.json"), openclaw);
  writeFileSync(path.join(home, ".openclaw/memory/main.sqlite"), "");
  writeFileSync(path.join(home, "claw/MEMORY.md"), "The heron nests in the reeds.\n");
  const file = path.join(sandbox.stateDir, "memslot.json5");
  const dry = await sandbox.run(["import", "openclaw", "--dry-run"], { env });
  expect(dry.exitCode, dry.stderr).toBe(0);
  expect(existsSync(file)).toBe(false);
  const { exitCode, stdout, stderr } = await sandbox.run(["import", "openclaw"], { env });
  expect(exitCode, stderr).toBe(0);
  expect(stdout).toContain(path.join(home, "claw"));
  expect(stdout).toContain(`${path.join(home, "claw-work")} (is not there)`);
  for (const reason of ["keys that stand in the text", "sources other than the notes: 1", "the old index"])
    expect(stdout).toContain(reason);
  const text = readFileSync(file, "utf8");
  expect(text).not.toContain("a1B2");
  expect(text).not.toContain("123");
  expect(text).toContain("${WORK_KEY}");
  const shown = await sandbox.run(["config", "--json"], { env });
  expect(shown.stderr).toBe("");
  for (const value of ['"Europe/Zurich"', '"https://api.example.com/v1"', path.join(home, "team"), '"telegram:7"'])
    expect(shown.stdout).toContain(value);
  expect(shown.stdout).not.toContain('"*"');
  const found = await sandbox.run(["memory", "search", "heron", "--json"], { env: { ...env, OPENAI_API_KEY: "" } });
  expect(found.stdout).toContain("MEMORY.md");
  const again = await sandbox.run(["import", "openclaw"], { env });
  expect(again.stdout).toContain("there already, and the same");
  writeFileSync(file, `${text}// mine\n`);
  const refused = await sandbox.run(["import", "openclaw"], { env });
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain("nothing was written");
  expect(readFileSync(file, "utf8")).toContain("// mine");
  const none = await sandbox.run(["import", "openclaw", path.join(home, "claw")], { env });
  expect(none.exitCode).toBe(2);
  expect(none.stderr).toContain("is no configuration of OpenClaw that can be read");
});
