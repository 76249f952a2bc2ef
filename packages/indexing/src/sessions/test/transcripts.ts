import { mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { MemorySearchSettings } from "@memslot/core";
import type { FileRecord } from "../../chunk-index.ts";
import type { Chunk } from "../../chunk-store.ts";
import type { FileReading, IndexedSource } from "../../indexed-source.ts";
import type { ScannedFile } from "../../files/scan.ts";
import { createSessionSource } from "../session-source.ts";
import { letRest } from "../../../test/support/let-rest.ts";
import { never, settingsWith } from "../../../test/support/context.ts";

export type Role = "user" | "assistant";

/** A time on this day by the clock of whoever runs the tests, as transcripts have it. */
export function timeOn(day: string, hour = 12): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date, hour).toISOString();
}

/** One line of a transcript, without its line end. */
export function said(role: Role, text: string, timestamp?: string): string {
  return JSON.stringify({ type: "message", timestamp, message: { role, content: [{ type: "text", text }] } });
}

export function toolResult(length: number): string {
  const content = [{ type: "text", text: "x".repeat(length) }];
  return JSON.stringify({ type: "message", message: { role: "toolResult", content } });
}

/** A state folder with one transcript, read as a sync would read it. */
export interface Transcript {
  file: string;
  source: IndexedSource;
  /** What the index holds of it. */
  chunks(): Chunk[];
  stored(): FileRecord | undefined;
  /** Every reading of the last `sync`. */
  readings(): FileReading[];
  write(content: string | Uint8Array): void;
  /** Makes the last change older than what could change again within the same time stamp. */
  settle(): void;
  scanned(): ScannedFile;
  /** Reads what is new, in as many readings as it takes. */
  sync(): Promise<void>;
}

export function transcriptIn(stateDir: string, settings: MemorySearchSettings = settingsWith()): Transcript {
  const folder = path.join(stateDir, "agents", "main", "sessions");
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, "one.jsonl");
  const source = createSessionSource({ stateDir, agentId: "main", settings });
  let chunks: Chunk[] = [];
  let stored: FileRecord | undefined;
  let readings: FileReading[] = [];

  const scanned = (): ScannedFile => {
    const { mtimeMs, size } = statSync(file);
    return { path: "sessions/one.jsonl", absolutePath: file, mtimeMs, size };
  };
  return {
    file,
    source,
    chunks: () => chunks,
    stored: () => stored,
    readings: () => readings,
    write: (content) => writeFileSync(file, content),
    settle: () => {
      utimesSync(file, new Date(2026, 0, 1), new Date(2026, 0, 1));
      letRest(file);
    },
    scanned,
    async sync() {
      readings = [];
      for (let more = true; more;) {
        const reading = await source.read(scanned(), stored, never);
        if (!reading) throw new Error("the transcript is gone");
        readings.push(reading);
        more = reading.more === true;
        stored = reading.record;
        if (!reading.changed) continue;
        const { fromLine, chunks: changed } = reading.changed;
        const kept = fromLine === undefined ? [] : chunks.filter(({ startLine }) => startLine < fromLine);
        chunks = [...kept, ...changed];
      }
    },
  };
}

/** What is kept of a transcript with these lines, one entry for each rendered line. */
export async function keptOf(stateDir: string, lines: readonly string[]): Promise<string[]> {
  const transcript = transcriptIn(stateDir);
  transcript.write(lines.map((line) => `${line}\n`).join(""));
  await transcript.sync();
  return transcript.chunks().flatMap(({ text }) => text.split("\n"));
}
