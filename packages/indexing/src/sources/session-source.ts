import type { MemorySearchSettings } from "@memslot/core";
import type { IndexedSource } from "../indexed-source.ts";
import { redactionVersion } from "../secrets/redact-secrets.ts";
import { wordsVersion } from "../text/words.ts";
import { readTranscript } from "./read-transcript.ts";
import { scanTranscripts } from "./scan-transcripts.ts";
import { createSessionLookup } from "./session-lookup.ts";
import { sessionsFolder } from "./sessions-folder.ts";
import { parseCursor, passedOverIn } from "./cursor.ts";
import { createTranscriptHolds } from "./transcript-holds.ts";
import { createTranscriptDue } from "./transcript-due.ts";

/** Part of the recipe: raise it when the same transcript gives other chunks. */
const transcriptVersion = 2;

/**
 * The transcripts of an agent as a source of the index: `agents/<agentId>/sessions/*.jsonl` below the state folder.
 * What user and assistant said is kept, without secrets; lines are those of the JSONL file. A transcript is read on
 * from where it ended last time. Throws `INVALID_ARGUMENT` for an agent id that is no plain folder name.
 */
export function createSessionSource(input: {
  stateDir: string;
  agentId: string;
  settings: MemorySearchSettings;
}): IndexedSource {
  const folder = sessionsFolder(input);
  const { tokens } = input.settings.chunking;
  const recipe = `transcripts${transcriptVersion}:${tokens} words${wordsVersion} redaction${redactionVersion}`;
  return {
    source: "sessions",
    recipe,
    scan: async (signal, _, look) => await scanTranscripts({ folder, label: "sessions" }, signal, look),
    issueOf: (stored) => passedOverIn(parseCursor(stored.cursor)),
    stampOf: (stored) => parseCursor(stored.cursor)?.stamp,
    holds: createTranscriptHolds({ folder, label: "sessions", tokens }),
    isDue: createTranscriptDue({ settings: input.settings, recipe, lookup: createSessionLookup(input) }),
    read: async (file, stored, signal) =>
      await readTranscript({ file, stored, source: "sessions", recipe, tokens, signal }),
  };
}
