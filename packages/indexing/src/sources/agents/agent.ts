import path from "node:path";
import { withFile } from "../../scan/open-file.ts";
import type { Finder } from "../finder.ts";
import {
  type JsonObject,
  readJson,
  type RecordReader,
  saidRecord,
  textAt,
  textOf,
  timeOf,
  type TranscriptRecord,
} from "../lines.ts";

const maxSmallBytes = 4 * 1024 * 1024;

/** What a line of an agent's transcript says. */
export interface SaidLine {
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly id?: string | undefined;
  /** As it is written there. */
  readonly at?: string | undefined;
}

/** A program that keeps its conversations on this machine: all that memslot knows about reading them. */
export interface KnownAgent {
  /** As people call it. */
  readonly name: string;
  /** What a line of its transcripts says; undefined for everything else in them: tools, settings, summaries. Absent: it writes no lines. */
  readonly said?: (line: JsonObject) => SaidLine | undefined;
  /** Where the agent was at work, if the line says so. */
  readonly folderOf?: (line: JsonObject) => unknown;
  /** Finds what it keeps in one of its folders. */
  find(finder: Finder, folder: string): Promise<void>;
}

/** What a line says whose parts are named so; undefined if it is not of a user or an assistant. */
export function saidBy(role: unknown, content: unknown, id?: unknown, at?: unknown): SaidLine | undefined {
  if (role !== "user" && role !== "assistant") return undefined;
  const given = { id, at };
  return { role, text: textOf(content, true), id: textAt(given, "id"), at: textAt(given, "at") };
}

/** A line of an agent's transcript as a record. */
export function recordIn(line: JsonObject, agent: KnownAgent): TranscriptRecord {
  const folder = absoluteFolder(agent.folderOf?.(line));
  const said = agent.said?.(line);
  if (said === undefined) return { kind: "other", timeMs: timeOf(line["timestamp"]), folder };
  return saidRecord({ role: said.role, text: said.text, timeMs: timeOf(said.at), folder });
}

/** Reads the lines of an agent's transcripts. */
export function recordReader(agent: KnownAgent): RecordReader {
  return (line) => readJson(line, (record) => recordIn(record, agent));
}

/** A folder as an agent writes it down, of any system. Other values could be taken for what stands for no single folder. */
export function absoluteFolder(value: unknown): string | undefined {
  const isFolder = typeof value === "string" && (path.posix.isAbsolute(value) || path.win32.isAbsolute(value));
  return isFolder ? value : undefined;
}

/** The text of a small file that an agent keeps beside its conversations; empty if there is none that can be read. */
export async function readSmall(file: string): Promise<string> {
  try {
    return await withFile(file, async (handle) => {
      const stats = await handle.stat();
      return stats.isFile() && stats.size <= maxSmallBytes ? await handle.readFile("utf8") : "";
    });
  } catch {
    return "";
  }
}
