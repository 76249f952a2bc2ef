import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { entriesOf, realPathOf } from "../scan/file-state.ts";

export const everywhere = "*";

const mostLooks = 2_000;

/** The Git repository of a folder, else the folder itself. */
function projectRoot(folder: string): string {
  for (let at = folder; ; at = path.dirname(at)) {
    if (existsSync(path.join(at, ".git"))) return at;
    if (path.dirname(at) === at) return folder;
  }
}

/** Whether a conversation in a folder belongs to the project of another folder. */
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
    // Of another system.
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

/** At most two existing folders that match a slug. */
function foldersOf(slug: string): string[] {
  const found: string[] = [];
  let looks = 0;
  const { root } = path.parse(process.cwd());
  look(root, slug.replace(/^-/u, ""));
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
