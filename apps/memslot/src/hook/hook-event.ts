import type { ConversationMessage } from "@memslot/agent-kit";
import type { ClientId } from "@memslot/core";
import type { HookMoment } from "@memslot/indexing/host";

/** When a hook adds notes to a prompt: never, on a strong match, or for every match. */
export type RecallMode = "off" | "strong" | "always";

/** One event of an agent. */
export interface HookEvent {
  /** The sender: Cursor and VS Code also run hooks that were written for Claude Code. */
  readonly client: ClientId;
  /** The agent whose answer format the sender reads. */
  readonly shape: ClientId;
  readonly moment: HookMoment;
  readonly name: string;
  readonly sessionId: string;
  /** Identifies the turn; undefined if the agent does not send an id. */
  readonly turnId?: string | undefined;
  readonly cwd?: string | undefined;
  /** Why a session starts: `startup`, `resume`, `clear`, `compact`. */
  readonly source?: string | undefined;
  readonly prompt?: string | undefined;
  /** The transcript file, absolute. */
  readonly transcript?: string | undefined;
  /** The messages that the agent sends with the event. */
  readonly messages: readonly ConversationMessage[];
}
