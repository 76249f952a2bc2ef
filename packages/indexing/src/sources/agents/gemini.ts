import path from "node:path";
import { withFile } from "../../scan/open-file.ts";
import type { Finder } from "../finder.ts";
import {
  isObject,
  jsonOf,
  numbered,
  numberedLines,
  type NumberedRecords,
  objectAt,
  textAt,
  type TranscriptRecord,
} from "../lines.ts";
import { absoluteFolder, type KnownAgent, readSmall, recordIn, recordReader, saidBy } from "./agent.ts";
import { everywhere } from "./project.ts";

const maxFileBytes = 64 * 1024 * 1024;

/**
 * `tmp/<project>/chats/session-*.jsonl`, where a line may take the place of an earlier one or take some back, and `.json` of
 * earlier versions, one object each. `tmp/<project>/memory/*.md`, and `GEMINI.md`, to which it adds what it is told to keep.
 */
export const gemini: KnownAgent = {
  name: "Gemini CLI",
  // `{id, timestamp, type: "user" | "gemini", content}`; the same id once more is the same message.
  said: ({ type, content, id, timestamp }) => saidBy(type === "gemini" ? "assistant" : type, content, id, timestamp),
  async find(finder, folder) {
    const named = await projectNames(path.join(folder, "projects.json"));
    for (const name of await finder.folders(path.join(folder, "tmp")))
      await findProject(finder, path.join(folder, "tmp", name), named);
    await finder.take("GEMINI.md", path.join(folder, "GEMINI.md"), { kind: "note", folder: everywhere });
  },
};

const recordOf = recordReader(gemini);

async function findProject(finder: Finder, place: string, named: ReadonlyMap<string, string>): Promise<void> {
  const name = path.basename(place);
  const written = absoluteFolder((await readSmall(path.join(place, ".project_root"))).trim());
  // Before it had names, a project was called by the hash of its path.
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

/** The folders of the projects by their names here. */
async function projectNames(file: string): Promise<Map<string, string>> {
  const projects = objectAt(jsonOf(await readSmall(file)), "projects") ?? {};
  return new Map(Object.entries(projects).map(([folder, name]) => [String(name), folder]));
}

/** What is left of all lines: the last of those with the same id, in the place of the first, and none that was taken back. */
async function* recordsOfChat(file: string, signal: AbortSignal): NumberedRecords {
  const kept: { number: number; id: string | undefined; record: TranscriptRecord }[] = [];
  const byId = new Map<string | undefined, (typeof kept)[number]>();
  const put = (number: number, id: string | undefined, record: TranscriptRecord): void => {
    const earlier = id === undefined ? undefined : byId.get(id);
    if (earlier === undefined) {
      const entry = { number, id, record };
      kept.push(entry);
      if (id !== undefined) byId.set(id, entry);
    } else if (record.kind === "message") earlier.record = record;
  };
  for await (const [number, { bytes, ended }] of numberedLines(file, { signal })) {
    const record = recordOf(bytes);
    // Such a last line is being written.
    if (!ended && record.kind === "broken") continue;
    const line = jsonOf(bytes);
    const back = textAt(line, "$rewindTo");
    if (back !== undefined) {
      // With the one that is named; a name that no message has takes back all.
      const named = byId.get(back);
      for (const { id } of kept.splice(named === undefined ? 0 : kept.indexOf(named))) byId.delete(id);
      continue;
    }
    const messages = objectAt(line, "$set")?.["messages"];
    if (Array.isArray(messages) && messages.length > 0) {
      kept.length = 0;
      byId.clear();
      for (const each of messages.filter(isObject)) put(number, textAt(each, "id"), recordIn(each, gemini));
    } else put(number, textAt(line, "id"), record);
  }
  for (const { number, record } of kept) yield [number, record];
}

/** `{messages: […]}`. */
async function* recordsOfObject(file: string, signal: AbortSignal): NumberedRecords {
  const text = await withFile(file, async (handle) => {
    const { size } = await handle.stat();
    if (size > maxFileBytes) throw new Error(`is larger than ${maxFileBytes / 1024 / 1024} MB`);
    return await handle.readFile({ encoding: "utf8", signal });
  });
  const { messages } = JSON.parse(text) as { messages?: unknown };
  const recordOfMessage = (each: unknown): TranscriptRecord =>
    isObject(each) ? recordIn(each, gemini) : { kind: "broken" };
  yield* numbered((Array.isArray(messages) ? messages : []).values().map(recordOfMessage), signal);
}
