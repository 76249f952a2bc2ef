import type { AgentConfig, Memory, MemslotConfig } from "@memslot/core";

/** What the page is about: one agent's memory, open, and how it was set up. */
export interface UiHost {
  readonly memory: Memory;
  readonly config: MemslotConfig;
  readonly agent: AgentConfig;
  /** Nothing is written: no note, no setting. */
  readonly readOnly: boolean;
  /** Of the command that serves the page. */
  readonly version: string;
  /** Opens the same memory with other settings, to look at only. The caller closes it. */
  readonly openWith: (other: OtherSettings) => Promise<Memory>;
}

/** What a search can be compared with; what is left out stays as it is set. */
export interface OtherSettings {
  hybrid?: { vectorWeight: number; textWeight: number } | undefined;
  /** The id of a memory plugin. */
  backend?: string | undefined;
}
