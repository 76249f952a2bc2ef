import type { AskQmd } from "./ask/ask-qmd.ts";
import type { Meaning } from "./ask/meaning.ts";
import type { QmdOptions } from "./settings/options.ts";
import type { FoundQmd, QmdProcess } from "./qmd-contract.ts";
import type { QmdRecord } from "./update/qmd-record.ts";
import type { SessionExport } from "./update/session-export.ts";
import type { Updates } from "./update/updates.ts";

/** What searches, checks and the status of an open memory work with. */
export interface QmdContext {
  options: QmdOptions;
  found: FoundQmd;
  /** The state folder of this memory, which qmd has its index in. */
  folder: string;
  workspaceDir: string;
  process: QmdProcess;
  record: QmdRecord;
  sessions: SessionExport;
  updates: Updates;
  meaning: Meaning;
  ask: AskQmd;
}
