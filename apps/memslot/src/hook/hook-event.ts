import type { ConversationMessage } from "@memslot/agent-kit";
import type { ClientId } from "../connect/client.ts";

/** What happens in an agent, by whatever name its maker gives it. */
export type HookMoment = "start" | "prompt" | "compact" | "turn-end" | "end";

/** One event of an agent, as `memslot hook` understands it. */
export interface HookEvent {
  /** Who sent it: Cursor and VS Code also run hooks that were written for Claude Code. */
  readonly client: ClientId;
  /** Whose answer it understands. */
  readonly shape: ClientId;
  readonly moment: HookMoment;
  /** The client's own name of the event, for its answer. */
  readonly name: string;
  readonly sessionId: string;
  /** The same turn has the same one; undefined where the client gives none. */
  readonly turnId?: string | undefined;
  /** The folder that the agent works in. */
  readonly cwd?: string | undefined;
  /** Why a session starts: `startup`, `resume`, `clear`, `compact`. */
  readonly source?: string | undefined;
  readonly prompt?: string | undefined;
  readonly transcript?: string | undefined;
  /** What was said, where the client tells it with the event. */
  readonly messages: readonly ConversationMessage[];
}
