import path from "node:path";
import { entriesOf } from "../quiet-look.ts";
import { folderRules, unlessUnreadable } from "./folder-rules.ts";
import { isMarkdown } from "./markdown-name.ts";

/** Names that are looked at. A folder with more of them is taken for one that holds notes. */
const mostNames = 20_000;

/** What agents and their hosts put beside MEMORY.md, in lower case: a folder of these alone is no folder of notes. */
const agentFiles: ReadonlySet<string> = new Set(
  "agents.md bootstrap.md claude.md gemini.md heartbeat.md identity.md memory.md soul.md tools.md user.md".split(" "),
);

/** Whether a folder would be one of notes that somebody keeps: there is Markdown in it that no rule leaves out. */
export function holdsNotes(folder: string): boolean {
  const folders = [{ path: folder, enter: () => folderRules({ folder }) }];
  let names = 0;
  for (let next = folders.shift(); next !== undefined; next = folders.shift()) {
    const here = next.path;
    const rules = unlessUnreadable(next.enter);
    if (rules === undefined) continue;
    for (const entry of entriesOf(here)) {
      if (++names > mostNames) return true;
      const isFolder = entry.isDirectory();
      if (!isFolder && !(entry.isFile() && isMarkdown(entry.name))) continue;
      if (here === folder && agentFiles.has(entry.name.toLowerCase())) continue;
      if (rules.leavesOut(entry.name, isFolder) !== undefined) continue;
      if (!isFolder) return true;
      folders.push({ path: path.join(here, entry.name), enter: () => rules.enter(entry.name) });
    }
  }
  return false;
}
