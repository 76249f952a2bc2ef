import type { Dirent } from "node:fs";
import path from "node:path";
import { isObject, readJson, type TranscriptRecord, type RecordReader } from "../record.ts";
import type { Client, ClientFinding } from "./agent-finding.ts";
import { clientRecord, objectAt, textAt } from "./agent-lines.ts";
import { everywhere } from "./project.ts";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import { openForReading } from "../../files/file-kind.ts";
import { linesOf } from "../lines.ts";
import type { ClientFile } from "./agent.ts";

const deepest = 3;

/**
 * `sessions/YYYY/MM/DD/rollout-….jsonl`, `archived_sessions`, and both compressed once nobody has gone on for a while: under
 * its name a session is the same wherever it lies. `memories/*.md` are for all projects.
 */
export const codex: Client = {
  source: "codex",
  name: "Codex",
  recordOf,
  async find(finding, folders) {
    for (const folder of folders) {
      for (const name of ["sessions", "archived_sessions"]) await findSessions(finding, path.join(folder, name), 0);
      await finding.takeNotes(path.join(folder, "memories"), "memories/", everywhere);
    }
  },
};

function recordOf(line: Buffer): TranscriptRecord {
  return readJson(line, (record) => clientRecord(record, "codex", folderIn(record)));
}

function folderIn(line: Record<string, unknown>): string | undefined {
  const { type } = line;
  // A helper's is of no project, so that it is not found as somebody's own words.
  if (isObject(objectAt(line, "payload")?.["source"])) return undefined;
  return type === "session_meta" || type === "turn_context" ? textAt(objectAt(line, "payload"), "cwd") : undefined;
}

async function findSessions(finding: ClientFinding, folder: string, depth: number): Promise<void> {
  const entries = await finding.list(folder);
  // Before the compressed one, which goes when a session is gone on with.
  for (const { name } of entries.filter(isPlain)) await finding.take(name, path.join(folder, name), { kind: "lines" });
  for (const { name } of entries)
    if (/\.jsonl\.zst$/iu.test(name)) {
      const file = path.join(folder, name);
      const records = recordsOfZstd(file, recordOf);
      await finding.take(name.slice(0, -".zst".length), file, { kind: "whole", records });
    }
  for (const entry of entries)
    if (entry.isDirectory() && depth < deepest) await findSessions(finding, path.join(folder, entry.name), depth + 1);
}

function isPlain({ name }: Dirent): boolean {
  return /\.jsonl$/iu.test(name);
}

/** Reads a compressed transcript line by line. One line and one block of it are held at a time. */
function recordsOfZstd(file: string, recordOf: RecordReader): NonNullable<ClientFile["records"]> {
  return async function* records(signal) {
    const handle = await open(file, openForReading);
    const stream = pipeline(
      handle.createReadStream({ signal }),
      createZstdDecompress(),
      // The reader of the stream gets the error.
      () => undefined,
    );
    let number = 0;
    for await (const lines of linesOf(stream))
      for (const { bytes } of lines) yield [++number, bytes === undefined ? { kind: "broken" } : recordOf(bytes)];
  };
}
