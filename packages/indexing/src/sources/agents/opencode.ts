import path from "node:path";
import type { Database } from "better-sqlite3";
import { jsonOf, objectAt, saidRecord, textAt, timeOf, type TranscriptRecord } from "../record.ts";
import { absoluteFolder, type KnownAgent } from "./agent.ts";
import { type StoredConversation, takeConversations } from "./read-database.ts";

// A subagent has a parent.
const sessionsSql = `SELECT s.id, s.directory, s.time_updated AS updated,
  (SELECT count(*) FROM message m WHERE m.session_id = s.id) AS messages,
  (SELECT count(*) FROM message m JOIN part p ON p.message_id = m.id WHERE m.session_id = s.id) AS parts
  FROM session s WHERE s.parent_id IS NULL ORDER BY s.id`;
const partsSql = `SELECT m.id AS id, m.data AS message, p.data AS part
  FROM message m LEFT JOIN part p ON p.message_id = m.id
  WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id`;

/** `opencode.db`: sessions, their messages, and the parts of these. */
export const opencode: KnownAgent = {
  name: "OpenCode",
  find: async (finder, folder) => await takeConversations(finder, path.join(folder, "opencode.db"), sessionsIn),
};

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

/** A record for each message. */
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

/** What was said: no thoughts, no tools, nothing that the program itself has put in. */
function textIn(part: unknown): string[] {
  const { type, synthetic, ignored, text } = (part ?? {}) as Record<string, unknown>;
  return type === "text" && synthetic !== true && ignored !== true && typeof text === "string" ? [text] : [];
}
