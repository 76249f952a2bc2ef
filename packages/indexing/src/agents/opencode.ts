import path from "node:path";
import type { Database } from "better-sqlite3";
import {
  absoluteFolder,
  jsonOf,
  objectAt,
  saidRecord,
  textAt,
  timeOf,
  type TranscriptRecord,
} from "../sources/transcript-lines.ts";
import type { AgentCode } from "./agent.ts";
import { type StoredConversation, takeConversations } from "./conversation-databases.ts";

const pluginMark = "// Written by memslot connect";
const answer = (_: string, text: string): object => ({ text });

export const opencode: AgentCode = {
  files: {
    server: {
      entry: ({ server: { command, args, env } }) => ({
        type: "local",
        command: [command, ...args],
        environment: env,
        enabled: true,
      }),
    },
    hooks: { text: ({ hook = "" }) => pluginText(hook), mark: pluginMark },
  },
  hooks: { answers: { start: answer, prompt: answer } },
  conversations: {
    find: (finder, folder) => takeConversations(finder, path.join(folder, "opencode.db"), sessionsIn),
  },
};

// A subagent has a parent.
const sessionsSql = `SELECT s.id, s.directory, s.time_updated AS updated,
  (SELECT count(*) FROM message m WHERE m.session_id = s.id) AS messages,
  (SELECT count(*) FROM message m JOIN part p ON p.message_id = m.id WHERE m.session_id = s.id) AS parts
  FROM session s WHERE s.parent_id IS NULL ORDER BY s.id`;
const partsSql = `SELECT m.id AS id, m.data AS message, p.data AS part
  FROM message m LEFT JOIN part p ON p.message_id = m.id
  WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id`;

function sessionsIn(db: Database): StoredConversation[] {
  type Row = { id: unknown; directory: unknown; updated: unknown; messages: number; parts: number };
  const rows = db.prepare<[], Row>(sessionsSql).all();
  return rows.flatMap(({ id, directory, updated, messages, parts }) => {
    if (typeof id !== "string") return [];
    const stamp = `${updated}:${messages}:${parts}`;
    const folder = absoluteFolder(directory);
    return { name: id, folder, mtimeMs: Number(updated) || 0, stamp, read: (each) => messagesIn(each, id) };
  });
}

function messagesIn(db: Database, session: string): Iterable<TranscriptRecord> {
  type Row = { id: string; message: string; part: string | null };
  const rows = db.prepare<[string], Row>(partsSql).all(session);
  return Map.groupBy(rows, ({ id }) => id)
    .values()
    .map((parts) => {
      const message = jsonOf(parts[0]?.message);
      const role = textAt(message, "role");
      const timeMs = timeOf(objectAt(message, "time")?.["created"]);
      if (role !== "user" && role !== "assistant") return { kind: "other", timeMs };
      return saidRecord({ role, text: parts.flatMap(({ part }) => textIn(jsonOf(part))).join("\n"), timeMs });
    });
}

/** The message: no thoughts, no tools, no text that the program itself has inserted. */
function textIn(part: unknown): string[] {
  const { type, synthetic, ignored, text } = (part ?? {}) as Record<string, unknown>;
  return type === "text" && synthetic !== true && ignored !== true && typeof text === "string" ? [text] : [];
}

/** An OpenCode plugin that forwards events to `memslot hook`. Every call has a deadline; no error leaves it. */
function pluginText(hook: string): string {
  return `${pluginMark}: \`memslot connect opencode --remove\` takes it away, and the next connect overwrites it.
import { exec } from "node:child_process";

const hook = ${JSON.stringify(hook)};
// Longer than the deadline of the hook.
const deadlineMs = 1000 + (Number(process.env.MEMSLOT_HOOK_DEADLINE_MS) || 5000);

function ask(event) {
  return new Promise((resolve) => {
    const options = { timeout: deadlineMs, maxBuffer: 16_000_000, windowsHide: true };
    const child = exec(hook, options, (_, answer) => {
      try {
        resolve(JSON.parse(answer));
      } catch {
        resolve({});
      }
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(event));
  }).catch(() => ({}));
}

const serving =
  /^\\s*(?:You are an? (?:title generator|(?:helpful|anchored) [^.\\n]{0,60}summari)|Summari[sz]e what was done in this)/imu;
const initialised = Symbol.for("memslot.opencode");

export const memslot = async ({ client, directory }) => {
  // OpenCode may load a plugin twice.
  globalThis[initialised] ??= new Set();
  if (globalThis[initialised].has(directory)) return {};
  globalThis[initialised].add(directory);

  const starts = new Map();
  const sent = new Map();
  const subagents = new Map();

  // A session with a parent is a subagent: another model writes there in the user's place.
  async function isSubagent(sessionID) {
    try {
      if (!subagents.has(sessionID)) {
        const { data } = await client.session.get({ path: { id: sessionID } });
        subagents.set(sessionID, Boolean(data.parentID));
      }
    } catch {
      // The next event tries again.
    }
    return subagents.get(sessionID) === true;
  }

  async function newMessages(sessionID) {
    const { data = [] } = (await client.session.messages({ path: { id: sessionID } })) ?? {};
    const known = sent.get(sessionID) ?? new Set();
    const messages = [];
    for (const { info, parts } of data) {
      const text = parts
        .filter((part) => part.type === "text" && !part.synthetic)
        .map((part) => part.text)
        .join("\\n");
      if (text === "" || known.has(info.id) || (info.role === "assistant" && !info.time?.completed)) continue;
      messages.push({ id: info.id, role: info.role, text, at: new Date(info.time.created).toISOString() });
    }
    return messages;
  }

  async function report(name, sessionID) {
    try {
      if (await isSubagent(sessionID)) return;
      const messages = await newMessages(sessionID);
      if (messages.length === 0 && name === "stop") return;
      const { taken } = await ask({ hook_event_name: name, session_id: sessionID, cwd: directory, messages });
      // Messages that the hook did not store are sent again with the next turn.
      if (taken !== true) return;
      sent.set(sessionID, new Set([...(sent.get(sessionID) ?? []), ...messages.map(({ id }) => id)]));
    } catch {
      // The next turn sends the same messages.
    }
  }

  function started(sessionID, source) {
    const event = { hook_event_name: "session_start", source, session_id: sessionID, cwd: directory };
    const text = ask(event).then((answer) => answer.text ?? "");
    starts.set(sessionID, text);
    return text;
  }

  return {
    event: async ({ event }) => {
      const sessionID = event.properties?.sessionID;
      if (event.type === "session.idle" && sessionID) await report("stop", sessionID);
      if (event.type === "session.compacted" && sessionID && !(await isSubagent(sessionID)))
        await started(sessionID, "compact");
      if (event.type === "session.deleted")
        for (const known of [starts, sent, subagents]) known.delete(event.properties?.info?.id);
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (await isSubagent(sessionID)) return;
      // First, so that the prompt does not repeat notes of the start.
      if (!starts.has(sessionID)) await started(sessionID, "startup");
      const first = parts.find((part) => part.type === "text" && !part.synthetic);
      if (first === undefined) return;
      const { text = "" } = await ask({
        hook_event_name: "prompt",
        session_id: sessionID,
        cwd: directory,
        prompt: first.text,
        turn_id: message.id,
      });
      if (text !== "") parts.push({ ...first, id: \`\${first.id}m\`, text, synthetic: true });
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      // Models that write titles or summaries, which may belong to another provider.
      if (serving.test(output.system.join("\\n"))) return;
      const text = sessionID === undefined ? "" : await starts.get(sessionID);
      if (text) output.system.push(text);
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await report("compact", sessionID);
    },
  };
};
`;
}
