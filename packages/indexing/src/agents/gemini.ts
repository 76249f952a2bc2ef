import path from "node:path";
import { withFile } from "../scan/open-file.ts";
import type { Finder } from "../sources/conversation-finder.ts";
import { isObject, type JsonObject, jsonOf, objectAt, textAt } from "../json-values.ts";
import {
  absoluteFolder,
  numbered,
  numberedLines,
  type NumberedRecords,
  readSmall,
  textOf,
  type TranscriptRecord,
} from "../sources/transcript-lines.ts";
import { everywhere } from "../sources/project-match.ts";
import {
  additionalContext,
  type AgentCode,
  type ConnectedFiles,
  hookGroup,
  recordIn,
  recordReader,
  saidBy,
  type SilentSkip,
} from "./agent.ts";

const maxFileBytes = 64 * 1024 * 1024;

/** `tmp/<project>/chats/session-*.jsonl` or `.json` (earlier versions), `tmp/<project>/memory/*.md`, `GEMINI.md`. */
const conversations = {
  // `{id, timestamp, type: "user" | "gemini", content}`; the same id again is the same message.
  said: ({ type, content, id, timestamp }: JsonObject) =>
    saidBy(type === "gemini" ? "assistant" : type, content, id, timestamp),
  compactionIn(line: JsonObject) {
    const messages = replacedIn(line);
    const at = snapshotAt(messages);
    const id = textAt(messages[at], "id");
    if (id === undefined) return undefined;
    const kept = messages.slice(at + 2).filter((each) => recordIn(each, conversations).kind === "message");
    return { id, kept: kept.length };
  },
  async find(finder: Finder, folder: string) {
    const named = await projectNames(path.join(folder, "projects.json"));
    for (const name of await finder.folders(path.join(folder, "tmp")))
      await findProject(finder, path.join(folder, "tmp", name), named);
    await finder.take("GEMINI.md", path.join(folder, "GEMINI.md"), { kind: "note", folder: everywhere });
  },
};

export const gemini: AgentCode = {
  files: {
    server: {
      // Gemini passes on no variable that is named like a key, unless the entry names it. It inserts the value itself.
      entry: ({ server, keys }) => ({
        ...server,
        env: { ...Object.fromEntries(keys.map((name) => [name, `$${name}`])), ...server.env },
      }),
    },
    hooks: { handler: (command) => hookGroup(command, 10_000, { name: "memslot" }) },
  },
  // A resumed session lacks every message that begins with the text of a hook: in headless mode that is the first prompt.
  // The notes of a start follow the first prompt, where they stay.
  hooks: { answers: { prompt: additionalContext } },
  conversations,
  silentSkips,
};

const recordOf = recordReader(conversations);

/** The messages of a line that replaces all earlier ones. */
function replacedIn(line: unknown): JsonObject[] {
  const messages = objectAt(line, "$set")?.["messages"];
  return Array.isArray(messages) ? messages.filter(isObject) : [];
}

/** How the model confirms the summary of a compaction. Gemini writes this sentence itself. */
const confirmation = "Got it. Thanks for the additional context!";

/** The summary that a compaction puts before the messages that it keeps, and that the model confirms; else -1. */
function snapshotAt(messages: readonly JsonObject[]): number {
  return messages.findIndex(({ type, content }, index) => {
    if (type !== "user") return false;
    // A model may write its reasoning before the snapshot, or no tags.
    const isConfirmed = textOf(messages[index + 1]?.["content"], true).trim() === confirmation;
    return isConfirmed || textOf(content, true).trimStart().startsWith("<state_snapshot>");
  });
}

async function findProject(finder: Finder, place: string, named: ReadonlyMap<string, string>): Promise<void> {
  const name = path.basename(place);
  const written = absoluteFolder((await readSmall(path.join(place, ".project_root"))).trim());
  // Older versions name a project by the hash of its path.
  const folder =
    written ?? absoluteFolder(named.get(name)) ?? (/^[0-9a-f]{64}$/u.test(name) ? `sha256:${name}` : undefined);
  const chats = path.join(place, "chats");
  for (const { name: chat } of await finder.list(chats, `${name}/`))
    if (/^session-.*\.jsonl?$/iu.test(chat)) {
      const file = path.join(chats, chat);
      const read = /l$/iu.test(chat) ? recordsOfChat : recordsOfObject;
      await finder.take(`${name}/${chat}`, file, { kind: "whole", folder, records: (signal) => read(file, signal) });
    }
  await finder.takeNotes(path.join(place, "memory"), `${name}/memory/`, folder);
}

async function projectNames(file: string): Promise<Map<string, string>> {
  const projects = objectAt(jsonOf(await readSmall(file)), "projects") ?? {};
  return new Map(Object.entries(projects).map(([folder, name]) => [String(name), folder]));
}

/**
 * The remaining messages: a line with the same id replaces an earlier one; `$rewindTo` removes. A compaction writes
 * copies of the messages that it keeps, with other ids: the conversation before it stays, also when a resumed session
 * writes its list again.
 */
async function* recordsOfChat(file: string, signal: AbortSignal): NumberedRecords {
  const kept: { number: number; id: string | undefined; record: TranscriptRecord }[] = [];
  const byId = new Map<string | undefined, (typeof kept)[number]>();
  const copies = new Set<string | undefined>();
  let compacted = 0;
  const put = (number: number, id: string | undefined, record: TranscriptRecord): void => {
    if (id !== undefined && copies.has(id)) return;
    const earlier = id === undefined ? undefined : byId.get(id);
    if (earlier === undefined) {
      const entry = { number, id, record };
      kept.push(entry);
      if (id !== undefined) byId.set(id, entry);
    } else if (record.kind === "message") earlier.record = record;
  };
  for await (const [number, { bytes, ended }] of numberedLines(file, { signal })) {
    const record = recordOf(bytes);
    // The last line is incomplete.
    if (!ended && record.kind === "broken") continue;
    const line = jsonOf(bytes);
    const back = textAt(line, "$rewindTo");
    if (back !== undefined) {
      if (copies.has(back)) continue;
      // Removes the named message too; an unknown id removes all.
      const named = byId.get(back);
      for (const { id } of kept.splice(named === undefined ? 0 : kept.indexOf(named))) byId.delete(id);
      compacted = Math.min(compacted, kept.length);
      continue;
    }
    const messages = replacedIn(line);
    const snapshot = textAt(messages[snapshotAt(messages)], "id");
    if (snapshot !== undefined && !copies.has(snapshot)) {
      for (const each of messages) copies.add(textAt(each, "id"));
      compacted = kept.length;
    }
    if (messages.length === 0) put(number, textAt(line, "id"), record);
    else if (snapshot === undefined) for (const { id } of kept.splice(compacted)) byId.delete(id);
    for (const each of messages) put(number, textAt(each, "id"), recordIn(each, conversations));
  }
  for (const { number, record } of kept) yield [number, record];
}

async function* recordsOfObject(file: string, signal: AbortSignal): NumberedRecords {
  const text = await withFile(file, async (handle) => {
    const { size } = await handle.stat();
    if (size > maxFileBytes) throw new Error(`is larger than ${maxFileBytes / 1024 / 1024} MB`);
    return await handle.readFile({ encoding: "utf8", signal });
  });
  const { messages } = JSON.parse(text) as { messages?: unknown };
  const recordOfMessage = (each: unknown): TranscriptRecord =>
    isObject(each) ? recordIn(each, conversations) : { kind: "broken" };
  yield* numbered((Array.isArray(messages) ? messages : []).values().map(recordOfMessage), signal);
}

function silentSkips({ home, projectDir, keys, file, json }: ConnectedFiles): SilentSkip[] {
  const skips: SilentSkip[] = [];
  const entry = objectAt(objectAt(json(file(/settings\.json$/u)), "mcpServers"), "memslot");
  const named = objectAt(entry, "env") ?? {};
  const left = keys.filter((name) => named[name] === undefined);
  if (left.length > 0)
    skips.push({
      message: `Gemini does not pass ${left.join(", ")} to the server`,
      next: "Run memslot connect gemini again: it names them in the entry.",
    });
  if (projectDir === undefined) return skips;
  const trusted = json(path.join(home, ".gemini", "trustedFolders.json"));
  if (!Object.entries(trusted).some(([folder, how]) => isWithin(projectDir, folder, String(how))))
    skips.push({
      message: `Gemini starts neither server nor hooks in ${projectDir} unless the folder is trusted`,
      next: "Answer its question about the folder, or type /permissions in it.",
    });
  return skips;
}

function isWithin(folder: string, trusted: string, how: string): boolean {
  if (how === "DO_NOT_TRUST") return false;
  const top = how === "TRUST_PARENT" ? path.dirname(trusted) : trusted;
  return folder === top || folder.startsWith(top + path.sep);
}
