import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import data from "../data/examples.json" with { type: "json" };
import { root } from "./repository.ts";
import { plainEnvironment, tryCommand } from "./run-command.ts";

/** Pages whose `console` samples are what the command prints. */
export const sampledPages: readonly string[] = ["README.md", "README.zh-CN.md", "apps/memslot/README.md"];

/** The page with the real output below each `$ memslot memory …` of its `console` blocks, on the notes of examples.json. */
export async function withSampleOutput(page: string): Promise<string> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "memslot-sample-")));
  try {
    mkdirSync(path.join(folder, "notes/memory"), { recursive: true });
    for (const [name, text] of Object.entries(data.sampleNotes)) writeFileSync(path.join(folder, "notes", name), text);
    const env = { ...plainEnvironment(), HOME: folder, USERPROFILE: folder };
    const cli = path.join(root, "apps/memslot/src/cli.ts");
    writeFileSync(
      path.join(folder, "memslot"),
      `#!/bin/sh\nexec "${process.execPath}" --conditions=@memslot/source "${cli}" "$@"\n`,
      { mode: 0o755 },
    );
    const outputs = new Map<string, string>();
    for (const [, line = ""] of page.matchAll(/^\$ (memslot memory .+)$/gmu)) {
      const PATH = `${folder}${path.delimiter}${process.env["PATH"]}`;
      const { stdout } = await tryCommand("sh", ["-c", line], { cwd: folder, env: { ...env, PATH } });
      outputs.set(line, stdout.trimEnd());
    }
    return page.replaceAll(/^```console\n(?=\$ memslot memory )[^]*?^```$/gmu, (block) => {
      const lines = [...block.matchAll(/^\$ (.+)$/gmu)].map(([, line = ""]) => `$ ${line}\n${outputs.get(line)}`);
      return `\`\`\`console\n${lines.join("\n\n")}\n\`\`\``;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
