import { realpathSync } from "node:fs";
import { open } from "node:fs/promises";
import { openForReading } from "../files/file-kind.ts";
import type { ScanResult } from "../files/scan.ts";
import { readLines } from "../sessions/transcript-lines.ts";
import type { RecordReader } from "../sessions/transcript-record.ts";
import type { Client, ClientFile } from "./client.ts";
import { ClientFinding } from "./client-finding.ts";

/** What a program keeps in its folders, with what could not be looked at. Changes nothing there. */
export async function findFiles(
  client: Client,
  folders: readonly string[],
  signal: AbortSignal,
): Promise<{ files: ReadonlyMap<string, ClientFile>; result: ScanResult }> {
  const finding = new ClientFinding(client.source, signal);
  // The folder itself may be a link to where somebody keeps all settings.
  await client.find(finding, folders.map(realPath));
  return { files: finding.files, result: finding.done() };
}

function realPath(folder: string): string {
  try {
    return realpathSync.native(folder);
  } catch {
    return folder;
  }
}

/** Where a conversation was had stands in one of its first lines. */
const headBytes = 256 * 1024;
const headRecords = 50;

/** Where a program was at work in a conversation, as it stands there now; undefined where it does not say. Throws what reading throws. */
export async function folderIn(
  file: ClientFile,
  recordOf: RecordReader,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (file.kind === "note") return undefined;
  if (file.kind === "whole") {
    for await (const [number, record] of file.records?.(signal) ?? []) {
      if ("folder" in record && record.folder !== undefined) return record.folder;
      if (number > headRecords) break;
    }
    return undefined;
  }
  const handle = await open(file.absolutePath, openForReading);
  try {
    for await (const lines of readLines(handle, 0, Math.min(file.size, headBytes), signal))
      for (const { bytes } of lines) {
        const record = bytes === undefined ? undefined : recordOf(bytes);
        if (record !== undefined && "folder" in record && record.folder !== undefined) return record.folder;
      }
    return undefined;
  } finally {
    await handle.close();
  }
}
