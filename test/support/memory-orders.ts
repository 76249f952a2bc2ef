import type { MemorySearchResult, SearchReport } from "memslot";

/** How a process with a memory in it is started. */
export interface MemoryProcessOptions {
  stateDir: string;
  workspaceDir: string;
  agentId?: string;
  memorySearch?: Record<string, unknown>;
  /** Beside `agents.defaults`: plugins, endpoints, other agents. */
  config?: Record<string, unknown>;
  /** The model of a provider that makes vectors from words alone; left out: no provider. */
  model?: string;
  /** Texts that it takes in one request; one request is on its way at a time. */
  batchItems?: number;
  /** Milliseconds that it takes for each request. */
  delayMs?: number;
  /** A file that gets each text that was embedded before its vector is handed out, see `embeddedTexts`. */
  embedLog?: string;
  lookOnly?: boolean;
}

/** What it can be told to do. */
export type Order =
  | { do: "open" }
  | { do: "sync"; reason?: string; force?: boolean; wait?: boolean }
  | { do: "search"; query: string; maxResults?: number; maxTokens?: number; sources?: string[] }
  | { do: "status" }
  | { do: "check"; fix?: boolean }
  /** Opens so many descriptors that no more than these are left, or closes them again where none is named. */
  | { do: "hold"; left?: number }
  | { do: "close" };

/** What it says: the answer to an order, or what the user was told. */
export type Answer =
  | { id: number; result: unknown }
  | { id: number; error: { message: string; code?: string } }
  | { notice: string };

export interface Found {
  results: MemorySearchResult[];
  report: SearchReport;
}
