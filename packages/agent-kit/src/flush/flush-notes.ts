import { readFile } from "node:fs/promises";
import path from "node:path";
import { codeOf } from "@memslot/core/files";
import pLimit from "p-limit";
import { formatCitation } from "../citations.ts";
import { noteName } from "../edit/append-note.ts";
import { flat } from "../edit/validate-note.ts";
import type { FlushNote } from "./flush-journal.ts";
import { saysAll } from "./compare-facts.ts";

export class FlushNotes {
  all: readonly FlushNote[];
  readonly #workspaceDir: string;
  readonly #save: (notes: readonly FlushNote[]) => Promise<void>;
  // A host may run the calls of a model side by side.
  readonly #saving = pLimit(1);

  constructor(known: readonly FlushNote[], workspaceDir: string, save: (notes: readonly FlushNote[]) => Promise<void>) {
    this.all = known;
    this.#workspaceDir = workspaceDir;
    this.#save = save;
  }

  async look(): Promise<void> {
    const unsure = this.all.filter(({ citation }) => citation === undefined);
    if (unsure.length === 0) return;
    const found = await notesThatExist(unsure, this.#workspaceDir);
    this.all = [...this.all.filter((note) => !unsure.includes(note)), ...found];
  }

  saying({ text, kind, day }: Pick<FlushNote, "text" | "kind" | "day">): FlushNote | undefined {
    const same = this.all.filter((note) => note.kind === kind && (kind === "longterm" || note.day === day));
    const wanted = flat(text);
    return same.find((note) => flat(note.text) === wanted) ?? same.find((note) => saysAll(note.text, text));
  }

  /** Before a note is written. On disk when it resolves, so that a process that is killed now leaves a record of it. */
  async begin(note: FlushNote): Promise<void> {
    this.add([note]);
    await this.#saving(() => this.#save(this.all));
  }

  written(note: FlushNote, citation: string): void {
    this.all = this.all.map((each) => (each === note ? { ...note, citation } : each));
  }

  dropped(note: FlushNote): void {
    this.all = this.all.filter((each) => each !== note);
  }

  add(notes: readonly FlushNote[]): void {
    this.all = [...this.all, ...notes];
  }
}

/** The notes that are in their files, each with its place. A file that cannot be read counts as complete. */
export async function notesThatExist(notes: readonly FlushNote[], workspaceDir: string): Promise<FlushNote[]> {
  const files = new Map<string, Promise<readonly string[] | undefined>>();
  const found: FlushNote[] = [];
  for (const note of notes) {
    const name = await noteName({ workspaceDir, ...note }).catch(() => undefined);
    const reading = name === undefined ? undefined : (files.get(name) ?? linesOf(path.join(workspaceDir, name)));
    if (name !== undefined && reading !== undefined) files.set(name, reading);
    const lines = await reading;
    if (name === undefined || lines === undefined) {
      found.push(note);
      continue;
    }
    const startLine = lineWith(lines, note.text);
    const endLine = startLine + note.text.trim().split("\n").length - 1;
    if (startLine > 0) found.push({ ...note, citation: formatCitation({ path: name, startLine, endLine }) });
  }
  return found;
}

async function linesOf(file: string): Promise<readonly string[] | undefined> {
  try {
    return (await readFile(file, "utf8")).split("\n");
  } catch (error) {
    return codeOf(error) === "ENOENT" ? [] : undefined;
  }
}

function lineWith(lines: readonly string[], text: string): number {
  const wanted = flat(text);
  const count = text.trim().split("\n").length;
  return lines.findLastIndex((_, at) => flat(lines.slice(at, at + count).join("\n")).includes(wanted)) + 1;
}
