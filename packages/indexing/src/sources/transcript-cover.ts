import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { FileRecord } from "../chunk-index.ts";
import { jsonOf, textAt } from "./agents/agent-lines.ts";
import { withFile } from "../files/file-kind.ts";
import { stampOf } from "../files/file-stamp.ts";
import type { ScannedFile } from "../files/scan.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { continues, parseCursor } from "./cursor.ts";
import { readLines } from "./lines.ts";
import { isObject, readRecord } from "./record.ts";

/** What is known of one file of the journal. */
export interface Cover {
  /** Every message of it stands in the part of its session's transcript that is indexed. */
  readonly isCovered: boolean;
  /** Until then it stays all the same; for ever where it does not say. */
  readonly keptUntilMs: number;
}

interface Kept {
  readonly sessionId: string | undefined;
  /** By the id of each message what it says, as a hash; undefined where a transcript need only name it. */
  readonly messages: ReadonlyMap<string, string | undefined>;
  readonly keptUntilMs: number;
}

/** How the journal writes what a tool gave. A transcript has it in a form that is not searched. */
const ofTool = /^\[result of [^\]]*\] /;

const never: AbortSignal = new AbortController().signal;

/**
 * Tells whether what the journal keeps can be found in an indexed transcript as well. A file of the journal never
 * changes, and is read once. A transcript is read anew where it has changed. It has to say the same under the same id:
 * hosts name a message that has no id by its line, and write transcripts anew.
 */
export function createTranscriptCover(
  folder: string,
): (file: ScannedFile, transcripts: ReadonlyMap<string, FileRecord> | undefined) => Promise<Cover> {
  const keptOf = new Map<string, Kept>();
  /** The answer for a file of the journal, with what it holds for. */
  const answers = new Map<string, { readonly state: string; readonly isCovered: boolean }>();

  async function isCovered(file: ScannedFile, kept: Kept, stored: FileRecord): Promise<boolean> {
    const cursor = parseCursor(stored.cursor);
    if (cursor === undefined || cursor.more) return false;
    return await withFile(path.join(folder, `${kept.sessionId}.jsonl`), async (handle) => {
      // What is in the index is still what stands in the file.
      if (!(await continues(handle, cursor))) return false;
      const state = `${stored.hash} ${stampOf(await handle.stat({ bigint: true }))}`;
      const known = answers.get(file.path);
      if (known?.state === state) return known.isCovered;
      const missing = new Map(kept.messages);
      let number = 0;
      for await (const lines of readLines(handle, 0, cursor.bytes, never))
        for (const { bytes } of lines) {
          number++;
          if (bytes === undefined) continue;
          const id = idOf(bytes) ?? `line-${number}`;
          const said = missing.get(id);
          if (said === undefined || said === saidIn(bytes)) missing.delete(id);
        }
      answers.set(file.path, { state, isCovered: missing.size === 0 });
      return missing.size === 0;
    });
  }

  return async (file, transcripts) => {
    try {
      const kept = keptOf.get(file.path) ?? (await readKept(file));
      keptOf.set(file.path, kept);
      const { sessionId, keptUntilMs } = kept;
      const stored = sessionId === undefined ? undefined : transcripts?.get(`sessions/${sessionId}.jsonl`);
      return { isCovered: stored !== undefined && (await isCovered(file, kept, stored)), keptUntilMs };
    } catch {
      // Gone or not for us to read: what cannot be told is not covered, and reading the file says what is wrong.
      return { isCovered: false, keptUntilMs: Infinity };
    }
  };
}

async function readKept(file: ScannedFile): Promise<Kept> {
  const messages = new Map<string, string | undefined>();
  let header: Record<string, unknown> = {};
  for (const line of (await readFile(file.absolutePath, "utf8")).split("\n")) {
    if (line.trim() === "") continue;
    const record = jsonOf(line);
    if (!isObject(record)) throw new Error("a line of it is damaged");
    if (record["type"] === "session") header = record;
    else messages.set(String(record["id"]), saidIn(Buffer.from(line)));
  }
  const { id } = header;
  const sessionId = typeof id === "string" && /^[\w-]{1,80}$/.test(id) ? id : undefined;
  return { sessionId, messages, keptUntilMs: Date.parse(String(header["keptUntil"])) || Infinity };
}

/** A hash of what a line says; undefined where nobody said it, or it says nothing. */
function saidIn(line: Buffer): string | undefined {
  const record = readRecord(line);
  if (record.kind !== "message" || ofTool.test(record.text)) return undefined;
  const text = redactSecrets(record.text).replaceAll(/\s+/g, " ");
  return text === "" ? undefined : createHash("sha256").update(text).digest("hex");
}

function idOf(line: Buffer): string | undefined {
  return textAt(jsonOf(line), "id") || undefined;
}
