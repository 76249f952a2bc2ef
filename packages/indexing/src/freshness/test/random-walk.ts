import { setTimeout as sleep } from "node:timers/promises";
import { randomFrom } from "@memslot/test-tools/random";
import type { RootWatch } from "../watch-roots.ts";
import { openFreshIndex } from "./fresh-index.ts";
import {
  appendFileSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";

export interface Walked {
  searches: number;
  /** Searches that looked at all files, and those that were given nothing but what was told. */
  swept: number;
  told: number;
  /** The first answer that was called fresh and was not: what was done since the one before, and what was wrong. */
  stale: { after: string[]; wrong: string[] } | undefined;
  sweepAgrees: boolean;
}

/**
 * Changes notes and searches in any order, and compares each fresh answer with the files. Ends with the first stale
 * one.
 */
export async function walkAtRandom(input: {
  place: string;
  seed: number;
  steps: number;
  news?: ((real: RootWatch["news"]) => RootWatch["news"]) | undefined;
}): Promise<Walked> {
  const { place, seed, steps, news } = input;
  const { chance, below } = randomFrom(seed + 1);
  const notes = createChangingNotes(place, seed);
  const { workspace, extra } = notes;
  const fresh = await openFreshIndex({ workspace, extra, stateDir: `${place}/state`, news });
  const walked: Walked = { searches: 0, swept: 0, told: 0, stale: undefined, sweepAgrees: false };
  let after: string[] = [];
  try {
    for (let step = 0; step < steps && walked.stale === undefined; step++) {
      if (chance(0.6)) {
        after.push(notes.change());
        continue;
      }
      // Editors and agents pause now and then: the watcher has done more or less of its work by the next change.
      if (chance(0.3)) await sleep(below(8));
      if (chance(0.05)) await fresh.index.scan("watch");
      if (chance(0.05)) fresh.watch.refresh();
      walked.searches++;
      const isFresh = await fresh.tryFreshen();
      if (fresh.whySwept() === undefined) walked.told++;
      else walked.swept++;
      // What cannot be read, as where a link stands for the workspace, is excluded from an answer, which reports it.
      if (!isFresh || fresh.index.facts().lastSync?.report.failed.length !== 0) continue;
      const wrong = differences(notes.truth(), await fresh.held());
      if (wrong.length > 0) walked.stale = { after, wrong };
      after = [];
    }
    await fresh.freshen();
    walked.sweepAgrees = await fresh.sweepAgrees();
    return walked;
  } finally {
    await fresh.close();
  }
}

function differences(truth: Record<string, string>, held: Record<string, string>): string[] {
  return [...new Set([...Object.keys(truth), ...Object.keys(held)])]
    .filter((note) => truth[note] !== held[note])
    .map((note) => `${note}: is ${truth[note] ?? "not there"}, and the index has ${held[note] ?? "nothing"}`);
}

/**
 * Notes that change as people, editors and version control change them, at random and the same way for the same seed.
 */
interface ChangingNotes {
  readonly workspace: string;
  /** A folder of notes elsewhere, named by its path. */
  readonly extra: string;
  /** Does one thing, and says what. */
  change(): string;
  /** What the notes say now, by path as the index has it: read again, by the plainest means. */
  truth(): Record<string, string>;
}

const folders = ["memory", "memory/a", "memory/a/b", "memory/c", "memory/c/d/e"];
const names = ["one.md", "two.md", "three.md", "a.md"];

function createChangingNotes(place: string, seed: number): ChangingNotes {
  const { below, pick, chance } = randomFrom(seed);
  const workspace = path.join(place, "home/agent/workspace");
  const extra = path.join(place, "elsewhere/notes");
  const aside = path.join(place, "aside");
  const at = (name: string): string => path.join(workspace, name);
  let count = 0;
  // All of one length: their size never tells them from each other.
  const text = (): string => `word${String(++count).padStart(8, "0")}`;

  function anyFolder(): string {
    return chance(0.15) ? path.join(extra, pick(["", "x"])) : at(pick(folders));
  }

  function isFolder(folder: string): boolean {
    return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  }

  function inFolder(file: string, save: () => void): void {
    for (let folder = path.dirname(file); folder !== place; folder = path.dirname(folder))
      if (existsSync(folder) && !isFolder(folder)) rmSync(folder);
    mkdirSync(path.dirname(file), { recursive: true });
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats !== undefined && !stats.isFile()) rmSync(file, { recursive: true });
    save();
  }

  function inPlace(file: string): void {
    if (!existsSync(file)) return writeFileSync(file, text());
    const descriptor = openSync(file, "r+");
    writeSync(descriptor, text());
    closeSync(descriptor);
  }

  function byRename(file: string): void {
    const temporary = path.join(path.dirname(file), pick([".new.tmp", "new.md", `${path.basename(file)}~`]));
    writeFileSync(temporary, text());
    renameSync(temporary, file);
  }

  function recreate(file: string): void {
    rmSync(file, { force: true });
    writeFileSync(file, text());
  }

  function fill(folder: string): void {
    for (const inside of ["", "deep", "deep/er"]) {
      mkdirSync(path.join(folder, inside), { recursive: true });
      writeFileSync(path.join(folder, inside, pick(names)), text());
    }
  }

  /** Puts a folder in the place of another, whatever is there. */
  function moveFolder(from: string, to: string): void {
    if (!isFolder(from) || to.startsWith(`${from}/`) || from.startsWith(`${to}/`) || from === to) return;
    rmSync(to, { recursive: true, force: true });
    mkdirSync(path.dirname(to), { recursive: true });
    renameSync(from, to);
  }

  function away(folder: string): void {
    if (!isFolder(folder)) return;
    const other = path.join(aside, "made");
    rmSync(aside, { recursive: true, force: true });
    fill(other);
    renameSync(folder, path.join(aside, "old"));
    if (chance(0.7)) renameSync(other, folder);
    // What is changed there now is unused note, and is changed under a watch that may still be on it.
    writeFileSync(path.join(aside, "old", pick(names)), text());
    if (chance(0.3)) {
      rmSync(folder, { recursive: true, force: true });
      renameSync(path.join(aside, "old"), folder);
    }
  }

  const anyFile = (): string =>
    chance(0.1) ? at(pick(["MEMORY.md", "USER.md"])) : path.join(anyFolder(), pick(names));
  const changes: [what: string, weight: number, run: (file: string) => void][] = [
    ["save in place", 5, (file) => inFolder(file, () => inPlace(file))],
    ["save by rename", 5, (file) => inFolder(file, () => byRename(file))],
    ["delete and make", 4, (file) => inFolder(file, () => recreate(file))],
    ["append", 4, (file) => inFolder(file, () => appendFileSync(file, text()))],
    ["delete", 3, (file) => rmSync(file, { recursive: true, force: true })],
    ["rename a note", 2, renameNote],
    ["fill a new folder", 2, () => fill(path.join(anyFolder(), `new${below(3)}`))],
    ["save in a new folder", 1, (file) => inFolder(`${file}.d/x.md`, () => inPlace(`${file}.d/x.md`))],
    ["rename a folder", 2, () => moveFolder(anyFolder(), path.join(anyFolder(), `moved${below(2)}`))],
    ["rename a folder over another", 1, () => moveFolder(at(pick(folders)), at(pick(folders)))],
    ["delete a folder", 1, () => rmSync(anyFolder(), { recursive: true, force: true })],
    ["another folder in its place", 2, () => away(anyFolder())],
    ["another workspace in its place", 1, () => away(pick([workspace, path.dirname(workspace), extra]))],
    ["a link in the place of a note", 0.5, (file) => inFolder(file, () => linkTo(file, "a.md"))],
    ["a link in the place of a folder", 0.5, (file) => inFolder(file, () => linkTo(path.dirname(file), ""))],
    ["what is no note", 2, (file) => inFolder(file, () => writeFileSync(`${file}.png`, text()))],
  ];

  function renameNote(file: string): void {
    if (existsSync(file)) renameSync(file, path.join(path.dirname(file), "renamed.md"));
  }

  function linkTo(link: string, inside: string): void {
    const target = path.join(place, "linked");
    mkdirSync(target, { recursive: true });
    writeFileSync(path.join(target, "a.md"), text());
    rmSync(link, { recursive: true, force: true });
    symlinkSync(path.join(target, inside), link);
  }

  const total = changes.reduce((sum, [, weight]) => sum + weight, 0);

  function read(folder: string, into: Record<string, string>): void {
    if (!isFolder(folder)) return;
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) read(file, into);
      else if (entry.isFile() && entry.name.endsWith(".md"))
        into[path.relative(workspace, file)] = readFileSync(file, "utf8");
    }
  }

  mkdirSync(workspace, { recursive: true });
  for (const folder of [...folders.map(at), extra]) inFolder(path.join(folder, "one.md"), () => fill(folder));

  return {
    workspace,
    extra,
    change() {
      let left = (below(1000) / 1000) * total;
      const [what, , run] = changes.find(([, weight]) => (left -= weight) < 0) ?? ["nothing", 0, () => undefined];
      const file = anyFile();
      run(file);
      // A search reports a missing workspace; this is not tested here.
      mkdirSync(workspace, { recursive: true });
      return `${what} ${path.relative(workspace, file)}`;
    },
    truth() {
      const notes: Record<string, string> = {};
      for (const name of ["MEMORY.md", "USER.md"])
        if (lstatSync(at(name), { throwIfNoEntry: false })?.isFile() === true)
          notes[name] = readFileSync(at(name), "utf8");
      read(at("memory"), notes);
      read(extra, notes);
      return notes;
    },
  };
}
