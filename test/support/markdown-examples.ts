import { readFileSync } from "node:fs";
import path from "node:path";

export const root: string = path.resolve(import.meta.dirname, "../..");

/** The fenced blocks of a page that are marked with a language, in their order. */
export function examplesOf(page: string, language: string): string[] {
  const text = readFileSync(path.join(root, page), "utf8");
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, marked]) => marked === language)
    .map(([, , code]) => code ?? "");
}
