import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** A person's folder of notes with the questions about it, as `bench/vault` holds them. */
export interface Vault {
  /** Path relative to `notes/`, with `/`, to text. */
  notes: Map<string, string>;
  questions: VaultQuestion[];
}

export interface VaultQuestion {
  id: string;
  kind: string;
  language: string;
  query: string;
  /** The day on which it is asked, where that matters. */
  now?: string | undefined;
  /** What a question about a time means, both days included. */
  period?: { since: string; until: string } | undefined;
  /** Where it is answered; nowhere, if the vault does not say. */
  evidence: EvidenceLines[];
}

/** Lines of a note, counted from 1, both included. */
export interface EvidenceLines {
  path: string;
  startLine: number;
  endLine: number;
}

const vaultFolder = path.join(import.meta.dirname, "../vault");

/** The handbooks beside the vault's own notes, with questions of their own. */
export const handbooksFolder: string = path.join(vaultFolder, "handbooks");

/** The vault of this repository and its handbooks in one folder. Its questions are those of both, the handbooks' last. */
export function readWholeVault(): Vault {
  const [own, handbooks] = [readVault(), readVault(handbooksFolder)];
  return {
    notes: new Map([...own.notes, ...handbooks.notes]),
    questions: [...own.questions, ...handbooks.questions],
  };
}

/** Reads the vault of this repository without its handbooks, or the notes and questions of another folder. */
export function readVault(folder: string = vaultFolder): Vault {
  return {
    notes: readNotes(path.join(folder, "notes")),
    questions: readQuestions(path.join(folder, "questions.jsonl")),
  };
}

/** Reads the files of a folder, sorted by path. */
export function readNotes(root: string): Map<string, string> {
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .sort();
  const text = (file: string): string => readFileSync(path.join(root, file), "utf8").replaceAll("\r\n", "\n");
  // A disk may spell an umlaut in two signs; the questions spell it in one.
  return new Map(files.map((file) => [file.split(path.sep).join("/").normalize("NFC"), text(file)]));
}

/** Reads questions, one JSON object a line. */
export function readQuestions(file: string): VaultQuestion[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as VaultQuestion);
}

/**
 * Whether a question belongs to the half that no weight may be tuned on: those whose id has a SHA-256 that begins with
 * one of `8` to `f`. Nobody has chosen which these are, and a new question changes the half of no other.
 */
export function isSetAside({ id }: Pick<VaultQuestion, "id">): boolean {
  return /^[89a-f]/.test(createHash("sha256").update(id).digest("hex"));
}
