import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import type { House } from "./temp-workspace.ts";
import type { Random } from "@memslot/test-tools/random";
import data from "../data/vocabulary.json" with { type: "json" };

/** Texts that take a chunk of the usual size, or two of 50 tokens. Each has a word of its own, in its first part. */
export function twoPartNote(index: number, word = `word${index}`): string {
  const filler = (from: number): string =>
    Array.from({ length: 9 }, (_, place) => `filler${(from + place) % 90}`).join(" ");
  return `# Note ${index}\n\nThe kitten knows ${word}. ${filler(index * 7)}\n\nThe piano of number ${index} sounds. ${filler(index * 11)}\n`;
}

/** So many of them, a hundred to a folder. */
export function twoPartNotes(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [noteName(index), twoPartNote(index)]));
}

export function noteName(index: number): string {
  return `memory/part-${Math.floor(index / 100)}/note-${index}.md`;
}

/** Words of which few are common to many notes. */
export const vocabulary: readonly string[] = Array.from({ length: 60 }, (_, index) => `wort${index * 37}`);

const names: readonly string[] = data.noteNames;
const folders: readonly string[] = ["memory", "memory/a", "memory/a/b", "memory/c c", "memory/日記"];
const sessions: readonly string[] = ["one.jsonl", "two.jsonl"];

/** What can happen to the files of an agent. Gives what it did, for people to read. */
export function changeSomething(house: House, random: Random): string {
  const [what, act] = random.pick(changes);
  return `${what} ${act(house, random) ?? "(nothing there)"}`;
}

const changes: readonly (readonly [string, (house: House, random: Random) => string | undefined])[] = [
  ["write", (house, random) => writeNote(house, random, newPath(random))],
  ["write", (house, random) => writeNote(house, random, newPath(random))],
  ["write", (house, random) => writeNote(house, random, "MEMORY.md")],
  ["edit", (house, random) => withNote(house, random, (file) => writeFileSync(file, noteText(random)))],
  [
    "append to",
    (house, random) => withNote(house, random, (file) => appendFileSync(file, `\n- ${sentence(random)}\n`)),
  ],
  ["empty", (house, random) => withNote(house, random, (file) => truncateSync(file, 0))],
  ["touch", (house, random) => withNote(house, random, (file) => utimesSync(file, 1.7e9, 1.7e9 + random.below(1000)))],
  ["save by rename", (house, random) => withNote(house, random, (file) => saveByRename(file, noteText(random)))],
  ["delete", (house, random) => withNote(house, random, (file) => rmSync(file))],
  ["rename", renameNote],
  [
    "delete folder",
    (house, random) => {
      const folder = random.pick(folders.slice(1));
      rmSync(path.join(house.notes, folder), { recursive: true, force: true });
      return folder;
    },
  ],
  ["say in", say],
  ["say in", say],
  [
    "begin again",
    (house, random) => {
      const file = path.join(sessionsFolder(house), random.pick(sessions));
      writeFileSync(file, message(random));
      return path.basename(file);
    },
  ],
];

function writeNote(house: House, random: Random, name: string): string {
  house.write({ [name]: noteText(random) });
  return name;
}

function newPath(random: Random): string {
  return `${random.pick(folders)}/${random.pick(names)}`;
}

function withNote(house: House, random: Random, act: (file: string) => void): string | undefined {
  const files = notesOf(house);
  if (files.length === 0) return undefined;
  const file = random.pick(files);
  act(path.join(house.notes, file));
  return file;
}

function renameNote(house: House, random: Random): string | undefined {
  const to = newPath(random);
  const from = withNote(house, random, () => undefined);
  if (from === undefined) return undefined;
  mkdirSync(path.dirname(path.join(house.notes, to)), { recursive: true });
  renameSync(path.join(house.notes, from), path.join(house.notes, to));
  return `${from} to ${to}`;
}

function notesOf({ notes }: House): string[] {
  return readdirSync(notes, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .toSorted();
}

function saveByRename(file: string, text: string): void {
  writeFileSync(`${file}.tmp`, text);
  renameSync(`${file}.tmp`, file);
}

function say(house: House, random: Random): string {
  const file = path.join(sessionsFolder(house), random.pick(sessions));
  // Now and then the last line is not finished yet.
  appendFileSync(file, random.chance(0.2) ? message(random).slice(0, -10) : message(random));
  return path.basename(file);
}

/** Where the transcripts of an agent lie. */
export function sessionsFolder({ stateDir }: Pick<House, "stateDir">, agentId: string = "main"): string {
  const folder = path.join(stateDir, "agents", agentId, "sessions");
  mkdirSync(folder, { recursive: true });
  return folder;
}

function message(random: Random): string {
  const lines = Array.from({ length: 1 + random.below(6) }, () => {
    const role = random.pick(["user", "assistant"]);
    return JSON.stringify({
      type: "message",
      timestamp: "2026-03-14T09:05:00Z",
      message: { role, content: sentence(random) },
    });
  });
  return `${lines.join("\n")}\n`;
}

function noteText(random: Random): string {
  const paragraphs = Array.from({ length: random.below(8) }, () => sentence(random));
  return `# ${random.pick(vocabulary)}\n\n${paragraphs.join("\n\n## Part\n\n")}\n`;
}

function sentence(random: Random): string {
  return `${Array.from({ length: 5 + random.below(60) }, () => random.pick(vocabulary)).join(" ")}.`;
}
