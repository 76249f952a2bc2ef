import { type Memory, MemoryError, audienceOf, visibleText } from "@memslot/core";
import { checkLines, splice } from "../edit/line-changes.ts";
import { rewriteNote } from "../edit/edit-note.ts";
import type { ChangePlace } from "../edit/change-log.ts";
import { withChanges } from "../edit/logged-changes.ts";
import { invalid } from "../state-locks.ts";
import { linesOf } from "../edit/validate-note.ts";
import type { NoteContent } from "../edit/note-types.ts";
import { readNote } from "../edit/replace-note.ts";
import { checkSecrets } from "../tools/guard-secrets.ts";
import { checkInput, memoryCommandFields } from "../tools/tool-input.ts";
import type { EditOptions } from "../tools/memory-tools.ts";
import { entriesIn, shownFolder, memoriesRoot, workspacePath } from "./memories-folder.ts";

/** The commands of Anthropic's memory tool (`memory_20250818`). Each returns its text or throws an `Error` with it. */
export interface MemoryCommands {
  view(command: { path: string; view_range?: readonly number[] | undefined }): Promise<string>;
  create(command: { path: string; file_text: string }): Promise<string>;
  str_replace(command: { path: string; old_str: string; new_str?: string | undefined }): Promise<string>;
  insert(command: { path: string; insert_line: number; insert_text: string }): Promise<string>;
  delete(command: { path: string }): Promise<string>;
  rename(command: { old_path: string; new_path: string }): Promise<string>;
  run(command: unknown): Promise<string>;
}

export interface MemoryCommandsOptions {
  memory: Pick<Memory, "agentId" | "workspaceDir" | "ownerAllowFrom">;
  sessionKey?: string | undefined;
  edit: EditOptions;
}

const around = 3;

/** The memory tool for a workspace; `/memories` is `memory/`. Throws `INVALID_ARGUMENT` for a group. */
export function createMemoryCommands({ memory, sessionKey, edit }: MemoryCommandsOptions): MemoryCommands {
  const { workspaceDir, agentId } = memory;
  if (audienceOf(sessionKey, agentId, memory.ownerAllowFrom) === "shared")
    throw new MemoryError("INVALID_ARGUMENT", "this session is shared with others: it has no memory tool");
  const { settings, stateDir, clock = () => new Date() } = edit;
  const { timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone } = edit;
  const place = (): ChangePlace => ({
    workspaceDir,
    settings,
    stateDir,
    at: clock(),
    changer: { agentId, session: sessionKey, by: "memory_20250818" },
  });
  const clean = (field: string, given: string, replaced?: string): string => {
    const { text, problem } = checkSecrets(given.replaceAll(/\r\n?/gu, "\n"), edit.secrets, replaced);
    if (problem !== undefined) throw invalid(`${field} ${problem}`);
    return text;
  };
  const read = async (relPath: string): Promise<NoteContent | undefined> => {
    try {
      return await readNote({ workspaceDir, settings, stateDir, relPath });
    } catch (error) {
      if (MemoryError.is(error, "PATH_NOT_ALLOWED") || MemoryError.is(error, "WORKSPACE")) return undefined;
      throw error;
    }
  };
  const rewrite = async (shown: string, newText: (text: string) => string): Promise<void> => {
    const relPath = workspacePath(shown);
    if ((await read(relPath)) === undefined)
      throw new Error(`The path ${shown} does not exist. Please provide a valid path.`);
    await rewriteNote({ ...place(), relPath }, { kind: "edit" }, newText);
  };

  async function notesAt(shown: string): Promise<string[]> {
    const relPath = workspacePath(shown);
    if (relPath === "memory") throw new Error(`Cannot delete or rename ${memoriesRoot} itself`);
    if ((await read(relPath)) !== undefined) return [relPath];
    const below = await entriesIn(workspaceDir, relPath, 50);
    const notes = below?.filter(({ isFolder }) => !isFolder).map((entry) => entry.relPath) ?? [];
    if (notes.length === 0) throw new Error(`The path ${shown} does not exist`);
    return notes;
  }

  const commands: Omit<MemoryCommands, "run"> = {
    async view({ path, view_range: range }) {
      const relPath = workspacePath(path);
      const entries = await entriesIn(workspaceDir, relPath, 2);
      if (entries !== undefined || relPath === "memory") {
        const names = ["MEMORY.md", "memory.md", "USER.md"];
        const found = await Promise.all(names.map(async (name) => ({ name, note: await read(name) })));
        const beside = found.flatMap(({ name, note }) =>
          note === undefined ? [] : [{ relPath: name, bytes: note.bytes, isFolder: false }],
        );
        return shownFolder(path, entries ?? [], beside);
      }
      const note = await read(relPath);
      if (note === undefined) throw new Error(`The path ${path} does not exist. Please provide a valid path.`);
      const lines = linesOf(note.text);
      const [from, to] = rangeOf(range, lines.length);
      return `Here's the content of ${path} with line numbers:\n${numbered(lines, from, to)}`;
    },

    async create({ path, file_text: given }) {
      const relPath = workspacePath(path);
      if (!/\.md$/iu.test(relPath))
        throw new Error(`Path ${path} is not allowed: notes are Markdown, with a name that ends with .md`);
      const text = clean("file_text", given);
      checkLines({ text, linesBefore: text, linesAfter: text }, relPath);
      if ((text.match(/^ {0,3}(?:`{3}|~{3})/gmu) ?? []).length % 2 === 1)
        throw new Error("file_text begins a code block and does not end it");
      if ((await read(relPath)) !== undefined) throw new Error(`File ${path} already exists`);
      await withChanges(place(), (changes) => changes.make({ kind: "create", relPath, text }));
      return `File created successfully at: ${path}`;
    },

    async str_replace({ path, old_str: old, new_str: by = "" }) {
      let snippet = "";
      await rewrite(path, (text) => {
        const wanted = old.replaceAll("\r\n", "\n");
        const places = wanted === "" ? [] : placesOf(text, wanted);
        const [at] = places;
        if (at === undefined)
          throw invalid(`No replacement was performed, old_str \`${old}\` did not appear verbatim in ${path}.`);
        if (places.length > 1) {
          const lines = places.map((each) => text.slice(0, each).split("\n").length);
          throw invalid(
            `No replacement was performed. Multiple occurrences of old_str \`${old}\` in lines: ${[...new Set(lines)].join(", ")}. Please ensure it is unique`,
          );
        }
        const spliced = splice(text, at, wanted.length, clean("new_str", by, wanted));
        checkLines(spliced, workspacePath(path));
        const line = text.slice(0, at).split("\n").length;
        const lines = linesOf(spliced.text);
        const last = Math.min(lines.length, line + by.split("\n").length - 1 + around);
        snippet = numbered(lines, Math.max(1, line - around), last);
        return spliced.text;
      });
      return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet}`;
    },

    async insert({ path, insert_line: line, insert_text: given }) {
      await rewrite(path, (text) => {
        const lines = linesOf(text);
        if (!Number.isInteger(line) || line < 0 || line > lines.length)
          throw invalid(
            `Invalid \`insert_line\` parameter: ${line}. It should be within the range of lines of the file: [0, ${lines.length}]`,
          );
        const added = clean("insert_text", given).replace(/\n$/u, "");
        const now = [...lines.slice(0, line), added, ...lines.slice(line)].join("\n");
        const whole = text === "" || text.endsWith("\n") ? `${now}\n` : now;
        checkLines({ text: whole, linesBefore: "", linesAfter: added }, workspacePath(path));
        return whole;
      });
      return `The file ${path} has been edited.`;
    },

    async delete({ path }) {
      const notes = await notesAt(path);
      await withChanges(place(), async (changes) => {
        for (const relPath of notes) await changes.trash({ relPath, reason: `deleted ${path}` }, timeZone);
      });
      return `Successfully deleted ${path}`;
    },

    async rename({ old_path: from, new_path: to }) {
      const [source, target] = [workspacePath(from), workspacePath(to)];
      const notes = await notesAt(from);
      const isThere = (await read(target)) !== undefined || (await entriesIn(workspaceDir, target, 1)) !== undefined;
      if (isThere) throw new Error(`The destination ${to} already exists`);
      if (`${target}/`.startsWith(`${source}/`)) throw new Error(`Cannot move ${from} into itself`);
      const moves = notes.map((relPath) => ({ relPath, wanted: target + relPath.slice(source.length) }));
      if (!moves.every(({ wanted }) => /\.md$/iu.test(wanted)))
        throw new Error(`Path ${to} is not allowed: notes are Markdown, with a name that ends with .md`);
      await withChanges(place(), async (changes) => {
        const reason = `renamed ${from} to ${to}`;
        for (const { relPath, wanted } of moves) await changes.move({ relPath, to: wanted, reason });
      });
      return `Successfully renamed ${from} to ${to}`;
    },
  };

  const run = async (given: unknown): Promise<string> => {
    const command = { ...(given as Record<string, unknown> | null) };
    const name = command["command"];
    if (typeof name !== "string" || !Object.hasOwn(memoryCommandFields, name))
      throw new Error(`Unknown command: ${String(name)}`);
    for (const [field, kind] of Object.entries(memoryCommandFields[name] ?? {})) {
      const checked = checkInput<Record<string, unknown>>({ [field]: kind }, { [field]: command[field] });
      if (!checked.ok) throw new Error(`${checked.error} in the command ${name}`);
      command[field] = checked.values[field];
    }
    return await commands[name as keyof typeof commands](command as never);
  };
  return { ...commands, run };
}

function placesOf(text: string, wanted: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) places.push(at);
  return places;
}

function rangeOf(range: readonly number[] | undefined, count: number): [number, number] {
  if (range === undefined) return [1, count];
  const [from = 1, to = -1] = range;
  const last = to === -1 ? count : Math.min(to, count);
  if (!Number.isInteger(from) || !Number.isInteger(to) || from < 1 || from > Math.max(1, count) || last < from - 1)
    throw new Error(
      `Invalid \`view_range\` parameter: [${range.join(", ")}]. It should be within the range of lines of the file: [1, ${count}]`,
    );
  return [from, last];
}

function numbered(lines: readonly string[], from: number, to: number): string {
  const shown = lines
    .slice(from - 1, to)
    .map((line, index) => `${String(from + index).padStart(6)}\t${visibleText(line)}`);
  return shown.join("\n");
}
