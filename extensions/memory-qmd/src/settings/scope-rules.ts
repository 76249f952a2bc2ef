/** `memory.qmd.scope`: which sessions may search. */
export interface ScopeSettings {
  default: "allow" | "deny";
  rules: readonly ScopeRule[];
}

interface ScopeRule {
  action: "allow" | "deny";
  /** All that is written has to fit; nothing written fits every session. */
  match?:
    | {
        channel?: string | undefined;
        chatType?: "direct" | "group" | "channel" | undefined;
        keyPrefix?: string | undefined;
        rawKeyPrefix?: string | undefined;
      }
    | undefined;
}

interface SessionFacts {
  channel: string | undefined;
  chatType: "direct" | "group" | "channel";
  key: string;
  rawKey: string;
}

/**
 * Whether a session may search. The owner without a session key, at a terminal, may. A subagent fits no rule, so that
 * the default holds for it. Without any settings every session may: what it may see is decided elsewhere.
 */
export function maySearch(settings: ScopeSettings | undefined, sessionKey: string | undefined): boolean {
  if (settings === undefined || sessionKey === undefined) return true;
  const facts = factsOf(sessionKey);
  if (/(?:^|:)subagent:/.test(facts.key)) return settings.default === "allow";
  const rule = settings.rules.find(({ match = {} }) => fits(match, facts));
  return (rule?.action ?? settings.default) === "allow";
}

function fits(match: NonNullable<ScopeRule["match"]>, facts: SessionFacts): boolean {
  const { channel, chatType, keyPrefix, rawKeyPrefix } = match;
  if (channel !== undefined && channel.trim().toLowerCase() !== facts.channel) return false;
  if (chatType !== undefined && chatType !== facts.chatType) return false;
  if (keyPrefix !== undefined && !facts.key.startsWith(keyPrefix.trim().toLowerCase())) return false;
  return rawKeyPrefix === undefined || facts.rawKey.startsWith(rawKeyPrefix.trim().toLowerCase());
}

/** `agent:<id>:<channel>:<direct | group | channel>:<peer>`, with or without the agent. A main session is a direct one. */
function factsOf(sessionKey: string): SessionFacts {
  const rawKey = sessionKey.trim().toLowerCase();
  const key = rawKey.replace(/^agent:[^:]*:/, "");
  const parts = key.split(":");
  const kind = parts.find((part) => part === "group" || part === "channel");
  const chatType = kind === "group" || kind === "channel" ? kind : "direct";
  return { channel: parts.length > 1 ? parts[0] : undefined, chatType, key, rawKey };
}
