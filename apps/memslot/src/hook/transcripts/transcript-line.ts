import { lineReaders, type SaidLine } from "@memslot/indexing/host";
import { isClientSource } from "@memslot/core";
import type { ClientId } from "../../connect/client.ts";

/** Whether the transcripts of a client can be read. */
export function readsTranscripts(client: ClientId): boolean {
  return isClientSource(client) && lineReaders[client] !== undefined;
}

/** What was said in one line of a client's transcript; undefined for all else that stands there, and for garbage. */
export function readLine(client: ClientId, line: string): SaidLine | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (!isClientSource(client) || typeof value !== "object" || value === null || Array.isArray(value))
      return undefined;
    const said = lineReaders[client]?.(value as Record<string, unknown>);
    return said === undefined || said.text.trim() === "" ? undefined : said;
  } catch {
    return undefined;
  }
}
