import {
  clientOfPath,
  type ManagerReadParams,
  type MemoryReadResult,
  type MemorySource,
  messageOf,
  type SessionAudience,
} from "@memslot/core";
import type { PathScope } from "../../chunk-store.ts";
import { notReadable } from "../../files/read-file.ts";
import type { IndexedSource } from "../../indexed-source.ts";
import type { StoredFiles } from "../../sync/stored-files.ts";
import type { ClientFile } from "./agent.ts";
import type { ClientIndexedSource } from "./agent-source.ts";
import { readClientWindow } from "../read-window.ts";

/** Whether what a source finds depends on the project that is asked from. */
export function hasScope(source: IndexedSource): source is ClientIndexedSource {
  return "scopeIn" in source;
}

/** What a session may see of other programs' files, by source: nothing where others read along, else its own project. */
export async function projectScopes(
  sources: readonly IndexedSource[],
  audience: SessionAudience,
  stored: () => Promise<StoredFiles>,
): Promise<ReadonlyMap<MemorySource, PathScope>> {
  const own = sources.filter(hasScope);
  const scopes = new Map<MemorySource, PathScope>();
  if (own.length === 0) return scopes;
  const files = audience === "private" ? await stored() : new Map<MemorySource, never>();
  for (const source of own) {
    const scope = audience === "private" ? source.scopeIn(files.get(source.source)) : { within: [], without: [] };
    if (scope !== undefined) scopes.set(source.source, scope);
  }
  return scopes;
}

/** What stands in the file now decides, and not what stood there when it was indexed. */
async function mayShow(source: ClientIndexedSource, file: ClientFile, signal: AbortSignal): Promise<boolean> {
  try {
    return await source.mayShow(file, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    throw notReadable(file.path, `: ${messageOf(error)}`, "UNAVAILABLE", error);
  }
}

/** The files of other programs that this memory may show, by their paths in the index. */
export interface ClientFiles {
  /** Whose file a path is of; undefined where it is of none of the sources. */
  sourceOf(relPath: string): ClientIndexedSource | undefined;
  /** A window of it. Throws `PATH_NOT_ALLOWED` where others read along, and for a file of another project. */
  read(params: ManagerReadParams, source: ClientIndexedSource): Promise<MemoryReadResult>;
}

export function createClientFiles(sources: readonly IndexedSource[]): ClientFiles {
  const own = sources.filter(hasScope);
  return {
    sourceOf(relPath) {
      const client = clientOfPath(relPath);
      return own.find(({ source }) => source === client);
    },
    async read(params, source) {
      const shown = params.relPath.replace(/^\.\//u, "").normalize("NFC");
      if (params.audience === "shared") throw notReadable(shown, " in a session that others read: it is private.");
      const known = await source.fileOf(shown, params.signal);
      if (known === undefined) return { status: "not_found", text: "", path: shown };
      if (!(await mayShow(source, known.file, params.signal)))
        throw notReadable(
          shown,
          ' here: it is of another project. Ask from there, or set memorySearch.clients.scope to "all".',
        );
      return await readClientWindow(known, params);
    },
  };
}
