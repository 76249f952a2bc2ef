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
import { describeUnsearched } from "../format/format-survey.ts";
import { describeWriter } from "../format/format-writer.ts";
import { counted, otherIssues } from "../open/report-failed-files.ts";
import { leftOut } from "../open/scan-summary.ts";
import { syncWithProgress } from "../open/sync-with-progress.ts";
import { type DoctorCheck, failed, passed, warned } from "./doctor-check.ts";

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

/** What the files hold and no search finds, as checks of `memslot doctor`. */
export function checkSurvey(survey: MemorySurvey | undefined, status: MemoryProviderStatus): DoctorCheck[] {
  if (survey === undefined) return [passed("files", "not checked: this backend cannot tell")];
  const others = otherIssues(leftOut(status), survey.excluded.notes);
  const why = [describeExcluded(survey.excluded), ...others].filter(Boolean).join("; ");
  const files =
    survey.excluded.count + others.length === 0
      ? passed("files", ["all notes are searched", why].filter(Boolean).join("; "))
      : warned(
          "files",
          why,
          "Correct them or memorySearch.extraPaths, or name those that need not be searched in memorySearch.exclude; memslot memory status lists all.",
        );
  const unsearched = describeUnsearched(survey.unsearched);
  if (unsearched === undefined) return [files];
  // A project with a README or two is nothing to warn of; a vault whose notes lie elsewhere is.
  const many = survey.unsearched.files > (status.files ?? 0);
  const next =
    'Set memorySearch.notes to "all", or name folders in memorySearch.extraPaths (relative paths start at the file that names them), then run memslot memory index.';
  return [files, many ? warned("unsearched", unsearched, next) : passed("unsearched", unsearched)];
}
