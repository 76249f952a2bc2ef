import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { root } from "../support/markdown-examples.ts";
import { type CommandRun, plainEnvironment, tryCommand } from "../support/run-command.ts";

/** Where the programs stand. */
export const examplesFolder: string = path.join(root, "docs/examples");

/** A reader's own folder: notes, and a home with nothing in it. */
export interface Place {
  readonly folder: string;
  readonly notes: string;
  /** Runs a program of `docs/examples` from its sources, in this folder, to its end. */
  run(
    program: string,
    args: readonly string[],
    env?: NodeJS.ProcessEnv,
    flags?: readonly string[],
  ): Promise<CommandRun>;
}

/** Deleted with the test. `files` go below the notes. */
export function createPlace(files: Readonly<Record<string, string>>): Place {
  const folder = realpathSync.native(mkdtempSync(path.join(os.tmpdir(), "memslot-doc-example-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const notes = path.join(folder, "notes");
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(notes, name)), { recursive: true });
    writeFileSync(path.join(notes, name), text);
  }
  return {
    folder,
    notes,
    run: (program, args, env = {}, flags = []) =>
      tryCommand(
        process.execPath,
        ["--conditions=@memslot/source", ...flags, path.join(examplesFolder, program), ...args],
        { cwd: folder, env: { ...plainEnvironment(), HOME: folder, USERPROFILE: folder, ...env } },
      ),
  };
}
