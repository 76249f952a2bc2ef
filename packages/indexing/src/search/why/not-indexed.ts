import { stat } from "node:fs/promises";
import path from "node:path";
import { type MemoryPluginContext, messageOf, type SyncFailure, type WhyRung } from "@memslot/core";
import { codeOf, notesLayout } from "@memslot/core/files";
import { ignoredFolders, isMarkdown } from "../../scan/folder-rules.ts";

/** What the last scan of a source reported about files. */
interface ScanReport {
  excluded: readonly SyncFailure[];
  accepted: readonly string[];
  issues: readonly string[];
}

export type ScanReports = ReadonlyMap<string, ScanReport>;

/** As the index writes it: relative to the workspace, with `/`. */
export function pathInIndex(given: string, workspaceDir: string): string {
  const relative = path.relative(workspaceDir, path.resolve(workspaceDir, given));
  return relative === "" ? given : relative.split(path.sep).join("/");
}

/** Why a note of the workspace is not in the index: it is not there, it is left out, or it was not taken yet. */
export async function whyNotIndexed(
  file: string,
  { workspaceDir, settings }: MemoryPluginContext,
  sources: ScanReports,
): Promise<Pick<WhyRung, "says"> & { step: "file" | "indexed"; act?: string | undefined }> {
  const absolute = path.resolve(workspaceDir, file);
  const inside = path.relative(workspaceDir, absolute);
  const noNote = (says: string, act?: string): { step: "file"; says: string; act?: string | undefined } => {
    return { step: "file", says, act };
  };
  if (inside.startsWith("..") || path.isAbsolute(inside))
    return noNote(`${file} is outside of the workspace`, "Name its folder in extraPaths.");
  const problem = problemWith(file, sources);
  if (problem !== undefined)
    return { step: "indexed", says: `it could not be indexed: ${problem}`, act: "Repair the file, then sync." };
  try {
    const facts = await stat(absolute);
    if (!facts.isFile()) return noNote(`${file} is not a file`, "Name a note.");
  } catch (error) {
    if (codeOf(error) !== "ENOENT") return noNote(`${file} cannot be read: ${messageOf(error)}`);
    return noNote(`there is no file ${file}`, "Look at the spelling of its path, which is relative to the workspace.");
  }
  if (!isMarkdown(file)) return noNote(`${file} is no Markdown, and only Markdown is searched`);
  const folders = inside.split(path.sep).slice(0, -1);
  const ignored = folders.find((name) => name.startsWith(".") || ignoredFolders.has(name));
  if (ignored !== undefined) return noNote(`the folder ${ignored} is left out`, "Move the note out of it.");
  const { layout } = notesLayout(workspaceDir, settings.notes);
  if (layout !== "all" && !/^(?:memory\/|(?:MEMORY|memory|USER)\.md$)/u.test(inside.split(path.sep).join("/")))
    return noNote(
      `${file} is not searched: of this workspace only MEMORY.md, USER.md, memory/ and extraPaths are`,
      `Add ${JSON.stringify(folders[0] ?? inside)} to memorySearch.extraPaths.`,
    );
  return {
    step: "indexed",
    says: "it is not indexed yet, it has no text, or a rule of .gitignore leaves it out",
    act: "Sync, then ask again.",
  };
}

/** What the last scan reported about a file. */
export function problemWith(file: string, sources: ScanReports): string | undefined {
  for (const { excluded, accepted, issues } of sources.values()) {
    if (accepted.some((each) => each === file || file.startsWith(`${each}/`))) return "memorySearch.exclude names it";
    const failure = excluded.find((each) => each.path === file);
    if (failure !== undefined) return failure.reason;
    const issue = issues.find((each) => each.includes(file));
    if (issue !== undefined) return issue;
  }
  return undefined;
}
