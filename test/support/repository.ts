import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export const root: string = path.resolve(import.meta.dirname, "../..");

/** The folder of each package that is published, relative to the root: every one that is not private. */
export const publishedPlaces: readonly string[] = ["packages", "extensions", "apps"]
  .flatMap((group) => readdirSync(path.join(root, group)).map((name) => `${group}/${name}`))
  .filter((place) => existsSync(path.join(root, place, "package.json")) && !manifestAt(place).private);

/** Every backend, provider and reranker that is kept here, by its name: others in `extensions` are plugins of another host. */
export const extensions: readonly { place: string; name: string }[] = publishedPlaces
  .filter((place) => /^extensions\/(?:memory|embeddings|rerank)-/u.test(place))
  .map((place) => ({ place, name: manifestAt(place).name }));

/** The package.json in the repository. */
export function manifestAt(place: string): {
  name: string;
  description: string;
  private?: boolean;
  exports: unknown;
  imports?: Readonly<Record<string, unknown>>;
  dependencies?: Readonly<Record<string, string>>;
} {
  return JSON.parse(readFileSync(path.join(root, place, "package.json"), "utf8")) as ReturnType<typeof manifestAt>;
}

/** The fenced blocks of a page that are marked with a language, in their order. */
export function examplesOf(page: string, language: string): string[] {
  const text = readFileSync(path.join(root, page), "utf8");
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, marked]) => marked === language)
    .map(([, , code]) => code ?? "");
}
