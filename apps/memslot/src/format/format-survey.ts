import {
  describeExcluded,
  type HealthPart,
  type MemoryProviderStatus,
  type MemorySurvey,
  type UnsearchedFiles,
} from "@memslot/core";
import { leftOut } from "../open/scan-summary.ts";
import { type DoctorCheck, passed, warned } from "../doctor/doctor-check.ts";
import { counted, otherIssues } from "../open/report-failed-files.ts";

/** How many Markdown files no search looks at, and what takes them in; undefined where there are none. */
export function describeUnsearched({ files, more, folders }: UnsearchedFiles): string | undefined {
  if (files === 0) return undefined;
  const where = folders.length === 0 ? "" : ` (in ${folders.join(", ")}${more ? ", …" : ""})`;
  const count = `${more ? "more than " : ""}${counted(files, "Markdown file")}`;
  return `${count} below the workspace${where}: memorySearch.notes: "all" takes them in`;
}

/** The verdict on a memory in one line. */
export function describeHealth({ state, reason }: HealthPart): string {
  const word = { unknown: "no problem is known", empty: "no notes" }[String(state)] ?? state;
  return [word, reason].filter(Boolean).join(": ");
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
