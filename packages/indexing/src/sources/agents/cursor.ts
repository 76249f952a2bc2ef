import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Database } from "better-sqlite3";
import type { Finder } from "../finder.ts";
import { isObject, jsonOf, objectAt, saidRecord, textAt, timeOf, type TranscriptRecord } from "../record.ts";
import { type KnownAgent, readSmall, saidBy } from "./agent.ts";
import { findInDatabase, type StoredConversation, takeConversations } from "./read-database.ts";

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
export const cursor: KnownAgent = {
  name: "Cursor",
  // `{role, message: {content: […]}}`, without ids and times.
  said(line) {
    const said = saidBy(line["role"], objectAt(line, "message")?.["content"]);
    // What stands around the query is Cursor's own.
    return said && { ...said, text: /<user_query>([^]*)<\/user_query>/u.exec(said.text)?.[1] ?? said.text };
  },
  async find(finder, folder) {
    for (const slug of await finder.folders(path.join(folder, "projects"))) {
      const transcripts = path.join(folder, "projects", slug, "agent-transcripts");
      for (const entry of await finder.list(transcripts)) {
        const { name } = entry;
        const place = path.join(transcripts, ...(entry.isDirectory() ? [name, `${name}.jsonl`] : [name]));
        if (/\.jsonl$/iu.test(place))
          await finder.take(path.basename(place), place, { kind: "lines", folder: `slug:${slug}` });
      }
    }
    let projects: Promise<Map<string, string>> | undefined;
    await takeConversations(finder, path.join(folder, "globalStorage", "state.vscdb"), composersIn, async (name) =>
      (await (projects ??= projectsOf(finder, path.join(folder, "workspaceStorage")))).get(name),
    );
  },
};

/** The folders of the workspaces, by the names of the conversations that were had in them. */
async function projectsOf(finder: Finder, storage: string): Promise<Map<string, string>> {
  const projects = new Map<string, string>();
  for (const { name } of await finder.list(storage)) {
    try {
      const folder = textAt(jsonOf(await readSmall(path.join(storage, name, "workspace.json"))), "folder");
      if (folder?.startsWith("file:") !== true) continue;
      const file = path.join(storage, name, "state.vscdb");
      const value = await findInDatabase(file, (db) => db.prepare<[], { value: unknown }>(workspaceSql).get()?.value);
      for (const composer of listAt(jsonOf(value), "allComposers")) {
        const id = textAt(composer, "composerId");
        if (id !== undefined) projects.set(nameOf(id), fileURLToPath(folder));
      }
    } catch {
      // Its project is not known then.
    }
  }
  return projects;
}

function composersIn(db: Database): StoredConversation[] {
  type Row = { id: unknown; updated: unknown; created: unknown; bubbles: unknown };
  const rows = db.prepare<[], Row>(composersSql).all();
  return rows.flatMap(({ id, updated, created, bubbles }) => {
    if (typeof id !== "string" || !(Number(bubbles ?? 0) > 0)) return [];
    const mtimeMs = timeOf(updated) ?? timeOf(created) ?? 0;
    const stamp = `${mtimeMs}:${bubbles}`;
    return { name: nameOf(id), mtimeMs, stamp, read: (each) => bubblesIn(each, id, timeOf(created)) };
  });
}

/** A record for each message. What has no time of its own has that of its conversation. */
function bubblesIn(db: Database, id: string, startedMs: number | undefined): TranscriptRecord[] {
  const valueOf = db.prepare<[string], { value: unknown }>(valueSql);
  const at = (key: string): unknown => jsonOf(valueOf.get(key)?.value);
  return listAt(at(`composerData:${id}`), "fullConversationHeadersOnly").map((header) => {
    const bubble = at(`bubbleId:${id}:${textAt(header, "bubbleId")}`);
    const { createdAt, type, text } = isObject(bubble) ? bubble : {};
    const timeMs = timeOf(createdAt) ?? startedMs;
    const role = type === 1 ? "user" : type === 2 ? "assistant" : undefined;
    if (role === undefined) return { kind: "other", timeMs };
    return saidRecord({ role, text: typeof text === "string" ? text : "", timeMs });
  });
}

function nameOf(id: string): string {
  return `${id}.jsonl`;
}

function listAt(value: unknown, name: string): unknown[] {
  const list = isObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
}
