import type { Memory } from "@memslot/core";
import type { ChatType, CitationsMode } from "./citations.ts";

/** The options of `createMemoryTools` with every default filled in. */
export interface ToolSetting {
  readonly memory: Memory | undefined;
  readonly unavailable: { readonly error: unknown } | undefined;
  readonly citations: CitationsMode;
  readonly chatType: ChatType;
  readonly deadlineMs: number;
  readonly now: () => number;
}
