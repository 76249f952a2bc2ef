import { realPathOf } from "../../files/quiet-look.ts";
import type { ScanResult } from "../../files/scan.ts";
import type { RecordReader } from "../record.ts";
import { type ClientFile, recordsOf } from "./agent.ts";
import { type Client, ClientFinding } from "./agent-finding.ts";

/** What a program keeps in its folders, with what could not be looked at. Changes nothing there. */
export async function findFiles(
  client: Client,
  folders: readonly string[],
  signal: AbortSignal,
): Promise<{ files: ReadonlyMap<string, ClientFile>; result: ScanResult }> {
  const finding = new ClientFinding(client.source, signal);
  // The folder itself may be a link to where somebody keeps all settings.
  await client.find(
    finding,
    folders.map((folder) => realPathOf(folder) ?? folder),
  );
  return { files: finding.files, result: finding.done() };
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
  for await (const [number, record] of recordsOf(file, recordOf, { signal, mostBytes: headBytes })) {
    if ("folder" in record && record.folder !== undefined) return record.folder;
    if (file.kind === "whole" && number > headRecords) break;
  }
  return undefined;
}
