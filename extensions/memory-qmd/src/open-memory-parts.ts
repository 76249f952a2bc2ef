import type { QmdOptions } from "./options.ts";
import type { FoundQmd } from "./process/find-qmd.ts";
import type { QmdClient } from "./process/qmd-client.ts";
import type { SemanticMode } from "./search/semantic-mode.ts";
import type { QmdRecord } from "./update/indexed-files.ts";
import type { SessionExport } from "./update/session-export.ts";
import type { Updates } from "./update/schedule-updates.ts";

/** The parts of an open memory. */
export interface QmdContext {
  options: QmdOptions;
  found: FoundQmd;
  folder: string;
  workspaceDir: string;
  client: QmdClient;
  record: QmdRecord;
  sessions: SessionExport;
  updates: Updates;
  semantic: SemanticMode;
}
