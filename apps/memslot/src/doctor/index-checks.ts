import {
  type Memory,
  MemoryError,
  isAbort,
  messageOf,
  describeExcluded,
  type MemoryProviderStatus,
  type MemorySurvey,
} from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { describeUnsearched } from "../format/describe-excluded-notes.ts";
import { describeWriter } from "../format/describe-status.ts";
import { counted, otherIssues, leftOut } from "../open/scan-summary.ts";
import { syncWithProgress } from "../open/with-memory.ts";
import { type DoctorCheck, failed, passed, warned } from "./doctor-check.ts";

/** Updates the index, like `memslot memory index`. Another process that is writing to it is a warning, not a failure. */
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
        "Run memslot memory index to list them.",
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

/** Checks the consistency of the index without changing it. */
export async function checkIndex(memory: Memory, signal: AbortSignal): Promise<DoctorCheck> {
  const name = "index";
  try {
    const check = await memory.check({ signal });
    if (check === undefined || check.findings.length === 0)
      return passed(name, "not checked: not supported by this backend");
    const wrong = check.findings.filter(({ ok }) => !ok);
    if (check.ok)
      return passed(name, check.findings.map((finding) => `${finding.name}: ${finding.message}`).join("; "));
    return failed(
      name,
      wrong.map((finding) => `${finding.name}: ${finding.message}`).join("; ") || "no reason given",
      "Run memslot memory status --fix to repair the index.",
    );
  } catch (error) {
    if (isAbort(error)) throw error;
    return failed(name, messageOf(error));
  }
}

/** The process that holds the write lock, usually none. */
export function checkWriter(memory: Memory): DoctorCheck {
  const { writer } = memory.status();
  return passed("writer", writer === undefined ? "no process is writing to the index" : describeWriter(writer));
}

/** Notes that no search finds. */
export function checkSurvey(survey: MemorySurvey | undefined, status: MemoryProviderStatus): DoctorCheck[] {
  if (survey === undefined) return [passed("files", "not checked: not supported by this backend")];
  const others = otherIssues(leftOut(status), survey.excluded.notes);
  const why = [describeExcluded(survey.excluded), ...others].filter(Boolean).join("; ");
  const files =
    survey.excluded.count + others.length === 0
      ? passed("files", ["all notes are searched", why].filter(Boolean).join("; "))
      : warned(
          "files",
          why,
          "Correct the notes or memorySearch.extraPaths, or add them to memorySearch.exclude. memslot memory status lists all.",
        );
  const unsearched = describeUnsearched(survey.unsearched);
  if (unsearched === undefined) return [files];
  // A project with one README needs no warning; a vault whose notes are elsewhere does.
  const many = survey.unsearched.files > (status.files ?? 0);
  const next =
    'Set memorySearch.notes to "all", or name folders in memorySearch.extraPaths (relative to the configuration file), then run memslot memory index.';
  return [files, many ? warned("unsearched", unsearched, next) : passed("unsearched", unsearched)];
}
