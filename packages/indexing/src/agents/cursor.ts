import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Database } from "better-sqlite3";
import type { Finder } from "../sources/conversation-finder.ts";
import { isObject, jsonOf, objectAt, textAt } from "../json-values.ts";
import { readSmall, saidRecord, timeOf, type TranscriptRecord } from "../sources/transcript-lines.ts";
import { connectMarkers } from "../text/strip-injected.ts";
import { type AgentCode, saidBy } from "./agent.ts";
import { findInDatabase, type StoredConversation, takeConversations } from "./conversation-databases.ts";

const knownEvents = new Set(
  (
    "sessionStart sessionEnd preToolUse postToolUse postToolUseFailure subagentStart subagentStop beforeShellExecution " +
    "afterShellExecution beforeMCPExecution afterMCPExecution beforeReadFile afterFileEdit beforeSubmitPrompt preCompact " +
    "stop afterAgentResponse afterAgentThought beforeTabFileRead afterTabFileEdit"
  ).split(" "),
);

const { begin, end } = connectMarkers;

export const cursor: AgentCode = {
  files: {
    hooks: { handler: (command) => ({ command }) },
    instructions: {
      text: ({ instructions }) =>
        ["---", "description: Long-term memory", "alwaysApply: true", "---", begin, ...instructions, end, ""].join(
          "\n",
        ),
      mark: begin,
    },
  },
  hooks: {
    // Before a prompt no hook can add text.
    answers: { start: (_, text) => ({ additional_context: text }) },
    isSender: (input) => (textAt(input, "cursor_version") ?? "").trim() !== "",
  },
  // Conversations of the editor (`state.vscdb`, with times) take precedence over those of the command line.
  conversations: {
    // `{role, message: {content: […]}}`, without ids and times.
    said(line) {
      const said = saidBy(line["role"], objectAt(line, "message")?.["content"]);
      // The text around the query is Cursor's own.
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
  },
  silentSkips({ file, json }) {
    const hooksPath = file(/hooks\.json$/u);
    const unknown = Object.keys(objectAt(json(hooksPath), "hooks") ?? {}).filter((name) => !knownEvents.has(name));
    if (unknown.length === 0) return [];
    const names = unknown.map((name) => `"${name}"`).join(", ");
    return [
      {
        message: `Cursor ignores all of ${hooksPath} if it does not know one of its events, as ${names}`,
        next: "Correct or remove that event.",
      },
    ];
  },
};

const composersSql = `SELECT substr(key, 14) AS id, json_extract(value, '$.lastUpdatedAt') AS updated,
  json_extract(value, '$.createdAt') AS created,
  json_array_length(value, '$.fullConversationHeadersOnly') AS bubbles
  FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' AND json_valid(value) ORDER BY key`;
const valueSql = "SELECT value FROM cursorDiskKV WHERE key = ?";
const workspaceSql = "SELECT value FROM ItemTable WHERE key = 'composer.composerData'";

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
      // The project of this conversation stays unknown.
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
