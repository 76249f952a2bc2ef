import { MemoryError } from "./errors.ts";
import type { SessionAudience } from "./manager.ts";

/** Parts of a session key that say that others read along, as the channels of the field write them. */
const sharedParts: ReadonlySet<string> = new Set(
  "group supergroup channel room guild space team forum conference broadcast public".split(" "),
);

/** Older ways to write a group into one part: a WhatsApp group, a Discord channel. */
const sharedPart = /@g\.us$|^(?:group|channel|guild)-\d/;

/** What the agent does for its owner without a chat, and the owner's own surfaces: the kind, then an id. */
const ownKinds: ReadonlySet<string> = new Set("cron subagent hook acp node dashboard tui".split(" "));

/** What may follow the key of a session: a thread of it, or a run of the agent in its place. */
const suffixKinds: ReadonlySet<string> = new Set(["thread", "topic"]);

/** `main`: the owner in conversation. `other`: what runs on the owner's behalf. `group`: others read along. */
export type SessionKind = "main" | "other" | "group";

/** Who reads what is answered in a session, by its key, see `sessionKindOf`. */
export function audienceOf(sessionKey: string | undefined, agentId: string): SessionAudience {
  return sessionKindOf(sessionKey, agentId) === "group" ? "shared" : "private";
}

/**
 * What a session is, by its key. No key is the owner, at a terminal. The owner's own are:
 *
 * - `agent:<id>:main`, also with `:heartbeat`, `:thread:<id>` or `:topic:<id>` behind it;
 * - a chat of two: `agent:<id>[:<channel>[:<account>]]:direct:<peer>`, or `dm` as it was written before;
 * - what runs on the owner's behalf: `agent:<id>:cron:<job>`, `…:subagent:<id>`, `…:hook:<id>`, `…:node:<id>`,
 *   `…:acp:<id>`, `…:dashboard:<id>`, `…:tui:<id>`;
 *
 * each of them also without `agent:<id>:`. A key with a group, a channel or the like anywhere in it is a group, a job or
 * a subagent below one included. So is every other key: one that cannot be understood may be a group of a channel that
 * is not known here, and `global` is all sessions in one.
 *
 * Throws `INVALID_ARGUMENT` for a key that names another agent. Agents are compared without regard to case, as the
 * configuration does.
 */
export function sessionKindOf(sessionKey: string | undefined, agentId: string): SessionKind {
  if (sessionKey === undefined) return "main";
  const parts = sessionKey.trim().toLowerCase().split(":");
  const owner = parts[0] === "agent" ? parts[1] : undefined;
  if (owner !== undefined && owner !== agentId.toLowerCase()) {
    throw new MemoryError(
      "INVALID_ARGUMENT",
      `sessionKey ${JSON.stringify(sessionKey)} belongs to agent "${owner}", this is the memory of agent "${agentId}"`,
    );
  }
  return kindOf((owner === undefined ? parts : parts.slice(2)).map((part) => part.normalize("NFKC")));
}

function kindOf(parts: readonly string[]): SessionKind {
  if (parts.some((part) => part.trim() === "" || sharedParts.has(part) || sharedPart.test(part))) return "group";
  const [first = "", ...rest] = parts;
  if (first === "main") return rest.length === 0 || isSuffix(rest) ? "main" : "group";
  if (ownKinds.has(first)) return rest.length > 0 ? "other" : "group";
  // Before it at most the channel and the account; behind it the peer, whose id may hold colons.
  const direct = parts.findIndex((part) => part === "direct" || part === "dm");
  return direct >= 0 && direct <= 2 && parts.length > direct + 1 ? "main" : "group";
}

function isSuffix([kind = "", ...rest]: readonly string[]): boolean {
  if (kind === "heartbeat") return rest.length === 0;
  return suffixKinds.has(kind) && rest.length > 0;
}
