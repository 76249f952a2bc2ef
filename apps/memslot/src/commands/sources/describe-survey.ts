import type { ClientSurvey } from "@memslot/indexing";
import { homeDir } from "@memslot/core/host";
import path from "node:path";
import { byteSize } from "../../format/byte-size.ts";
import { counted } from "../../open/report-failed-files.ts";
import { printable } from "../../terminal/printable.ts";

export function describeSurvey({ conversations, inProject, projects, notes, bytes }: ClientSurvey): string {
  if (conversations + notes === 0) return "none";
  const where = projects === 0 ? "" : ` in ${counted(projects, "folder")}`;
  const own = inProject === 0 ? "" : `, ${inProject} of this project`;
  const kept = notes === 0 ? "" : `, ${counted(notes, "note")}`;
  return `${counted(conversations, "conversation")}${where}${own}${kept}, ${byteSize(bytes)}`;
}

export function describeFolders({ folders }: ClientSurvey, env: NodeJS.ProcessEnv): string {
  const home = homeDir(env);
  const shown = folders.map((folder) => {
    const way = path.relative(home, folder);
    return way.startsWith("..") || path.isAbsolute(way) ? folder : path.join("~", way);
  });
  return printable(shown.join(", "));
}
