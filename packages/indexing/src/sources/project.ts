import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { entriesOf, realPathOf } from "../scan/file-state.ts";

/** Stands for every folder: what a program remembers for all projects. */
export const everywhere = "*";

/** So many folders are looked into for those whose path a name may stand for. */
const mostLooks = 2_000;

/** The Git repository that a folder is in, or else the folder itself. */
function projectRoot(folder: string): string {
  for (let at = folder; ; at = path.dirname(at)) {
    if (existsSync(path.join(at, ".git"))) return at;
    if (path.dirname(at) === at) return folder;
  }
}

/**
 * Whether something that was had in a folder belongs to the project of another one. A program may not write down its folder,
 * but `sha256:…` of the path, or `slug:…`, where all signs of the path are dashes: that is only believed where one folder of
 * this machine can be meant. Of a folder that is gone nobody can say which repository it was in: it is a project of its own.
 */
export function createProjectMatch(projectDir: string): (folder: string | undefined) => boolean {
  const own = path.resolve(projectDir);
  const places = new Set([own, realPathOf(own) ?? own].flatMap((place) => [place, projectRoot(place)]));
  const roots = new Set([...places].map(projectRoot));
  const known = new Map<string, boolean>();

  function matches(folder: string): boolean {
    if (folder.startsWith("sha256:")) return [...places].some((place) => folder.slice(7) === sha256(place));
    if (folder.startsWith("slug:")) {
      const [only, another] = foldersOf(folder.slice(5));
      return only !== undefined && another === undefined && roots.has(projectRoot(only));
    }
    // Of another system, or of a place that nobody knows.
    if (!path.isAbsolute(folder)) return false;
    const place = path.resolve(folder);
    if (!existsSync(place)) return places.has(place);
    return roots.has(projectRoot(place)) || roots.has(projectRoot(realPathOf(place) ?? place));
  }

  return (folder) => {
    if (folder === undefined) return false;
    if (folder === everywhere) return true;
    let answer = known.get(folder);
    if (answer === undefined) known.set(folder, (answer = matches(folder)));
    return answer;
  };
}

/** The folders that are there and whose path a name may stand for; two at most. */
function foldersOf(slug: string): string[] {
  const found: string[] = [];
  let looks = 0;
  const { root } = path.parse(process.cwd());
  look(root, slug.replace(/^-/u, ""));
  // Where the look was ended there may be another one.
  return looks > mostLooks ? [] : found;

  function look(folder: string, rest: string): void {
    if (found.length > 1 || ++looks > mostLooks) return;
    for (const { name } of entriesOf(folder).filter((entry) => entry.isDirectory())) {
      const own = name.replaceAll(/[^a-zA-Z0-9]/g, "-");
      if (own === rest) found.push(path.join(folder, name));
      else if (rest.startsWith(`${own}-`)) look(path.join(folder, name), rest.slice(own.length + 1));
    }
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
