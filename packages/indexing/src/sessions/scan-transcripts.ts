import { type Dirent, lstatSync, readdirSync, type Stats } from "node:fs";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { messageOf } from "@memslot/core";
import type { ScanResult } from "../scan.ts";
import { sessionsFolder, transcriptPath } from "./sessions-folder.ts";

const label = "sessions";
const filesPerTurn = 500;
const linkReason = "is a symbolic link, which is not followed";
/** Copies that hosts leave beside the transcripts: what they hold stands in another file, or was deleted. */
const copies = /\.(?:deleted|reset|bak|checkpoint|trajectory|tmp)(?:\.[^/]*)?\.jsonl$/i;

/**
 * Finds the transcripts of an agent. Only files of its own folder are taken: nothing that a link leads to, and each
 * file once, however many names it has. A folder that is missing is normal.
 */
export async function scanTranscripts(
  input: { stateDir: string; agentId: string },
  signal: AbortSignal,
): Promise<ScanResult> {
  const folder = sessionsFolder(input);
  const result: ScanResult = { files: [], roots: [], failed: [], unknown: [] };
  const problem = problemOf(folder);
  if (problem) {
    result.roots.push({ path: label, state: "skipped", reason: problem.reason });
    if (problem.unknown) result.unknown.push(`${label}/`);
    return result;
  }
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    result.roots.push({ path: label, state: "skipped", reason: `cannot be listed: ${messageOf(error)}` });
    result.unknown.push(`${label}/`);
    return result;
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const seen = new Map<string, string>();
  const passOver = (file: string, reason: string): void =>
    void result.roots.push({ path: file, state: "skipped", reason });
  for (const [index, { name }] of entries.entries()) {
    if (index % filesPerTurn === filesPerTurn - 1) await nextTurn(undefined, { signal });
    if (!isTranscript(name)) continue;
    const file = transcriptPath(name);
    const absolutePath = path.join(folder, name);
    const stats = statOf(absolutePath);
    if (stats instanceof Error) {
      if (codeOf(stats) === "ENOENT") continue;
      result.failed.push({ path: file, reason: messageOf(stats) });
      result.unknown.push(file);
      continue;
    }
    if (!stats.isFile()) {
      passOver(file, kindOf(stats));
      continue;
    }
    const identity = stats.ino === 0 ? file : `${stats.dev}:${stats.ino}`;
    const earlier = seen.get(identity) ?? seen.get(file);
    if (earlier !== undefined) {
      passOver(file, `is the same file as ${earlier}, which is indexed`);
      continue;
    }
    seen.set(identity, file).set(file, file);
    result.files.push({ path: file, absolutePath, mtimeMs: stats.mtimeMs, size: stats.size });
  }
  signal.throwIfAborted();
  result.roots.unshift({ path: label, state: "indexed", files: result.files.length });
  return result;
}

/** Whether a file of the folder is a transcript, by its name. */
function isTranscript(name: string): boolean {
  return /\.jsonl$/i.test(name) && !name.startsWith(".") && !copies.test(name);
}

/** Why the folder is not looked at; `unknown` where it may still hold what is indexed. */
function problemOf(folder: string): { reason: string; unknown: boolean } | undefined {
  // A link in place of the agent's folder could lead to those of another agent.
  for (const place of [path.dirname(path.dirname(folder)), path.dirname(folder), folder]) {
    const stats = statOf(place);
    if (stats instanceof Error) {
      const missing = codeOf(stats) === "ENOENT";
      return { reason: missing ? "does not exist" : `cannot be read: ${messageOf(stats)}`, unknown: !missing };
    }
    const shown = place === folder ? "" : `${place} `;
    if (stats.isSymbolicLink()) return { reason: `${shown}${linkReason}: put a real folder there`, unknown: false };
    if (!stats.isDirectory()) return { reason: `${shown}is not a folder`, unknown: false };
  }
  return undefined;
}

function statOf(absolutePath: string): Stats | Error {
  try {
    return lstatSync(absolutePath);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function kindOf(stats: Stats): string {
  if (stats.isSymbolicLink()) return linkReason;
  if (stats.isDirectory()) return "is a folder, not a file";
  if (stats.isFIFO()) return "is a named pipe, not a file";
  if (stats.isSocket()) return "is a socket, not a file";
  if (stats.isBlockDevice() || stats.isCharacterDevice()) return "is a device, not a file";
  return "is not a file";
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
