import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Something that was said, as the tests write it. */
export interface Said {
  role: "user" | "assistant";
  text: string;
  at?: string;
}

export const user = (text: string, at = "2026-11-20T10:00:00.000Z"): Said => ({ role: "user", text, at });
export const assistant = (text: string, at = "2026-11-20T10:00:05.000Z"): Said => ({ role: "assistant", text, at });

export function slugOf(folder: string): string {
  return folder.replaceAll(/[^a-zA-Z0-9]/gu, "-");
}

/** A session of Claude Code, with what stands between the messages of a real one. Gives its file. */
export function claudeSession(home: string, cwd: string, id: string, said: readonly Said[]): string {
  const file = path.join(home, ".claude/projects", slugOf(cwd), `${id}.jsonl`);
  const base = { sessionId: id, cwd, version: "2.1.240", gitBranch: "main", isSidechain: false, userType: "external" };
  writeLines(file, [
    { type: "summary", summary: "About something", leafUuid: "x" },
    { ...base, type: "user", isMeta: true, message: { role: "user", content: "<local-command-caveat>none" } },
    ...said.flatMap((each, index) => claudeLines(base, each, `${id}-${index}`)),
  ]);
  return file;
}

function claudeLines(base: object, { role, text, at }: Said, uuid: string): object[] {
  const head = { ...base, type: role, uuid, parentUuid: null, timestamp: at };
  if (role === "user") return [{ ...head, message: { role, content: text } }];
  return [
    { ...head, uuid: `${uuid}-t`, message: { role, content: [{ type: "thinking", thinking: "hidden thoughts" }] } },
    {
      ...head,
      uuid: `${uuid}-u`,
      message: { role, content: [{ type: "tool_use", id: "t", name: "Bash", input: { command: "ls" } }] },
    },
    { ...head, type: "user", uuid: `${uuid}-r`, message: toolResult("a listing of toolnoise files") },
    { ...head, message: { role, content: [{ type: "text", text }] } },
  ];
}

function toolResult(content: string): object {
  return { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content }] };
}

/** The lines of a session of Codex. */
export function codexLines(cwd: string, id: string, said: readonly Said[]): string {
  return linesOf([
    { timestamp: "2026-11-20T09:59:00.000Z", type: "session_meta", payload: { id, cwd, originator: "codex_cli_rs" } },
    ...said.flatMap(({ role, text, at }) => [
      { timestamp: at, type: "event_msg", payload: { type: `${role}_message`, message: text } },
      {
        timestamp: at,
        type: "response_item",
        payload: {
          type: "message",
          role,
          content: [{ type: role === "user" ? "input_text" : "output_text", text }],
        },
      },
      { timestamp: at, type: "response_item", payload: { type: "function_call_output", output: "toolnoise" } },
    ]),
  ]);
}

export function codexSession(home: string, cwd: string, id: string, said: readonly Said[]): string {
  const file = path.join(home, ".codex/sessions/2026/11/20", `rollout-2026-11-20T09-59-00-${id}.jsonl`);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, codexLines(cwd, id, said));
  return file;
}

/** A chat of Gemini CLI in a project that has a name and says where it is. */
export function geminiChat(home: string, cwd: string, id: string, lines: readonly object[]): string {
  const project = path.join(home, ".gemini/tmp", path.basename(cwd));
  const file = path.join(project, "chats", `session-${id}.jsonl`);
  writeLines(file, [{ sessionId: id, projectHash: "x", startTime: "2026-11-20T10:00:00.000Z" }, ...lines]);
  writeFileSync(path.join(project, ".project_root"), cwd);
  return file;
}

export function geminiLine(id: string, type: "user" | "gemini", content: string): object {
  return { id, timestamp: "2026-11-20T10:00:00.000Z", type, content };
}

/** A session of Copilot CLI, with lines of tools, a skill and a subagent. */
export function copilotSession(home: string, cwd: string, id: string, said: readonly Said[]): void {
  const line = (type: string, data: object, at?: string, more: object = {}): object => ({
    type,
    data,
    id: `${type}-${at}`,
    timestamp: at ?? "2026-11-20T09:59:00.000Z",
    ...more,
  });
  writeLines(path.join(home, ".copilot/session-state", id, "events.jsonl"), [
    line("session.start", { sessionId: id, copilotVersion: "1.0.102", context: { cwd } }),
    line("user.message", { content: "a reminder of a skill", source: "skill-x" }),
    line("user.message", { content: "Do it, helper." }, undefined, { agentId: "a" }),
    line("tool.execution_complete", { result: { content: "a listing of toolnoise files" } }),
    line("assistant.message", { content: "", reasoningText: "hidden thoughts" }),
    ...said.map(({ role, text, at }) => line(`${role}.message`, { content: text, transformedContent: "caveat" }, at)),
  ]);
}

/** A session of Qwen Code, with lines of a tool, a notification and what a hook added. */
export function qwenSession(home: string, cwd: string, id: string, said: readonly Said[]): void {
  const line = (type: string, text: string, more: object = {}, at = "2026-11-20T09:59:00.000Z"): object => ({
    uuid: `${type}-${at}`,
    sessionId: id,
    timestamp: at,
    type,
    cwd,
    message: { role: type === "assistant" ? "model" : "user", parts: [{ text, ...more }] },
  });
  const added = { text: "<qwen:user-prompt-submit-context>\ncaveat\n</qwen:user-prompt-submit-context>" };
  writeLines(path.join(home, ".qwen/projects", slugOf(cwd), "chats", `${id}.jsonl`), [
    { ...line("user", "a reminder for the helper"), subtype: "notification" },
    line("tool_result", "a listing of toolnoise files"),
    line("assistant", "hidden thoughts", { thought: true }),
    ...said.map(({ role, text, at }) =>
      role === "user"
        ? { ...line(role, "", {}, at), message: { role, parts: [{ text }, added] } }
        : line(role, text, {}, at),
    ),
  ]);
}

/** A transcript of Cursor's command line: no times, no folder but in the name. */
export function cursorTranscript(home: string, cwd: string, id: string, said: readonly Said[]): string {
  const project = slugOf(cwd).replace(/^-/u, "");
  const file = path.join(home, ".cursor/projects", project, "agent-transcripts", id, `${id}.jsonl`);
  writeLines(
    file,
    said.map(({ role, text }) => ({
      role,
      message: { content: [{ type: "text", text: role === "user" ? `<user_query>\n${text}\n</user_query>` : text }] },
    })),
  );
  return file;
}

/** The databases of Cursor's editor, with one conversation in one workspace. Gives the open one of all conversations. */
export function cursorDatabase(home: string, cwd: string, id: string, said: readonly Said[]): DatabaseSync {
  const base = path.join(home, ".config/Cursor/User");
  const db = openDatabase(path.join(base, "globalStorage/state.vscdb"));
  db.exec("CREATE TABLE IF NOT EXISTS cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
  const put = db.prepare("INSERT INTO cursorDiskKV VALUES (?, ?)");
  const headers = said.map((each, index) => ({ bubbleId: `b${index}`, type: each.role === "user" ? 1 : 2 }));
  put.run(
    `composerData:${id}`,
    JSON.stringify({
      composerId: id,
      createdAt: Date.parse("2026-11-20T10:00:00Z"),
      lastUpdatedAt: Date.parse("2026-11-20T10:00:00Z") + said.length,
      fullConversationHeadersOnly: headers,
    }),
  );
  for (const [index, { role, text, at }] of said.entries())
    put.run(
      `bubbleId:${id}:b${index}`,
      JSON.stringify({ type: role === "user" ? 1 : 2, text, createdAt: at, toolFormerData: { result: "toolnoise" } }),
    );
  const workspace = path.join(base, "workspaceStorage/abc");
  const own = openDatabase(path.join(workspace, "state.vscdb"));
  own.exec("CREATE TABLE IF NOT EXISTS ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
  const all = JSON.stringify({ allComposers: [{ composerId: id }] });
  own.prepare("INSERT INTO ItemTable VALUES ('composer.composerData', ?)").run(all);
  own.close();
  writeFileSync(path.join(workspace, "workspace.json"), JSON.stringify({ folder: `file://${cwd}` }));
  return db;
}

/** A database of OpenCode that goes on being written to, with its columns as they are in version 1.2. */
export function opencodeDatabase(home: string): DatabaseSync {
  const db = openDatabase(path.join(home, ".local/share/opencode/opencode.db"));
  db.exec(`
    CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT,
      time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
    CREATE INDEX message_session_idx ON message (session_id);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
      time_updated INTEGER, data TEXT);
    CREATE INDEX part_message_idx ON part (message_id);`);
  return db;
}

export function opencodeSession(
  db: DatabaseSync,
  { id, cwd, parent, said }: { id: string; cwd: string; parent?: string; said: readonly Said[] },
): void {
  const created = Date.parse("2026-11-20T10:00:00Z");
  db.prepare("INSERT OR REPLACE INTO session VALUES (?, 'p', ?, ?, 'title', ?, ?)").run(
    id,
    parent ?? null,
    cwd,
    created,
    created + said.length,
  );
  const summary = { role: "assistant", text: "A reminder of it all", summary: true };
  for (const [index, { text, ...about }] of [...said, summary].entries()) {
    const message = `msg_${id}_${String(index).padStart(3, "0")}`;
    const data = { ...about, time: { created: created + index } };
    db.prepare("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?)").run(
      message,
      id,
      created + index,
      created + index,
      JSON.stringify(data),
    );
    const parts = [
      { type: "reasoning", text: "hidden thoughts" },
      { type: "text", text: "hidden reminder", synthetic: true },
      { type: "text", text },
      { type: "tool", tool: "bash", state: { output: "toolnoise" } },
    ];
    for (const [at, part] of parts.entries())
      db.prepare("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?)").run(
        `prt_${message}_${at}`,
        message,
        id,
        created,
        created,
        JSON.stringify(part),
      );
  }
}

function openDatabase(file: string): DatabaseSync {
  mkdirSync(path.dirname(file), { recursive: true });
  const db = new DatabaseSync(file);
  db.exec("PRAGMA journal_mode = WAL");
  return db;
}

export function appendLine(file: string, line: object): void {
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

function writeLines(file: string, lines: readonly object[]): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, linesOf(lines));
}

function linesOf(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
