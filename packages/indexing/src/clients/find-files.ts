import { realpathSync } from "node:fs";
import type { ScanResult } from "../files/scan.ts";
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
