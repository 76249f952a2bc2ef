import type { Memory } from "@memslot/core";
import type { ChatType, CitationsMode } from "../citations.ts";

/** The options of `createMemoryTools` with every default filled in. */
export interface ToolSetting {
  /** Memory, or why it could not be opened. */
  readonly opened: { readonly memory: Memory } | { readonly error: unknown };
  readonly citations: CitationsMode;
  readonly chatType: ChatType;
  /** The session that asks; a group's where the host says that it is a group. */
  readonly sessionKey: string | undefined;
  /** True where others than the owner read along. */
  readonly shared: boolean;
  readonly deadlineMs: number;
  /** How long a search that failed is left alone. */
  readonly cooldownMs: number;
  readonly now: () => number;
}
