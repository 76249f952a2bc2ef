import path from "node:path";
import { readJson } from "../record.ts";
import type { Client } from "./agent-finding.ts";
import { clientRecord } from "./agent-lines.ts";

/** `projects/<slug>/<session>.jsonl`, and beside them `memory/*.md`. What subagents did lies in folders of their own. */
export const claudeCode: Client = {
  source: "claude-code",
  name: "Claude Code",
  recordOf: (line) => readJson(line, (record) => clientRecord(record, "claude-code", record["cwd"])),
  async find(finding, folders) {
    for (const folder of folders) {
      const projects = path.join(folder, "projects");
      for (const project of await finding.list(projects)) {
        if (!project.isDirectory()) continue;
        const { name: slug } = project;
        const place = path.join(projects, slug);
        for (const { name } of await finding.list(place, `${slug}/`))
          if (/\.jsonl$/iu.test(name)) await finding.take(`${slug}/${name}`, path.join(place, name), { kind: "lines" });
        await finding.takeNotes(path.join(place, "memory"), `${slug}/memory/`, `slug:${slug}`);
      }
    }
  },
};
