import { rm } from "node:fs/promises";
import { type ManagerReadParams, type MemoryReadResult, type MemorySearchSettings } from "@memslot/core";
import { readClientWindow } from "./read-window.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { redactCopies } from "../secrets/redact-copies.ts";
import { redactionVersion } from "../secrets/redact-secrets.ts";
import { notReadable } from "../files/read-file.ts";
import type { ScannedFile } from "../files/scan.ts";
import { readTranscript } from "./read-transcript.ts";
import { scanTranscripts } from "./scan-transcripts.ts";
import { sessionsFolder } from "./sessions-folder.ts";
import { parseCursor } from "./cursor.ts";
import { createTranscriptHolds } from "./transcript-holds.ts";
import { wordsVersion } from "../text/words.ts";
import { readRecord } from "./record.ts";
import { journalFile, journalFolder } from "./journal-folder.ts";
import { createTranscriptCover } from "./transcript-cover.ts";

/** Part of the recipe: raise it when the same file gives other chunks. */
const journalVersion = 2;

/**
 * What the flush has kept of dropped messages, as a source of the index: `agents/<agentId>/journal/*.jsonl` below the
 * state folder, read as transcripts are. A file whose messages all stand in an indexed transcript is left out, so that
 * nothing is found twice; once the flush does not ask to keep it any longer, it goes.
 */
export function createJournalSource(input: {
  stateDir: string;
  agentId: string;
  settings: Pick<MemorySearchSettings, "chunking" | "sources">;
  /** True where nothing on disk may be changed. */
  lookOnly: boolean;
}): IndexedSource {
  const folder = journalFolder(input);
  const { tokens } = input.settings.chunking;
  const recipe = `journal${journalVersion}:${tokens} words${wordsVersion} redaction${redactionVersion}`;
  const isReadOnly = input.lookOnly;
  let areClean = isReadOnly;
  const cover = createTranscriptCover(sessionsFolder(input));
  return {
    source: "journal",
    recipe,
    async scan(signal, indexed, look) {
      areClean ||= await redactCopies(folder, `${folder}.rules`);
      const scan = await scanTranscripts({ folder, label: "journal" }, signal, look);
      // Nobody has to have dropped anything.
      const roots = scan.roots.filter(({ path, reason }) => path !== "journal" || reason !== "does not exist");
      if (scan.files.length === 0) return { ...scan, roots };
      // Where transcripts are no source any more, what the index holds of them goes with this sync.
      const transcripts = input.settings.sources.includes("sessions") ? (await indexed()).get("sessions") : undefined;
      const files: ScannedFile[] = [];
      for (const file of scan.files) {
        signal.throwIfAborted();
        const { isCovered, keptUntilMs } = await cover(file, transcripts);
        if (!isCovered) files.push(file);
        else if (!isReadOnly && keptUntilMs < Date.now())
          await rm(file.absolutePath, { force: true }).catch(() => undefined); // Another time, then.
      }
      return {
        ...scan,
        files,
        roots: roots.map((root) =>
          root.path === "journal" && root.state === "indexed" ? { ...root, files: files.length } : root,
        ),
      };
    },
    stampOf: (stored) => parseCursor(stored.cursor)?.stamp,
    holds: createTranscriptHolds({ folder, label: "journal", tokens }),
    read: async (file, stored, signal) =>
      await readTranscript({ file, stored, source: "journal", recipe, tokens, signal }),
  };
}

/** Whether a path is one that a result from the journal has. */
export function isJournalPath(relPath: string): boolean {
  return /^(?:\.\/)?journal\/[^/]+\.jsonl$/.test(relPath);
}

/**
 * Reads a window of a file of the journal: a line for each of its lines, as it is searched, without secrets. Refuses
 * where others read along.
 */
export async function readJournal(params: ManagerReadParams, folder: string): Promise<MemoryReadResult> {
  const { relPath } = params;
  if (params.audience === "shared") throw notReadable(relPath, " in a session that others read: it is private.");
  const file = journalFile(folder, relPath);
  const shown = relPath.replace(/^\.\//, "");
  if (file === undefined) return { status: "not_found", text: "", path: shown };
  return await readClientWindow(
    { file: { path: shown, absolutePath: file, kind: "lines" }, recordOf: readRecord },
    params,
  );
}
