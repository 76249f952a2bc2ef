import type { MemorySurvey, UnsearchedFiles } from "@memslot/core";
import { type DoctorCheck, passed, warned } from "../doctor/doctor-check.ts";
import { counted, describeFailure } from "../open/report-failed-files.ts";

/** How many Markdown files no search looks at, and what takes them in; undefined where there are none. */
export function describeUnsearched({ files, more, folders }: UnsearchedFiles): string | undefined {
  if (files === 0) return undefined;
  const where = folders.length === 0 ? "" : ` (in ${folders.join(", ")}${more ? ", …" : ""})`;
  const count = `${more ? "more than " : ""}${counted(files, "Markdown file")}`;
  return `${count} below the workspace${where}: memorySearch.notes: "all" takes them in`;
}

/** One line for each file or folder of the memory that cannot be read. */
export function describeUnread({ unread }: MemorySurvey): string[] {
  return unread.map(describeFailure);
}

/** What the files hold and no search finds, as checks of `memslot doctor`. `indexed`: files that searches look at. */
export function checkSurvey(survey: MemorySurvey | undefined, indexed: number): DoctorCheck[] {
  if (survey === undefined) return [];
  const unread = describeUnread(survey);
  const files =
    unread.length === 0
      ? passed("files", "all notes can be read")
      : warned(
          "files",
          `${counted(unread.length, "file or folder", "files or folders")} cannot be read: ${unread.slice(0, 3).join("; ")}`,
          "Make them readable for this user; memslot memory status lists all.",
        );
  const unsearched = describeUnsearched(survey.unsearched);
  if (unsearched === undefined) return [files];
  // A project with a README or two is nothing to warn of; a vault whose notes lie elsewhere is.
  const many = survey.unsearched.files > indexed;
  const next =
    'Set memorySearch.notes to "all", or name folders in memorySearch.extraPaths (relative paths start at the file that names them), then run memslot memory index.';
  return [files, many ? warned("unsearched", unsearched, next) : passed("unsearched", unsearched)];
}
