import { readFile } from "node:fs/promises";
import path from "node:path";
import { codeOf } from "@memslot/core/files";
import pLimit from "p-limit";
import { formatCitation } from "../citations.ts";
import { noteName } from "../edit/append-note.ts";
import { flat } from "../tools/recalled-text.ts";
import type { FlushNote } from "./flush-record.ts";
import { saysAll } from "./same-fact.ts";

/** What one flush has written so far, over all its turns, tries and restarts. */
export class FlushNotes {
  all: readonly FlushNote[];
  readonly #workspaceDir: string;
  readonly #save: (notes: readonly FlushNote[]) => Promise<void>;
  // One after another, as a host may run the calls of a model side by side.
  readonly #saving = pLimit(1);

  /** `save` makes the list last; where there is no journal it does nothing. */
  constructor(known: readonly FlushNote[], workspaceDir: string, save: (notes: readonly FlushNote[]) => Promise<void>) {
    this.all = known;
    this.#workspaceDir = workspaceDir;
    this.#save = save;
  }

  /** Looks where notes stand of which that is not known: one that stands nowhere was not written. */
  async look(): Promise<void> {
    const unsure = this.all.filter(({ citation }) => citation === undefined);
    if (unsure.length === 0) return;
    const standing = await notesThatStand(unsure, this.#workspaceDir);
    this.all = [...this.all.filter((note) => !unsure.includes(note)), ...standing];
  }

  /** The note in the same place that says all that a text says. */
  saying({ text, kind, day }: Pick<FlushNote, "text" | "kind" | "day">): FlushNote | undefined {
    const same = this.all.filter((note) => note.kind === kind && (kind === "longterm" || note.day === day));
    const wanted = flat(text);
    return same.find((note) => flat(note.text) === wanted) ?? same.find((note) => saysAll(note.text, text));
  }

  /** Before a note is written. It is on disk when this resolves, so that a process that ends now leaves word of it. */
  async begin(note: FlushNote): Promise<void> {
    this.add([note]);
    await this.#saving(() => this.#save(this.all));
  }

  /** It was written there. */
  written(note: FlushNote, citation: string): void {
    this.all = this.all.map((each) => (each === note ? { ...note, citation } : each));
  }

  /** It was not written after all. */
  dropped(note: FlushNote): void {
    this.all = this.all.filter((each) => each !== note);
  }

  /** Also lines that were written by other hands: those of a digest. */
  add(notes: readonly FlushNote[]): void {
    this.all = [...this.all, ...notes];
  }
}

/**
 * The notes of a list that stand in their files, each with its place. One that does not was never written, or somebody
 * has taken it out. A file that cannot be read is taken to hold what it should.
 */
export async function notesThatStand(notes: readonly FlushNote[], workspaceDir: string): Promise<FlushNote[]> {
  const files = new Map<string, Promise<readonly string[] | undefined>>();
  const standing: FlushNote[] = [];
  for (const note of notes) {
    const name = await noteName({ workspaceDir, ...note }).catch(() => undefined);
    if (name === undefined) {
      standing.push(note);
      continue;
    }
    const reading = files.get(name) ?? linesOf(path.join(workspaceDir, name));
    files.set(name, reading);
    const lines = await reading;
    const startLine = lines === undefined ? undefined : lineWith(lines, note.text);
    if (lines === undefined) standing.push(note);
    else if (startLine !== undefined) {
      const endLine = startLine + note.text.trim().split("\n").length - 1;
      standing.push({ ...note, citation: formatCitation({ path: name, startLine, endLine }) });
    }
  }
  return standing;
}

async function linesOf(file: string): Promise<readonly string[] | undefined> {
  try {
    return (await readFile(file, "utf8")).split("\n");
  } catch (error) {
    return codeOf(error) === "ENOENT" ? [] : undefined;
  }
}

/** The last line, counted from 1, where a text begins, however its lines are indented. */
function lineWith(lines: readonly string[], text: string): number | undefined {
  const wanted = flat(text);
  const count = text.trim().split("\n").length;
  const index = lines.findLastIndex((_, at) => flat(lines.slice(at, at + count).join("\n")).includes(wanted));
  return index < 0 ? undefined : index + 1;
}
