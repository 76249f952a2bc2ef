import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, writeFile, readdir } from "node:fs/promises";
import path from "node:path";
import type { Finder } from "./conversation-finder.ts";
import { renderWhole } from "./message-chunks.ts";
import { jsonOf, textAt } from "../json-values.ts";
import { readJson, saidRecord, timeOf, type TranscriptRecord } from "./transcript-lines.ts";
import { replaceFile } from "@memslot/core/files";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { redactionVersion } from "../secrets/version.ts";

/** The copy of a conversation: its messages, redacted, on the same lines. */
export interface KeptCopy {
  readonly lines: number;
  /** Appends a line; line 1 rewrites the copy. */
  readonly onLine: (number: number, record: TranscriptRecord) => void;
  /** On disk when it resolves. */
  save(): Promise<void>;
}

export class KeptCopies {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Opens the copy of a file by its name in the index. `folder`: its working folder, if its lines do not name one. */
  async open(name: string, folder: string | undefined): Promise<KeptCopy> {
    const file = this.#placeOf(name);
    const before = await readFile(file, "utf8").catch(() => "");
    // A process was killed in the middle of the last line.
    const there = before.endsWith("\n") ? before.split("\n").length - 1 : 0;
    let isRewritten = false;
    let next = there + 1;
    let added = "";
    return {
      lines: there,
      onLine(number, record) {
        if (number === 1 && next !== 1) {
          [isRewritten, next] = [true, 1];
          added = "";
        }
        // A resumed reading starts before the end of the copy.
        if (number < next) return;
        added += `${"\n".repeat(number - next)}${written(record, folder)}\n`;
        next = number + 1;
      },
      async save() {
        if (added === "" && !isRewritten) return;
        await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
        if (isRewritten || there === 0) await writeFile(file, added, { mode: 0o600, flush: true });
        else await appendFile(file, added, { flush: true });
      },
    };
  }

  has(name: string): boolean {
    return existsSync(this.#placeOf(name));
  }

  async find(finder: Finder, folder: string = this.folder, inside = ""): Promise<void> {
    for (const entry of await finder.list(folder)) {
      const place = path.join(folder, entry.name);
      if (entry.isDirectory()) await this.find(finder, place, `${inside}${entry.name}/`);
      else await finder.take(inside + entry.name, place, { kind: "lines" });
    }
  }

  #placeOf(name: string): string {
    return path.join(this.folder, ...name.split("/").map(fileName));
  }
}

/** Reads a line of a copy. */
export function keptRecord(line: Buffer | undefined): TranscriptRecord {
  return readJson(line, (record) => {
    const { role } = record;
    const text = textAt(record, "text");
    const timeMs = timeOf(record["at"]);
    const folder = textAt(record, "folder");
    if ((role !== "user" && role !== "assistant") || text === undefined) return { kind: "other", timeMs, folder };
    return saidRecord({ role, text, timeMs, folder });
  });
}

function written(record: TranscriptRecord, usual: string | undefined): string {
  if (record.kind !== "message" && record.kind !== "other") return "";
  const { timeMs, folder = usual } = record;
  const at = timeMs === undefined ? undefined : new Date(timeMs).toISOString();
  if (record.kind === "message") {
    // Redacted as in the index.
    const { text } = renderWhole(record);
    return text === "" ? "" : JSON.stringify({ role: record.role, text, at, folder });
  }
  return record.folder === undefined ? "" : JSON.stringify({ at, folder });
}

/** A part of a name as a file name: not too long, and without a way out of the folder. */
function fileName(part: string): string {
  if (part.length < 150 && part !== "" && part !== "." && part !== "..") return part;
  return createHash("sha256").update(part).digest("hex");
}

/** Redacts JSONL copies made by older rules. `mark` stores the rule version. False: a copy remains. */
export async function redactCopies(folder: string, mark: string): Promise<boolean> {
  if ((await readFile(mark, "utf8").catch(() => "")) === String(redactionVersion)) return true;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => path.join(parentPath, name));
  try {
    for (const file of files) {
      const text = await readFile(file, "utf8");
      const clean = text.split("\n").map(redactLine).join("\n");
      if (clean !== text) await replaceFile(file, clean);
    }
    if (files.length > 0) await writeFile(mark, String(redactionVersion), { mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}

function redactLine(line: string): string {
  const record = jsonOf(line);
  if (record === undefined) return line;
  const clean = JSON.stringify(record, (_, value: unknown) =>
    typeof value === "string" ? redactSecrets(value) : value,
  );
  return clean === JSON.stringify(record) ? line : clean;
}
