import { redactLines } from "@memslot/indexing/host";

const maxSlugLength = 40;

/** A few words as a part of a file's name: lower-case ASCII letters and digits, with `-` between; empty where none is left. */
export function slugOf(words: unknown): string {
  if (typeof words !== "string") return "";
  const [clean = ""] = redactLines([words.slice(0, 1_000)]);
  const ascii = clean
    .normalize("NFKD")
    .replaceAll(/\p{M}+/gu, "")
    .toLowerCase();
  return ascii
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, maxSlugLength + 1)
    .replace(/^-/, "")
    .slice(0, maxSlugLength)
    .replace(/-$/, "");
}
