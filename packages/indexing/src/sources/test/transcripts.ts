import { appendFileSync, mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { MemorySearchSettings } from "@memslot/core";
import type { FileRecord } from "../../index-row-types.ts";
import type { Chunk } from "../../chunk-store.ts";
import type { FileReading, IndexedSource } from "../../indexed-source.ts";
import type { ScannedFile } from "../../scan/scan.ts";
import { createSessionSource } from "../sessions.ts";
import { letRest } from "../../../test/support/let-rest.ts";
import { never, settingsWith } from "../../../test/support/context.ts";
import { tempFolder } from "@memslot/test-tools/files";
import { type Random, randomFrom, randomSentence, randomText } from "@memslot/test-tools/random";
import { expect } from "vitest";
import { recordedState } from "../../scan/file-state.ts";

export type Role = "user" | "assistant";

/** A time on this day by the local clock, as transcripts have it. */
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

/** A transcript that is read while it is written gives the same chunks as one that is read whole. */
export async function expectSameChunksInPieces(given: { seed: number; transcripts: number }): Promise<void> {
  for (let round = 0; round < given.transcripts; round++) {
    const random = randomFrom(given.seed + round);
    const bytes = randomTranscript(random);
    const settings = settingsWith({ chunking: { tokens: random.pick([50, 100, 400]), overlap: 20 } });
    const [whole, pieces] = [transcriptIn(tempFolder(), settings), transcriptIn(tempFolder(), settings)];
    pieces.write("");
    let at = 0;
    while (at < bytes.length) {
      const end = Math.min(bytes.length, at + 1 + random.below(random.pick([3, 50, 2000, 400_000])));
      appendFileSync(pieces.file, bytes.subarray(at, end));
      at = end;
      if (random.chance(0.8)) pieces.settle();
      await pieces.sync();
      if (random.chance(0.9) && at < bytes.length) continue;
      whole.write(bytes.subarray(0, at));
      await whole.sync();
      expect(pieces.chunks(), `seed ${given.seed + round}, ${at} bytes`).toEqual(whole.chunks());
    }
    const factsOf = (transcript: Transcript): unknown => [
      transcript.stored()?.hash,
      recordedState(transcript.stored() ?? {}).passedOver,
    ];
    expect(factsOf(pieces), `seed ${given.seed + round}`).toEqual(factsOf(whole));
  }
}

/** Messages of every size between noise and broken lines, with and without line ends of either kind. */
function randomTranscript(random: Random): Buffer {
  const parts: Buffer[] = random.chance(0.2) ? [Buffer.from("\uFEFF")] : [];
  const days = ["2026-03-05", "2026-03-06", undefined];
  for (let left = 5 + random.below(60); left > 0; left--) {
    const day = random.pick(days);
    const time = day === undefined ? undefined : timeOn(day);
    const role = random.pick(["user", "assistant"] as const);
    const line = random.pick([
      () => said(role, randomSentence(random, 30), time),
      () => said(role, randomSentence(random, 30), time),
      () => said(role, randomText(random, 3000), time),
      () => said(role, "word ".repeat(random.below(3000)), time),
      () => said("user", "Pre-compaction memory flush. Store now."),
      () => said("user", "[OpenClaw heartbeat poll]"),
      () => said("assistant", "HEARTBEAT_OK"),
      () => toolResult(random.below(random.pick([100, 5000, 300_000]))),
      () => JSON.stringify({ type: "compaction", timestamp: time }),
      () => randomText(random, 200).replaceAll("\n", " "),
      () => "",
    ])();
    parts.push(Buffer.from(line), Buffer.from(random.chance(0.1) ? "\r\n" : "\n"));
  }
  if (random.chance(0.3))
    parts.push(Buffer.from(said("user", randomSentence(random, 20)).slice(0, random.pick([20, 5000]))));
  return Buffer.concat(parts);
}
