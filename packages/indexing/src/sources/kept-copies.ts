import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Finder } from "./finder.ts";
import { renderWhole } from "./messages.ts";
import { readJson, saidRecord, textAt, timeOf, type TranscriptRecord } from "./lines.ts";

/** The copy of a conversation of another agent: what was said, without secrets, each on the line that it has there. */
export interface KeptCopy {
  /** Lines that it has. */
  readonly lines: number;
  /** Takes what comes behind them; given the first line, the copy is rewritten. */
  readonly onLine: (number: number, record: TranscriptRecord) => void;
  /** On disk when it resolves. */
  save(): Promise<void>;
}

/** The copies of one agent, in a folder of their own below the state folder. */
export class KeptCopies {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Opens the copy of a file by its name in the index. `folder`: where the conversation was had, if its lines do not say. */
  async open(name: string, folder: string | undefined): Promise<KeptCopy> {
    const file = this.#placeOf(name);
    const before = await readFile(file, "utf8").catch(() => "");
    // One that ends in the middle of a line was being written when its process was killed.
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
        // A conversation that is read from where its last chunk begins tells lines that are here already.
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

  /** Whether there is a copy of a file. */
  has(name: string): boolean {
    return existsSync(this.#placeOf(name));
  }

  /** Finds all copies. */
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

/** How the lines of a copy are read. */
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
    // As it is indexed: what is taken out there is taken out here.
    const { text } = renderWhole(record);
    return text === "" ? "" : JSON.stringify({ role: record.role, text, at, folder });
  }
  return record.folder === undefined ? "" : JSON.stringify({ at, folder });
}

/** A part of a name as a name on disk, which is neither too long nor leads elsewhere. */
function fileName(part: string): string {
  if (part.length < 150 && part !== "" && part !== "." && part !== "..") return part;
  return createHash("sha256").update(part).digest("hex");
}
