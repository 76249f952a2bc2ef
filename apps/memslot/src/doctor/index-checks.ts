import { type Memory, MemoryError, isAbort, messageOf } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { type DoctorCheck, failed, passed, warned } from "./doctor-check.ts";
import { describeWriter } from "../format/format-writer.ts";
import { counted } from "../open/report-failed-files.ts";
import { syncWithProgress } from "../open/sync-with-progress.ts";

/** Brings the index up to date, as `memslot memory index` does. Another process that is at work is no fault. */
export async function checkSync(context: CommandContext, memory: Memory): Promise<DoctorCheck> {
  const name = "sync";
  try {
    const report = await syncWithProgress(context, memory, { what: "indexing" });
    const { files = 0, chunks = 0 } = memory.status();
    const indexed = `${counted(files, "file")}, ${counted(chunks, "chunk")}`;
    if (report === undefined) return passed(name, "the backend keeps no index of its own");
    if (report.failed.length > 0)
      return warned(
        name,
        `${indexed}; ${counted(report.failed.length, "file")} failed`,
        "Run memslot memory index: it names them.",
      );
    if (report.pendingVectors !== undefined)
      return warned(
        name,
        `${indexed}; ${counted(report.pendingVectors.chunks, "chunk")} without a vector: ${report.pendingVectors.reason}`,
      );
    return files === 0 ? passed(name, "no notes yet") : passed(name, indexed);
  } catch (error) {
    if (isAbort(error)) throw error;
    if (MemoryError.is(error, "BUSY"))
      return warned(name, messageOf(error), "Run memslot doctor again when it is done.");
    return failed(name, messageOf(error));
  }
}

/** Compares the parts of the index with each other; changes nothing. */
export async function checkIndex(memory: Memory, signal: AbortSignal): Promise<DoctorCheck> {
  const name = "index";
  try {
    const check = await memory.check({ signal });
    if (check === undefined || check.findings.length === 0)
      return passed(name, "not checked: this backend cannot tell");
    const wrong = check.findings.filter(({ ok }) => !ok);
    if (check.ok)
      return passed(name, check.findings.map((finding) => `${finding.name}: ${finding.message}`).join("; "));
    return failed(
      name,
      wrong.map((finding) => `${finding.name}: ${finding.message}`).join("; ") || "no reason given",
      "Run memslot memory status --fix: it mends the index from what it holds.",
    );
  } catch (error) {
    if (isAbort(error)) throw error;
    return failed(name, messageOf(error));
  }
}

/** Who has the right to write for long; nobody, as a rule. */
export function checkWriter(memory: Memory): DoctorCheck {
  const { writer } = memory.status();
  return passed("writer", writer === undefined ? "nobody is known to be at work on the index" : describeWriter(writer));
}
