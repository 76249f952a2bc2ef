import { MemoryError } from "../contract/errors.ts";
import type { SessionAudience } from "../contract/search.ts";

/** Parts of a session key that say that others read along, as the channels of the field write them. */
const sharedParts: ReadonlySet<string> = new Set(
  "group supergroup channel room guild space team forum conference broadcast public".split(" "),
);

/** Older ways to write a group into one part: a WhatsApp group, a Discord channel. */
const sharedPart = /@g\.us$|^(?:group|channel|guild)-\d/;

/** What the agent does for its owner without a chat, and the owner's own surfaces: the kind, then an id. */
const ownKinds: ReadonlySet<string> = new Set("cron subagent hook acp node dashboard tui explicit".split(" "));

/** What may follow the key of a session: a thread of it, or a run of the agent in its place. */
const suffixKinds: ReadonlySet<string> = new Set(["thread", "topic"]);

/**
 * `main`: the owner in conversation. `other`: what runs on the owner's behalf. `group`: others read along, or it is a
 * chat with somebody else.
 */
export type SessionKind = "main" | "other" | "group";

/** Who reads what is answered in a session, by its key, see `sessionKindOf`. */
export function audienceOf(
  sessionKey: string | undefined,
  agentId: string,
  ownerAllowFrom: readonly string[] = [],
): SessionAudience {
  return sessionKindOf(sessionKey, agentId, ownerAllowFrom) === "group" ? "shared" : "private";
}

/**
 * What a session is, by its key. No key is the owner, at a terminal. The owner's own are:
 *
 * - `agent:<id>:main`, also with `:heartbeat`, `:thread:<id>` or `:topic:<id>` behind it;
 * - a chat of two with a peer of `ownerAllowFrom`: `agent:<id>[:<channel>[:<account>]]:direct:<peer>`, or `dm` as it was
 *   written before. An entry is the id of a peer, which holds on every channel, or `<channel>:<peer>`. An id that begins as a
 *   channel does (`telegram:7`) holds where the key names no other channel;
 * - what runs on the owner's behalf: `agent:<id>:cron:<job>`, `…:subagent:<id>`, `…:hook:<id>`, `…:node:<id>`,
 *   `…:acp:<id>`, `…:dashboard:<id>`, `…:tui:<id>`, and `…:explicit:<id>`, a session that was named on the command line;
 *
 * each of them also without `agent:<id>:`. A key with a group, a channel or the like anywhere in it is a group, a job or
 * a subagent below one included. So is every other key: a chat of two with anybody else, one that cannot be understood,
 * which may be a group of a channel that is not known here, and `global`, which is all sessions in one.
 *
 * Throws `INVALID_ARGUMENT` for a key that names another agent. Agents are compared without regard to case, as the
 * configuration does.
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

/**
 * Whether the peer of a direct chat is named. Ids are compared letter by letter, but for the case of A to Z, which hosts
 * write as they like: what only looks alike is somebody else.
 */
function isOwner(parts: readonly string[], ownerAllowFrom: readonly string[]): boolean {
  const folded = parts.map(foldCase);
  const direct = folded.findIndex(isDirect);
  // Where the word itself is written in other characters, nobody can say who is meant.
  if (direct < 0) return false;
  const [channel] = direct === 0 ? [] : folded;
  const behind = folded.slice(direct + 1);
  const thread = behind.findIndex((part, index) => index > 0 && suffixKinds.has(part));
  const peer = (thread < 0 ? behind : behind.slice(0, thread)).join(":");
  // Somebody who may choose an id on one channel could take that of the owner on another one, with its name before it.
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
