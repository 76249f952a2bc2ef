// oxlint-disable vitest/no-standalone-expect -- the steps of scripts are the assertions of tests
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  type ChangePlace,
  type AppendNoteOptions,
  type LoggedChange,
  type MemoryCommands,
  type MemoryToolsOptions,
  appendNote,
  createMemoryCommands,
  createMemoryTools,
  listChanges,
  restoreNote,
  undoChange,
} from "@memslot/agent-kit";
import { createWorkspace, type Files } from "@memslot/test-tools/files";
import { expect } from "vitest";
import { fakeMemory, withPatterns } from "./fake-memory.ts";

const settings = { extraPaths: [], notes: "auto" as const };
const clock = (): Date => new Date("2026-11-22T12:00:00Z");
/** In parts, so that no scanner takes this repository for leaking. */
const token = `glwt-${"a1B2c3D4e5".repeat(2)}`;
const secrets = {
  "{token}": token,
  "{escaped}": token.replace("-", String.raw`\\-`),
  "{entity}": token.replace("-", "&#45;"),
  "{encoded}": token.replace("-", "%2D"),
  "{key}": `sk_live_${"a1B2c3D4".repeat(4)}`,
  "{github}": `ghp_${"a1B2c3".repeat(6)}`,
};

type Answer = Record<string, unknown>;
export type Step = [verb: keyof NoteScript["verbs"], ...given: never[]];

/** A workspace in which the steps of a data file are done, as an agent does them. */
export class NoteScript {
  readonly folder: string;
  readonly workspaceDir: string;
  readonly stateDir: string;

  constructor(files: Files = { "memory/.keep": "" }) {
    const workspace = createWorkspace(files);
    [this.folder, this.workspaceDir, this.stateDir] = [workspace.folder, workspace.workspaceDir, workspace.stateDir];
  }

  place(): ChangePlace {
    const { workspaceDir, stateDir } = this;
    return { workspaceDir, stateDir, settings, changer: { agentId: "main", by: "test" }, at: clock() };
  }

  write(text: string, relPath = "MEMORY.md"): void {
    mkdirSync(path.dirname(path.join(this.workspaceDir, relPath)), { recursive: true });
    writeFileSync(path.join(this.workspaceDir, relPath), text);
  }

  read(relPath = "MEMORY.md"): string {
    return readFileSync(path.join(this.workspaceDir, relPath), "utf8");
  }

  /** Names of the files in the trash. */
  trash(): string[] {
    const names = readdirSync(this.workspaceDir, { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.includes(".trash/")).map((name) => path.basename(name));
  }

  /** The texts of all notes by their paths. */
  notes(): Record<string, string> {
    const names = readdirSync(this.workspaceDir, { recursive: true, encoding: "utf8" }).toSorted();
    const own = names.filter((name) => name.endsWith(".md") && !name.includes(".trash"));
    return Object.fromEntries(own.map((name) => [name, this.read(name)]));
  }

  tools(options: Partial<MemoryToolsOptions> = {}): ReturnType<typeof createMemoryTools> {
    const { workspaceDir, stateDir } = this;
    const memory = fakeMemory({
      workspaceDir,
      readFile: async ({ path: name, relPath }) => {
        return { status: "ok", path: name ?? relPath, text: this.read(name ?? relPath), from: 1, lines: 9 };
      },
    });
    const edit = { stateDir, settings, timeZone: "UTC", clock };
    const append = { timeZone: "UTC", clock };
    return createMemoryTools({ memory, citations: "on", sessionKey: "agent:main:main", append, edit, ...options });
  }

  commands(sessionKey?: string): MemoryCommands {
    const { workspaceDir, stateDir } = this;
    const memory = { agentId: "main", workspaceDir, ownerAllowFrom: [] };
    return createMemoryCommands({ memory, sessionKey, edit: { stateDir, settings, timeZone: "UTC", clock } });
  }

  /** Calls a tool; `{hash}` in its input is the hash of the note. */
  async call(name: string, input: Answer): Promise<Answer> {
    const tool = this.tools().find((each) => each.name === name) ?? expect.fail(`no tool ${name}`);
    const hash = input["hash"] === "{hash}" ? await this.hash() : input["hash"];
    return { ...(await tool.execute({ ...input, ...(hash !== undefined && { hash }) })) };
  }

  async hash(relPath = "MEMORY.md"): Promise<string> {
    return String((await this.call("memory_get", { path: relPath }))["hash"]);
  }

  async changes(): Promise<readonly LoggedChange[]> {
    return await listChanges(this.place());
  }

  /** The id of the change of this number, from the first one on or, below zero, from the last one back. */
  async #id(number: number | string | null): Promise<string | undefined> {
    return typeof number === "number" ? (await this.changes()).at(number)?.id : (number ?? undefined);
  }

  readonly verbs = {
    write: async (text: string, relPath?: string): Promise<void> => this.write(text, relPath),
    delete: async (relPath: string): Promise<void> => rmSync(path.join(this.workspaceDir, relPath)),
    /** Appends a note with the usual text, on the usual day. */
    append: async (options: Partial<AppendNoteOptions>, expected: object): Promise<void> => {
      const { workspaceDir } = this;
      const at = new Date(options.at ?? "2026-11-22T13:05:00Z");
      const given = { text: "The harbour code is HX-19.", kind: "daily" as const, timeZone: "UTC", ...options };
      const appended = appendNote({ ...given, workspaceDir, at });
      if ("code" in expected) await expect(appended).rejects.toMatchObject(withPatterns(expected));
      else expect(await appended).toMatchObject(withPatterns(expected));
    },
    files: async (...names: string[]): Promise<void> =>
      expect(readdirSync(this.workspaceDir).toSorted()).toEqual(names),
    is: async (text: string, relPath?: string): Promise<void> => expect(this.read(relPath)).toBe(text),
    notes: async (texts: Answer): Promise<void> => expect(this.notes()).toEqual(texts),
    trash: async (count: number): Promise<void> => expect(this.trash()).toHaveLength(count),
    kept: async (...parts: string[]): Promise<void> => {
      for (const part of parts) expect(this.read(`memory/.trash/${this.trash()[0]}`)).toContain(part);
    },
    /** Calls that must all answer so. */
    call: async (name: string, expected: object, ...inputs: Answer[]): Promise<void> => {
      for (const input of inputs)
        expect(
          await this.call(name, name === "memory_append" ? input : { path: "MEMORY.md", hash: "{hash}", ...input }),
          JSON.stringify(input),
        ).toMatchObject(withPatterns(expected));
    },
    edit: (old: string, text: string, expected: object = { status: "ok" }, more: Answer = {}): Promise<void> =>
      this.verbs.call("memory_edit", expected, { old, new: text, ...more }),
    forget: (old: string, expected: object = { status: "ok" }, reason = "It was wrong."): Promise<void> =>
      this.verbs.call("memory_forget", expected, { old, reason }),
    undo: async (number: number | string | null = null, why?: string): Promise<void> => {
      const undone = undoChange(this.place(), await this.#id(number));
      if (why === undefined) await undone;
      else await expect(undone).rejects.toMatchObject(withPatterns({ code: "INVALID_ARGUMENT", message: why }));
    },
    restore: async (why?: string): Promise<void> => {
      const restored = restoreNote(this.place());
      if (why === undefined) await restored;
      else await expect(restored).rejects.toMatchObject(withPatterns({ code: "INVALID_ARGUMENT", message: why }));
    },
    undoAll: async (): Promise<void> => {
      for (const { id, state } of (await this.changes()).toReversed())
        if (state === "done") await undoChange(this.place(), id);
    },
    changes: async (...expected: (string | object)[]): Promise<void> => {
      const changes = await this.changes();
      const states = changes.map(({ kind, state }) => `${kind} ${state}`);
      expect(typeof expected[0] === "object" ? changes : states).toMatchObject(withPatterns(expected));
      expect(changes).toHaveLength(expected.length);
    },
    /** Commands of the memory tool; the text is the whole answer, or a pattern of the error. */
    command: async (expected: string, ...commands: Answer[]): Promise<void> => {
      for (const command of commands) {
        const answer = await this.commands()
          .run(command)
          .catch((error: Error) => `Error: ${error.message}`);
        expect({ answer }, JSON.stringify(command)).toEqual(withPatterns({ answer: expected }));
      }
    },
  };
}

/** Does steps of a data file, and names the one that fails. */
export async function expectSteps<Step extends [verb: string, ...given: never[]]>(
  { verbs }: { verbs: Record<Step[0], (...given: never[]) => Promise<unknown>> },
  steps: readonly Step[],
): Promise<void> {
  const text = Object.entries(secrets).reduce(
    (all, [name, secret]) => all.replaceAll(name, secret),
    JSON.stringify(steps).replaceAll(/x\*(\d+)/gu, (_, count) => "x".repeat(Number(count))),
  );
  for (const [index, [verb, ...given]] of (JSON.parse(text) as Step[]).entries()) {
    try {
      await verbs[verb as Step[0]](...given);
    } catch (error) {
      if (error instanceof Error) error.message = `step ${index + 1}, ${verb}: ${error.message}`;
      throw error;
    }
  }
}
