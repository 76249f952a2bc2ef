import { lstatSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { show } from "./runtime-type-checks.ts";
import { canonicalPath, isBelow } from "../config/paths.ts";
import { type MemorySearchSettings, clientOfPath } from "../contract/config.ts";
import { MemoryError } from "../contract/errors.ts";
import type { SessionAudience } from "../contract/search.ts";
import type { MemoryProviderStatus } from "../contract/status.ts";
import { notesLayout } from "../files/notes-layout.ts";

const sharedParts: ReadonlySet<string> = new Set(
  "group supergroup channel room guild space team forum conference broadcast public".split(" "),
);

const sharedPart = /@g\.us$|^(?:group|channel|guild)-\d/;

/** Runs on behalf of the owner; `explicit` is a session named on the command line. */
const ownKinds: ReadonlySet<string> = new Set("cron subagent hook acp node dashboard tui explicit".split(" "));

/** What may follow the key of a session: a thread of it, or a run of the agent in its place. */
const suffixKinds: ReadonlySet<string> = new Set(["thread", "topic"]);

/** `main`: the owner. `other`: runs for the owner. `group`: shared audience or another person. */
export type SessionKind = "main" | "other" | "group";

/** The readers of answers in a session, by its key, see `sessionKindOf`. */
export function audienceOf(
  sessionKey: string | undefined,
  agentId: string,
  ownerAllowFrom: readonly string[] = [],
): SessionAudience {
  return sessionKindOf(sessionKey, agentId, ownerAllowFrom) === "group" ? "shared" : "private";
}

/**
 * Classifies a session by its key. No key: `main`, the owner at a terminal. Sessions of the owner are:
 *
 * - `agent:<id>:main`, also followed by `:heartbeat`, `:thread:<id>` or `:topic:<id>`: `main`
 * - a chat with a peer of `ownerAllowFrom`, `agent:<id>[:<channel>[:<account>]]:direct:<peer>` (or `dm`): `main`.
 *   An entry is the id of a peer on every channel, or `<channel>:<peer>`. An id that begins like a channel
 *   (`telegram:7`) matches only if the key names no other channel.
 * - runs on behalf of the owner, `agent:<id>:<kind>:<id>` with one of `ownKinds`: `other`
 *
 * The prefix `agent:<id>:` is optional. Every other key is a `group`: one with a group, channel or the like anywhere in
 * it, a chat with another person, and a key that cannot be parsed. Throws `INVALID_ARGUMENT` for the key of another
 * agent. Agent ids are compared without case, as in the configuration.
 */
export function sessionKindOf(
  sessionKey: string | undefined,
  agentId: string,
  ownerAllowFrom: readonly string[] = [],
): SessionKind {
  if (sessionKey === undefined) return "main";
  const written = sessionKey.trim().split(":");
  const parts = written.map((part) => part.toLowerCase());
  const owner = parts[0] === "agent" ? parts[1] : undefined;
  if (owner !== undefined && owner !== agentId.toLowerCase()) {
    throw new MemoryError(
      "INVALID_ARGUMENT",
      `sessionKey ${JSON.stringify(sessionKey)} belongs to agent "${owner}", this is the memory of agent "${agentId}"`,
    );
  }
  const begin = owner === undefined ? 0 : 2;
  const kind = kindOf(parts.slice(begin).map((part) => part.normalize("NFKC")));
  if (kind !== "direct") return kind;
  return isOwner(written.slice(begin), ownerAllowFrom) ? "main" : "group";
}

function kindOf(parts: readonly string[]): SessionKind | "direct" {
  if (parts.some((part) => part.trim() === "" || sharedParts.has(part) || sharedPart.test(part))) return "group";
  const [first = "", ...rest] = parts;
  if (first === "main") return rest.length === 0 || isSuffix(rest) ? "main" : "group";
  if (ownKinds.has(first)) return rest.length > 0 ? "other" : "group";
  // Before it at most the channel and the account; behind it the peer, whose id may hold colons.
  const direct = parts.findIndex(isDirect);
  return direct >= 0 && direct <= 2 && parts.length > direct + 1 ? "direct" : "group";
}

function isDirect(part: string): boolean {
  return part === "direct" || part === "dm";
}

/** Whether the peer of a direct chat is the owner. Ids are compared exactly, except for ASCII case. */
function isOwner(parts: readonly string[], ownerAllowFrom: readonly string[]): boolean {
  const folded = parts.map(foldCase);
  const direct = folded.findIndex(isDirect);
  // The word itself is disguised, so the peer is unknown.
  if (direct < 0) return false;
  const [channel] = direct === 0 ? [] : folded;
  const behind = folded.slice(direct + 1);
  const thread = behind.findIndex((part, index) => index > 0 && suffixKinds.has(part));
  const peer = (thread < 0 ? behind : behind.slice(0, thread)).join(":");
  // An id chosen on one channel must not pass for the owner's id on another.
  const looksQualified = /^[a-z][\w-]*:/.test(peer);
  const names = [
    ...(channel === undefined || !looksQualified ? [peer] : []),
    ...(channel === undefined ? [] : [`${channel}:${peer}`]),
  ];
  return ownerAllowFrom.some((entry) => names.includes(foldCase(entry.trim())));
}

function foldCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function isSuffix([kind = "", ...rest]: readonly string[]): boolean {
  if (kind === "heartbeat") return rest.length === 0;
  return suffixKinds.has(kind) && rest.length > 0;
}

export interface NotePlaces {
  workspaceDir: string;
  extraPaths: MemorySearchSettings["extraPaths"];
  notes: MemorySearchSettings["notes"];
  /** Folders that the plugin reports as its own. */
  roots: () => MemoryProviderStatus["roots"];
}

/** Normalises a note path relative to the workspace; undefined if it is outside all readable places. */
export function notePath(path: string, places: NotePlaces): string | undefined {
  const { workspaceDir, extraPaths, roots } = places;
  const file = resolve(workspaceDir, path);
  const written = relative(resolve(workspaceDir), file);
  if (written === "") return undefined;
  if (!isBelow(file, resolve(workspaceDir))) {
    const known = [...extraPaths.map(pathOf), ...(roots() ?? []).map((root) => root.path)];
    if (!isInOneOf(file, known, workspaceDir)) return undefined;
  }
  return written.split(sep).join("/");
}

const ownRoots: ReadonlySet<string> = new Set(["MEMORY.md", "memory.md", "USER.md", "memory", "."]);

/** Whether a shared audience may read a note (`notePath` form). */
export function isInSharedPlace(path: string, places: NotePlaces): boolean {
  const { workspaceDir, extraPaths, roots, notes } = places;
  const file = resolve(workspaceDir, path);
  if (!isBelow(file, resolve(workspaceDir)) || notesLayout(workspaceDir, notes).layout !== "all") return true;
  const own = (roots() ?? []).filter(({ state, path: root }) => state === "indexed" && !ownRoots.has(root));
  return isInOneOf(file, [...extraPaths.map(pathOf), ...own.map((root) => root.path)], workspaceDir);
}

function pathOf(entry: MemorySearchSettings["extraPaths"][number]): string {
  return typeof entry === "string" ? entry : entry.path;
}

function isInOneOf(file: string, folders: readonly string[], workspaceDir: string): boolean {
  const known = folders.map((folder) => resolve(workspaceDir, folder));
  return known.some((root) => isBelow(file, root) || isBelow(file, canonicalPath(root) ?? root));
}

const isMarkdownName = /\.(?:md|markdown|mdx)$/i;

/** Characters that some file systems ignore in names. */
const ignored = /[\u200C-\u200F\u202A-\u202E\u206A-\u206F\uFEFF]/g;

/** True for the owner's notes: MEMORY.md, USER.md, memory/, the journal, other programs' files, in any spelling. */
export function isPrivateNote(path: string, workspaceDir?: string): boolean {
  const parts = workspaceDir === undefined ? partsOf(path) : partsInside(path, workspaceDir);
  const [first, ...below] = parts ?? [];
  if (first === "memory") return true;
  if (first !== undefined && clientOfPath(first) !== undefined) return true;
  if (first === "journal" && below.length === 1 && below[0]?.endsWith(".jsonl") === true) return true;
  return below.length === 0 && (first === "memory.md" || first === "user.md");
}

/** Whether a file has further names (hard links). */
export function hasOtherNames(absolutePath: string): boolean {
  try {
    const stats = lstatSync(absolutePath);
    return stats.isFile() && stats.nlink > 1;
  } catch {
    return false; // A missing file reveals nothing.
  }
}

/** Whether a shared audience may read this path. */
export function isForEveryone(path: string, workspaceDir: string): boolean {
  return !isPrivateNote(path, workspaceDir) && !hasOtherNames(resolve(workspaceDir, path));
}

/** Throws `PATH_NOT_ALLOWED` for a path that a shared audience may not read. */
export function assertReadable(path: string, audience: SessionAudience, places: NotePlaces): void {
  const { workspaceDir } = places;
  if (audience === "private") return;
  // Checked first and without file access, so that existence is not revealed.
  const isShared = !isMarkdownName.test(path) || isInSharedPlace(path, places);
  if (isShared && isForEveryone(path, workspaceDir)) return;
  let why = "it has more than one name (a hard link), and the other one may be a private note; put a copy in its place";
  if (isPrivateNote(path, workspaceDir))
    why =
      "MEMORY.md, USER.md, memory/, the journal and what other programs keep are private, which are read in the owner's own sessions only";
  else if (!isShared) why = "the notes of this folder are private, but for what extraPaths names";
  throw new MemoryError("PATH_NOT_ALLOWED", `${show(path)} cannot be read in a shared session: ${why}`);
}

function partsInside(path: string, workspaceDir: string): string[] | undefined {
  const root = partsOf(resolve(workspaceDir));
  const parts = partsOf(isAbsolute(path) ? path : `${resolve(workspaceDir)}/${path}`);
  return root.every((part, index) => part === parts[index]) ? parts.slice(root.length) : undefined;
}

function partsOf(path: string): string[] {
  const parts: string[] = [];
  for (const part of path.split(/[\\/]/)) {
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part === "..") parts.push(part);
    else parts.push(...[folded(part)].filter((name) => name !== ""));
  }
  return parts;
}

function folded(name: string): string {
  return name
    .normalize("NFC")
    .replaceAll(ignored, "")
    .toUpperCase()
    .toLowerCase()
    .replace(/[. ]+$/, "");
}
