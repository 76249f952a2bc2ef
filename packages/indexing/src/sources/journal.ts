import { createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import path from "node:path";
import type { ManagerReadParams, MemoryReadResult, MemorySearchSettings } from "@memslot/core";
import type { FileRecord } from "../index-row-types.ts";
import { stampOf } from "../scan/file-state.ts";
import { withFile } from "../scan/open-file.ts";
import { notReadable } from "../scan/read-memory-file.ts";
import type { ScannedFile } from "../scan/scan.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { redactCopies } from "./conversation-copies.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { readWindow } from "./conversation-window.ts";
import { journalFile, journalFolder, sessionsFolder } from "./session-folders.ts";
import { isObject, type JsonObject, jsonOf, textAt } from "../json-values.ts";
import { readLines, readRecord } from "./transcript-lines.ts";
import { continues, transcriptCursor } from "./read-conversation.ts";
import { transcriptsIn } from "./sessions.ts";

const journalVersion = 2;

/** Dropped messages as a source. Files covered by a transcript are excluded, and deleted after retention. */
export function createJournalSource(input: {
  stateDir: string;
  agentId: string;
  settings: Pick<MemorySearchSettings, "chunking" | "sources">;
  readOnly: boolean;
}): IndexedSource {
  const { settings, readOnly: isReadOnly } = input;
  const folder = journalFolder(input);
  const { tokens } = settings.chunking;
  const transcripts = transcriptsIn(folder, "journal", { recipe: `journal${journalVersion}`, tokens });
  let areClean = isReadOnly;
  const known = new Map<string, Kept>();
  return {
    ...transcripts,
    async scan(signal, indexed, look) {
      areClean ||= await redactCopies(folder, `${folder}.rules`);
      const scan = await transcripts.scan(signal, indexed, look);
      const roots = scan.roots.filter(({ path: place, reason }) => place !== "journal" || reason !== "does not exist");
      if (scan.files.length === 0) return { ...scan, roots };
      // If transcripts are not a source, this sync removes them from the index.
      const sessions = settings.sources.includes("sessions") ? (await indexed()).get("sessions") : undefined;
      const files: ScannedFile[] = [];
      for (const file of scan.files) {
        signal.throwIfAborted();
        try {
          const kept = known.get(file.path) ?? (await readKept(file));
          known.set(file.path, kept);
          const stored = kept.sessionId === undefined ? undefined : sessions?.get(`sessions/${kept.sessionId}.jsonl`);
          if (stored === undefined || !(await isCovered(kept, stored, sessionsFolder(input)))) files.push(file);
          else if (!isReadOnly && kept.keptUntilMs < Date.now())
            await rm(file.absolutePath, { force: true }).catch(() => undefined); // Another time, then.
        } catch {
          // A file that cannot be compared is not covered; reading it reports the reason.
          files.push(file);
        }
      }
      return {
        ...scan,
        files,
        roots: roots.map((root) =>
          root.path === "journal" && root.state === "indexed" ? { ...root, files: files.length } : root,
        ),
      };
    },
  };
}

export function isJournalPath(relPath: string): boolean {
  return /^(?:\.\/)?journal\/[^/]+\.jsonl$/.test(relPath);
}

/** Reads a window of a journal file, redacted. Throws for a shared audience. */
export async function readJournal(params: ManagerReadParams, folder: string): Promise<MemoryReadResult> {
  const { relPath } = params;
  if (params.audience === "shared") throw notReadable(relPath, " in a session that others read: it is private.");
  const absolutePath = journalFile(folder, relPath);
  const shown = relPath.replace(/^\.\//, "");
  if (absolutePath === undefined) return { status: "not_found", text: "", path: shown };
  return await readWindow({ path: shown, absolutePath, kind: "lines", mtimeMs: 0, size: 0 }, params);
}

interface Kept {
  readonly sessionId: string | undefined;
  /** A hash of each message by its id; undefined if the transcript only needs to have the id. */
  readonly messages: ReadonlyMap<string, string | undefined>;
  readonly keptUntilMs: number;
  /** The last comparison, with the state of the transcript. */
  answer?: { readonly state: string; readonly isCovered: boolean };
}

const ofTool = /^\[result of [^\]]*\] /;

/** Whether the indexed transcript has every message of a journal file: same id and same text. */
async function isCovered(kept: Kept, stored: FileRecord, folder: string): Promise<boolean> {
  const cursor = transcriptCursor(stored);
  if (cursor === undefined || cursor.more) return false;
  return await withFile(path.join(folder, `${kept.sessionId}.jsonl`), async (handle) => {
    // The index is up to date with the file.
    if (!(await continues(handle, cursor))) return false;
    const state = `${stored.hash} ${stampOf(await handle.stat({ bigint: true }))}`;
    if (kept.answer?.state === state) return kept.answer.isCovered;
    const missing = new Map(kept.messages);
    let number = 0;
    for await (const lines of readLines(handle, 0, cursor.bytes))
      for (const { bytes } of lines) {
        number++;
        if (bytes === undefined) continue;
        const id = textAt(jsonOf(bytes), "id") || `line-${number}`;
        const said = missing.get(id);
        if (said === undefined || said === saidIn(bytes)) missing.delete(id);
      }
    kept.answer = { state, isCovered: missing.size === 0 };
    return missing.size === 0;
  });
}

async function readKept(file: ScannedFile): Promise<Kept> {
  const messages = new Map<string, string | undefined>();
  let header: JsonObject = {};
  for (const line of (await readFile(file.absolutePath, "utf8")).split("\n")) {
    if (line.trim() === "") continue;
    const record = jsonOf(line);
    if (!isObject(record)) throw new Error("a line of it is damaged");
    if (record["type"] === "session") header = record;
    else messages.set(String(record["id"]), saidIn(Buffer.from(line)));
  }
  const id = textAt(header, "id") ?? "";
  const sessionId = /^[\w-]{1,80}$/.test(id) ? id : undefined;
  return { sessionId, messages, keptUntilMs: Date.parse(String(header["keptUntil"])) || Infinity };
}

function saidIn(line: Buffer): string | undefined {
  const record = readRecord(line);
  if (record.kind !== "message" || ofTool.test(record.text)) return undefined;
  const text = redactSecrets(record.text).replaceAll(/\s+/g, " ");
  return text === "" ? undefined : createHash("sha256").update(text).digest("hex");
}
