import path from "node:path";
import type { Database } from "better-sqlite3";
import { type JsonObject, jsonOf, objectAt } from "../json-values.ts";
import { absoluteFolder, saidRecord, timeOf, type TranscriptRecord } from "../sources/transcript-lines.ts";
import type { AgentCode } from "./agent.ts";
import { type StoredConversation, takeConversations } from "./conversation-databases.ts";
import { pluginMark, pluginText } from "./opencode-plugin.ts";

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
      const { role, summary, time } = (jsonOf(parts[0]?.message) ?? {}) as JsonObject;
      const timeMs = timeOf(objectAt({ time }, "time")?.["created"]);
      // The summary of a compaction repeats the conversation.
      if (role !== "user" && (role !== "assistant" || summary === true)) return { kind: "other", timeMs };
      return saidRecord({ role, text: parts.flatMap(({ part }) => textIn(jsonOf(part))).join("\n"), timeMs });
    });
}

/** The message: no thoughts, no tools, no text that the program itself has inserted. */
function textIn(part: unknown): string[] {
  const { type, synthetic, ignored, text } = (part ?? {}) as Record<string, unknown>;
  return type === "text" && synthetic !== true && ignored !== true && typeof text === "string" ? [text] : [];
}
