import path from "node:path";
import { withFile } from "../../files/file-kind.ts";
import { readLines } from "../lines.ts";
import { isObject, type NumberedRecords, readJson, type TranscriptRecord } from "../record.ts";
import { type Client, type ClientFinding, readSmall } from "./agent-finding.ts";
import { absoluteFolder, clientRecord, jsonOf, textAt } from "./agent-lines.ts";
import { everywhere } from "./project.ts";

const maxFileBytes = 64 * 1024 * 1024;

/**
 * `tmp/<project>/chats/session-*.jsonl`, where a line may take the place of an earlier one or take some back, and `.json` of
 * earlier versions, one object each. `tmp/<project>/memory/*.md`, and `GEMINI.md`, to which it adds what it is told to keep.
 */
export const gemini: Client = {
  source: "gemini",
  name: "Gemini CLI",
  recordOf,
  async find(finding, folders) {
    for (const folder of folders) {
      const named = await projectNames(path.join(folder, "projects.json"));
      const projects = path.join(folder, "tmp");
      for (const entry of await finding.list(projects))
        if (entry.isDirectory()) await findProject(finding, path.join(projects, entry.name), named);
      await finding.take("GEMINI.md", path.join(folder, "GEMINI.md"), { kind: "note", folder: everywhere });
    }
  },
};

function recordOf(line: Buffer): TranscriptRecord {
  return readJson(line, (record) => clientRecord(record, "gemini"));
}

async function findProject(finding: ClientFinding, place: string, named: ReadonlyMap<string, string>): Promise<void> {
  const name = path.basename(place);
  const written = absoluteFolder((await readSmall(path.join(place, ".project_root"))).trim());
  // Before it had names, a project was called by the hash of its path.
  const folder =
    written ?? absoluteFolder(named.get(name)) ?? (/^[0-9a-f]{64}$/u.test(name) ? `sha256:${name}` : undefined);
  const chats = path.join(place, "chats");
  for (const { name: chat } of await finding.list(chats, `${name}/`))
    if (/^session-.*\.jsonl?$/iu.test(chat)) {
      const file = path.join(chats, chat);
      const read = /l$/iu.test(chat) ? recordsOfLines : recordsOfObject;
      await finding.take(`${name}/${chat}`, file, { kind: "whole", folder, records: (signal) => read(file, signal) });
    }
  await finding.takeNotes(path.join(place, "memory"), `${name}/memory/`, folder);
}

/** The folders of the projects by their names here. */
async function projectNames(file: string): Promise<Map<string, string>> {
  try {
    const { projects } = JSON.parse(await readSmall(file)) as { projects?: unknown };
    return new Map(isObject(projects) ? Object.entries(projects).map(([folder, name]) => [String(name), folder]) : []);
  } catch {
    return new Map();
  }
}

/** What is left of all lines: the last of those with the same id, in the place of the first, and none that was taken back. */
async function* recordsOfLines(file: string, signal: AbortSignal): NumberedRecords {
  const kept: { number: number; id: string | undefined; record: TranscriptRecord }[] = [];
  const byId = new Map<string | undefined, (typeof kept)[number]>();
  let number = 0;
  const put = (id: string | undefined, record: TranscriptRecord): void => {
    const earlier = id === undefined ? undefined : byId.get(id);
    if (earlier === undefined) {
      const entry = { number, id, record };
      kept.push(entry);
      if (id !== undefined) byId.set(id, entry);
    } else if (record.kind === "message") earlier.record = record;
  };
  await withFile(file, async (handle) => {
    for await (const lines of readLines(handle, 0, (await handle.stat()).size, signal))
      for (const { bytes, ended } of lines) {
        number++;
        const record: TranscriptRecord = bytes === undefined ? { kind: "broken" } : recordOf(bytes);
        // Being written.
        if (!ended && record.kind === "broken") continue;
        const line = bytes === undefined ? undefined : jsonOf(bytes);
        const back = textAt(line, "$rewindTo");
        if (back !== undefined) {
          // With the one that is named; what names none takes back all.
          const named = byId.get(back);
          for (const { id } of kept.splice(named === undefined ? 0 : kept.indexOf(named))) byId.delete(id);
          continue;
        }
        const anew = isObject(line) && isObject(line["$set"]) ? line["$set"]["messages"] : undefined;
        if (Array.isArray(anew) && anew.length > 0) {
          kept.length = 0;
          byId.clear();
          for (const each of anew.filter(isObject)) put(textAt(each, "id"), clientRecord(each, "gemini"));
          continue;
        }
        put(textAt(line, "id"), record);
      }
  });
  for (const each of kept) yield [each.number, each.record];
}

/** `{messages: […]}`, numbered from 1. */
async function* recordsOfObject(file: string, signal: AbortSignal): NumberedRecords {
  const text = await withFile(file, async (handle) => {
    const { size } = await handle.stat();
    if (size > maxFileBytes) throw new Error(`is larger than ${maxFileBytes / 1024 / 1024} MB`);
    return await handle.readFile({ encoding: "utf8", signal });
  });
  const { messages } = JSON.parse(text) as { messages?: unknown };
  for (const [index, message] of (Array.isArray(messages) ? messages : []).entries())
    yield [index + 1, isObject(message) ? clientRecord(message, "gemini") : { kind: "broken" }];
}
