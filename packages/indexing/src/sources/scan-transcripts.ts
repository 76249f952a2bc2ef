import type { Dirent } from "node:fs";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { messageOf } from "@memslot/core";
import { kindOf, linkReason, statOf } from "../files/file-kind.ts";
import { codeOf } from "@memslot/core/files";
import { createStampTrust, mtimeMsOf, stampOf } from "../files/file-stamp.ts";
import type { ScanResult } from "../files/scan.ts";
import { type FolderLook, plainLook } from "../fresh/folder-view.ts";

const filesPerTurn = 500;
/** Copies that hosts leave beside the transcripts: what they hold stands in another file, or was deleted. */
const copies = /\.(?:deleted|reset|bak|checkpoint|trajectory|tmp)(?:\.[^/]*)?\.jsonl$/i;

/** A folder of transcripts below the folder of an agent, and the beginning of their paths in the index. */
interface TranscriptPlace {
  /** Absolute. */
  folder: string;
  label: "sessions" | "journal";
}

/**
 * Finds the transcripts of an agent in one of its folders. Only files of its own folder are taken: nothing that a link leads to, and each
 * file once, however many names it has. A folder that is missing is normal.
 */
export async function scanTranscripts(
  { folder, label }: TranscriptPlace,
  signal: AbortSignal,
  look: FolderLook = plainLook,
): Promise<ScanResult> {
  const result: ScanResult = { files: [], roots: [], failed: [], unknown: [] };
  let entries: Dirent[] = [];
  let problem = problemOf(folder);
  try {
    if (!problem) entries = look.list(folder);
  } catch (error) {
    problem = { reason: `cannot be listed: ${messageOf(error)}`, unknown: true };
  }
  if (problem) {
    result.roots.push({ path: label, state: "skipped", reason: problem.reason });
    if (problem.unknown) {
      result.unknown.push(`${label}/`);
      result.failed.push({ path: label, reason: problem.reason });
    }
    return result;
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const seen = new Map<string, string>();
  const trust = createStampTrust();
  const passOver = (file: string, reason: string): void =>
    void result.roots.push({ path: file, state: "skipped", reason });
  for (const [index, { name }] of entries.entries()) {
    if (index % filesPerTurn === filesPerTurn - 1) await nextTurn(undefined, { signal });
    if (!isTranscript(name)) continue;
    const file = `${label}/${name.normalize("NFC")}`;
    const absolutePath = path.join(folder, name);
    const stats = look.stat(absolutePath);
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
    const identity = stats.ino === 0n ? file : `${stats.dev}:${stats.ino}`;
    const earlier = seen.get(identity) ?? seen.get(file);
    if (earlier !== undefined) {
      passOver(file, `is the same file as ${earlier}, which is indexed`);
      continue;
    }
    seen.set(identity, file).set(file, file);
    trust.see(stats, absolutePath);
    const stamp = trust.relies(stats) ? stampOf(stats) : undefined;
    result.files.push({ path: file, absolutePath, mtimeMs: mtimeMsOf(stats), size: Number(stats.size), stamp });
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
