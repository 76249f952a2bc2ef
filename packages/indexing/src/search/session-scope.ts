import {
  type ExcludedNotes,
  type MemorySearchSettings,
  type MemorySource,
  type SessionAudience,
  type SyncFailure,
} from "@memslot/core";
import { hasOtherNames, isPrivateNote } from "@memslot/core/host";
import { onlyIn, type PathScope } from "../chunk-store.ts";
import type { IndexedSource, SourceOutcome, SourceScope, StoredFiles } from "../indexed-source.ts";
import { isMarkdown, ignoredFolders } from "../scan/folder-rules.ts";
import { entriesOf } from "../scan/file-state.ts";
import { memoryRoots, relativePath, type MemoryRoot } from "../scan/memory-roots.ts";
import path from "node:path";
import { notesLayout } from "@memslot/core/files";
import { createTimeSlices } from "../time-slices.ts";

export type { SourceScope };

/** The workspace whose notes are shared in part. */
interface Shared {
  workspaceDir: string;
  settings: Pick<MemorySearchSettings, "extraPaths" | "notes">;
  signal: AbortSignal;
}

interface Session extends Shared {
  sessionKey: string | undefined;
  audience: SessionAudience;
  agentId: string;
  /** The path of a session's transcript in the index; undefined if it has none. */
  transcriptOf: (sessionKey: string) => Promise<string | undefined>;
  /** The paths in the index of what the session with this transcript has dropped. */
  journalOf: (transcript: string) => readonly string[];
}

/** What a session may search: main session everything, a group only shared notes, each its own transcript. */
export async function sessionScope(input: Session): Promise<SourceScope> {
  const { sessionKey, audience, agentId } = input;
  if (audience === "private" && isMainSession(sessionKey, agentId)) return () => undefined;
  const transcript = sessionKey === undefined ? undefined : await input.transcriptOf(sessionKey);
  const own = onlyIn(transcript === undefined ? [] : [transcript]);
  const journal = onlyIn(audience === "private" && transcript !== undefined ? input.journalOf(transcript) : []);
  const notes = audience === "private" ? undefined : await sharedNotes(input);
  return (source) =>
    source === "memory" ? notes : source === "sessions" ? own : source === "journal" ? journal : undefined;
}

/** Notes of `extraPaths`, without private notes and hard-linked files. */
async function sharedNotes(input: Shared): Promise<PathScope> {
  const { extraPaths, notes } = input.settings;
  const { workspaceDir } = input;
  // Without the workspace as a folder of notes, which is private.
  const roots = memoryRoots({ workspaceDir, settings: { extraPaths, notes: "agent" } });
  const isFolderOfNotes = notesLayout(workspaceDir, notes).layout === "all";
  const places = roots.map((root) => ({ extra: root.extra, path: relativePath(workspaceDir, root.absolutePath) }));
  const below = (path: string): string[] => (path === "" ? [""] : [path, `${path}/`]);
  const withOtherNames: string[] = [];
  const within: string[] = [];
  for (const root of roots.filter(({ extra }) => extra)) {
    const place = relativePath(workspaceDir, root.absolutePath);
    const isPart = isFolderOfNotes && root.hasPattern;
    if (!isPrivateNote(place)) within.push(...(isPart ? await filesIn(root, input) : below(place)));
    const files = await filesWithOtherNames(root, input);
    withOtherNames.push(...(files ?? below(place)));
  }
  return {
    within,
    without: [...places.filter(({ extra }) => !extra).flatMap(({ path }) => below(path)), ...withOtherNames],
  };
}

export async function projectScopes(
  sources: readonly IndexedSource[],
  audience: SessionAudience,
  stored: () => Promise<StoredFiles>,
): Promise<ReadonlyMap<MemorySource, PathScope>> {
  const own = sources.filter(({ scopeIn }) => scopeIn !== undefined);
  const scopes = new Map<MemorySource, PathScope>();
  if (own.length === 0) return scopes;
  const files = audience === "private" ? await stored() : new Map<MemorySource, never>();
  for (const source of own) {
    const scope = audience === "private" ? source.scopeIn?.(files.get(source.source)) : { within: [], without: [] };
    if (scope !== undefined) scopes.set(source.source, scope);
  }
  return scopes;
}

/** What a scan of one source has found that is not searched. */
export type Excluded = Pick<SourceOutcome, "excluded" | "accepted" | "unreadPlaces">;

/** Excludes files that the last scan could not read; their index entries may be old. */
export function withoutUnread(scope: SourceScope, sources: ReadonlyMap<MemorySource, Excluded>): SourceScope {
  return (source) => {
    const own = scope(source);
    const places = sources.get(source)?.unreadPlaces ?? [];
    if (places.length === 0) return own;
    return { within: own?.within ?? [""], without: [...(own?.without ?? []), ...places] };
  };
}

/** The notes that a search may find and does not reach, if any. */
export function excludedIn(
  scope: SourceScope,
  asked: readonly MemorySource[],
  sources: ReadonlyMap<MemorySource, Excluded>,
): ExcludedNotes | undefined {
  const notes: SyncFailure[] = [];
  let byConfiguration = 0;
  for (const source of asked) {
    const { excluded = [], accepted = [] } = sources.get(source) ?? {};
    const isSeen = (path: string): boolean => isWithin(path, scope(source));
    notes.push(...excluded.filter(({ path }) => isSeen(path)));
    byConfiguration += accepted.filter(isSeen).length;
  }
  return notes.length + byConfiguration === 0 ? undefined : { count: notes.length, notes, byConfiguration };
}

function isWithin(path: string, scope: PathScope | undefined): boolean {
  if (scope === undefined) return true;
  const isUnder = (place: string): boolean =>
    place === "" || path === place || `${path}/` === place || (place.endsWith("/") && path.startsWith(place));
  return scope.within.some(isUnder) && !scope.without.some(isUnder);
}

/** Narrower than owner sessions: a direct chat may have had another peer. */
function isMainSession(sessionKey: string | undefined, agentId: string): boolean {
  if (sessionKey === undefined) return true;
  const key = sessionKey.trim().toLowerCase();
  return key === "main" || key === `agent:${agentId.toLowerCase()}:main`;
}

export function isClosed(scope: PathScope | undefined): boolean {
  return scope !== undefined && scope.within.length === 0;
}

/** With more hard links the whole root is excluded. */
const maxFiles = 500;

/** Hard-linked notes of a root; undefined if too many. Checked per query: links can appear at any time. */
async function filesWithOtherNames(root: MemoryRoot, input: Shared): Promise<string[] | undefined> {
  if (hasOtherNames(root.absolutePath)) return [relativePath(input.workspaceDir, root.absolutePath)];
  const found = await filesIn(root, input, hasOtherNames, maxFiles + 1);
  return found.length > maxFiles ? undefined : found;
}

async function filesIn(
  root: MemoryRoot,
  { workspaceDir, signal }: Shared,
  accepts: (absolutePath: string) => boolean = () => true,
  most = Infinity,
): Promise<string[]> {
  const found: string[] = [];
  const slices = createTimeSlices(signal);
  await walk(root.absolutePath, "");
  return found;

  async function walk(folder: string, inside: string): Promise<void> {
    if (found.length >= most) return;
    for (const entry of entriesOf(folder)) {
      if (slices.isOver()) await slices.pause();
      const { name } = entry;
      const absolutePath = path.join(folder, name);
      if (entry.isDirectory()) {
        if (!ignoredFolders.has(name)) await walk(absolutePath, `${inside}${name}/`);
      } else if (isMarkdown(name) && root.fits(inside + name) && accepts(absolutePath))
        found.push(relativePath(workspaceDir, absolutePath));
    }
  }
}
