import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { readNotes, readQuestions, type Vault } from "./vault.ts";

/** The folder of each package that holds its documentation. */
const folders: Readonly<Record<string, string>> = { fastify: "docs", npm: "docs/content" };

/** Names of the documentation sets. */
export const documentSets: readonly string[] = Object.keys(folders);

/** Reads the documentation that an npm package ships, with the questions of `bench/documents` about it. */
export function readDocuments(name: string): Vault {
  const folder = folders[name];
  if (folder === undefined) throw new Error(`there are no questions about the documentation of "${name}"`);
  const root = path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  const beside = readdirSync(root).filter((file) => file.endsWith(".md"));
  return {
    notes: new Map([
      ...readNotes(path.join(root, folder)),
      ...beside.map((file) => [file, readFileSync(path.join(root, file), "utf8")] as const),
    ]),
    questions: readQuestions(path.join(import.meta.dirname, `../documents/${name}.jsonl`)),
  };
}
