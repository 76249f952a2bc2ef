import path from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "@memslot/core";
import { isObject, type NumberedRecords, readJson, saidRecord, timeOf, type TranscriptRecord } from "../record.ts";
import { type ClientFile, unknownSize } from "./agent.ts";
import { type Client, type ClientFinding, readSmall } from "./agent-finding.ts";
import { clientRecord, jsonOf, textAt } from "./agent-lines.ts";
import { findInDatabase, withDatabase } from "./read-database.ts";

interface ComposerRow {
  id: string;
  updated: number | null;
  created: number | null;
  bubbles: number | null;
}

const composersSql = `SELECT substr(key, 14) AS id, json_extract(value, '$.lastUpdatedAt') AS updated,
  json_extract(value, '$.createdAt') AS created,
  json_array_length(value, '$.fullConversationHeadersOnly') AS bubbles
  FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' AND json_valid(value) ORDER BY key`;
const valueSql = "SELECT value FROM cursorDiskKV WHERE key = ?";
const workspaceSql = "SELECT value FROM ItemTable WHERE key = 'composer.composerData'";

/**
 * The editor's `globalStorage/state.vscdb`, whose conversations have times, and `projects/<slug>/agent-transcripts/` of the
 * command line, which have none. A conversation that is in both is taken from the first.
 */
export const cursor: Client = {
  source: "cursor",
  name: "Cursor",
  recordOf,
  async find(finding, folders) {
    for (const folder of folders) {
      const file = path.join(folder, "globalStorage", "state.vscdb");
      try {
        const composers = await findInDatabase(file, (db) => db.prepare<[], ComposerRow>(composersSql).all());
        if (composers === undefined || composers.length === 0) continue;
        const projects = await projectsOf(finding, path.join(folder, "workspaceStorage"));
        for (const composer of composers)
          if (Number(composer.bubbles ?? 0) > 0 && typeof composer.id === "string")
            finding.add(`${composer.id}.jsonl`, conversationOf(file, composer, projects.get(composer.id)));
      } catch (error) {
        finding.missed(file, `cannot be read: ${messageOf(error)}`);
      }
    }
    for (const folder of folders) await findTranscripts(finding, path.join(folder, "projects"));
  },
};

function recordOf(line: Buffer): TranscriptRecord {
  return readJson(line, (record) => clientRecord(record, "cursor"));
}

async function findTranscripts(finding: ClientFinding, projects: string): Promise<void> {
  for (const project of await finding.list(projects)) {
    if (!project.isDirectory()) continue;
    const transcripts = path.join(projects, project.name, "agent-transcripts");
    for (const entry of await finding.list(transcripts)) {
      const { name } = entry;
      const place = path.join(transcripts, ...(entry.isDirectory() ? [name, `${name}.jsonl`] : [name]));
      if (/\.jsonl$/iu.test(place))
        await finding.take(path.basename(place), place, { kind: "lines", folder: `slug:${project.name}` });
    }
  }
}

/** The folders of the workspaces, by the conversations that were had in them. */
async function projectsOf(finding: ClientFinding, storage: string): Promise<Map<string, string>> {
  const projects = new Map<string, string>();
  for (const { name } of await finding.list(storage)) {
    try {
      const about = jsonOf(await readSmall(path.join(storage, name, "workspace.json")));
      const folder = textAt(about, "folder");
      if (folder?.startsWith("file:") !== true) continue;
      const file = path.join(storage, name, "state.vscdb");
      const value = await findInDatabase(file, (db) => db.prepare<[], { value: unknown }>(workspaceSql).get()?.value);
      const composers = (jsonOf(value) as { allComposers?: unknown } | undefined)?.allComposers;
      for (const composer of Array.isArray(composers) ? composers : []) {
        const id = textAt(composer, "composerId");
        if (id !== undefined) projects.set(id, fileURLToPath(folder));
      }
    } catch {
      // Of which project it is cannot be told then.
    }
  }
  return projects;
}

function conversationOf(file: string, composer: ComposerRow, folder: string | undefined): Omit<ClientFile, "path"> {
  const { updated, created, bubbles } = composer;
  const mtimeMs = timeOf(updated) ?? timeOf(created) ?? 0;
  return {
    kind: "whole",
    absolutePath: file,
    folder,
    mtimeMs,
    size: unknownSize,
    stamp: `${mtimeMs}:${bubbles}`,
    records: (signal) => recordsOf(file, composer, signal),
  };
}

/** One for each message, numbered from 1. What has no time of its own has that of its conversation. */
async function* recordsOf(file: string, { id, created }: ComposerRow, signal: AbortSignal): NumberedRecords {
  const records = await withDatabase(file, (db) => {
    const valueOf = db.prepare<[string], { value: unknown }>(valueSql);
    const at = (key: string): unknown => jsonOf(valueOf.get(key)?.value);
    const headers = (at(`composerData:${id}`) as { fullConversationHeadersOnly?: unknown } | undefined)
      ?.fullConversationHeadersOnly;
    return (Array.isArray(headers) ? headers : []).map((header): TranscriptRecord => {
      const bubble = at(`bubbleId:${id}:${textAt(header, "bubbleId")}`);
      return bubbleRecord(isObject(bubble) ? bubble : {}, timeOf(created));
    });
  });
  let number = 0;
  for (const record of records) {
    signal.throwIfAborted();
    yield [++number, record];
  }
}

function bubbleRecord(bubble: Record<string, unknown>, startedMs: number | undefined): TranscriptRecord {
  const timeMs = timeOf(bubble["createdAt"]) ?? startedMs;
  const role = bubble["type"] === 1 ? "user" : bubble["type"] === 2 ? "assistant" : undefined;
  if (role === undefined) return { kind: "other", timeMs };
  return saidRecord({ role, text: textAt(bubble, "text") ?? "", timeMs });
}
