import path from "node:path";
import { messageOf } from "@memslot/core";
import { readJson, saidRecord, timeOf, type NumberedRecords, type TranscriptRecord } from "../record.ts";
import { type ClientFile, unknownSize } from "./agent.ts";
import type { Client } from "./agent-finding.ts";
import { absoluteFolder, jsonOf, objectAt, textAt } from "./agent-lines.ts";
import { findInDatabase, withDatabase } from "./read-database.ts";

interface SessionRow {
  id: string;
  directory: string | null;
  updated: number;
  messages: number;
  parts: number;
}

// A subagent has a parent.
const sessionsSql = `SELECT s.id, s.directory, s.time_updated AS updated,
  (SELECT count(*) FROM message m WHERE m.session_id = s.id) AS messages,
  (SELECT count(*) FROM message m JOIN part p ON p.message_id = m.id WHERE m.session_id = s.id) AS parts
  FROM session s WHERE s.parent_id IS NULL ORDER BY s.id`;
const partsSql = `SELECT m.id AS id, m.data AS message, p.data AS part
  FROM message m LEFT JOIN part p ON p.message_id = m.id
  WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id`;

/** `opencode.db`: sessions, their messages, and the parts of these. */
export const opencode: Client = {
  source: "opencode",
  name: "OpenCode",
  // It has no lines; what is kept of them has.
  recordOf: (line) => readJson(line, () => ({ kind: "other", timeMs: undefined })),
  async find(finding, folders) {
    for (const folder of folders) {
      const file = path.join(folder, "opencode.db");
      try {
        const sessions = await findInDatabase(file, (db) => db.prepare<[], SessionRow>(sessionsSql).all());
        for (const session of sessions ?? [])
          if (typeof session.id === "string") finding.add(session.id, conversationOf(file, session));
      } catch (error) {
        finding.missed(file, `cannot be read: ${messageOf(error)}`);
      }
    }
  },
};

function conversationOf(file: string, session: SessionRow): Omit<ClientFile, "path"> {
  const { id, directory, updated, messages, parts } = session;
  return {
    kind: "whole",
    absolutePath: file,
    folder: absoluteFolder(directory),
    mtimeMs: Number(updated) || 0,
    size: unknownSize,
    stamp: `${updated}:${messages}:${parts}`,
    records: (signal) => recordsOf(file, id, signal),
  };
}

/** One for each message, numbered from 1. */
async function* recordsOf(file: string, session: string, signal: AbortSignal): NumberedRecords {
  type Row = { id: string; message: string; part: string | null };
  const rows = await withDatabase(file, (db) => db.prepare<[string], Row>(partsSql).all(session));
  const messages = Map.groupBy(rows, ({ id }) => id);
  let number = 0;
  for (const parts of messages.values()) {
    signal.throwIfAborted();
    const message = jsonOf(parts[0]?.message);
    const text = parts.flatMap(({ part }) => textIn(jsonOf(part))).join("\n");
    yield [++number, recordOf(message, text)];
  }
}

function recordOf(message: unknown, text: string): TranscriptRecord {
  const role = textAt(message, "role");
  const timeMs = timeOf(objectAt(message, "time")?.["created"]);
  if (role !== "user" && role !== "assistant") return { kind: "other", timeMs };
  return saidRecord({ role, text, timeMs });
}

/** What was said: no thoughts, no tools, nothing that the program itself has put in. */
function textIn(part: unknown): string[] {
  const { type, synthetic, ignored, text } = (part ?? {}) as Record<string, unknown>;
  return type === "text" && synthetic !== true && ignored !== true && typeof text === "string" ? [text] : [];
}
