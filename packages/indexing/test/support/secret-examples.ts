import { readFileSync } from "node:fs";
import { randomFrom } from "@memslot/test-tools/random";
import bip39 from "../../src/secrets/bip39.json" with { type: "json" };

/**
 * Secrets are templates, filled in here, so that no scanner takes this repository for leaking: `‹hex 32›` becomes 32
 * random hexadecimal digits. A template may contain others: `‹encoded user:‹words 8››`.
 */
const small = "abcdefghijklmnopqrstuvwxyz";
const letters = small + small.toUpperCase();
const digits = "0123456789";
const seedWords = bip39.split(" ");
let random = randomFrom(0);

function of(characters: string, length: number): string {
  return Array.from({ length }, () => random.pick(characters.split(""))).join("");
}

const fillers: Readonly<Record<string, (argument: string) => string>> = {
  of: (argument) => of(argument.split(" ")[0] ?? "", Number(argument.split(" ")[1])),
  letters: (length) => of(letters, Number(length)),
  hex: (length) => of(`${digits}abcdef`, Number(length)),
  words: (length) => of(letters + digits, Number(length)),
  dashed: (length) => of(`${letters}${digits}_-`, Number(length) - 1) + of(small, 1),
  base64: (length) => of(`${letters}${digits}+/`, Number(length)),
  low: (length) => of(small + digits, Number(length)),
  high: (length) => of(small.toUpperCase() + digits, Number(length)),
  number: (length) => `1${of(digits, Number(length) - 1)}`,
  uuid: () => filledIn("‹hex 8›-‹hex 4›-‹hex 4›-‹hex 4›-‹hex 12›", {}),
  jwt: () =>
    filledIn('‹base64url {"alg":"HS256","typ":"JWT"}›.‹base64url {"sub":"‹words 10›","iat":1}›.‹dashed 43›', {}),
  encoded: (text) => Buffer.from(text).toString("base64"),
  base64url: (text) => Buffer.from(text).toString("base64url"),
  lines: (count) => filledIn(`${"‹base64 64›\n".repeat(Number(count))}‹base64 19›7==`, {}),
  random: () => filledIn("Kx7‹words 6›!4z", {}),
  typed: () => "Wx7aB3dE!q2",
  // Words of the list that wallets take theirs from.
  seed: (number) => seedWords[(Number(number) * 173 + 7) % seedWords.length] ?? "",
  seeds: (count) => Array.from({ length: Number(count) }, () => random.pick(seedWords)).join(" "),
  space: () => " ",
  nothing: () => "",
};

/**
 * Replaces the templates in `text`, the innermost first. `values` come before the fillers of the same name. The same text
 * becomes the same secret, in whatever order the tests run.
 */
export function fill(text: string, values: Readonly<Record<string, string>> = {}): string {
  random = randomFrom([...text].reduce((seed, sign) => (seed * 31 + sign.charCodeAt(0)) | 0, 26));
  return filledIn(text, values);
}

function filledIn(text: string, values: Readonly<Record<string, string>>): string {
  const filled = text.replaceAll(/‹([^‹› ]+) ?([^‹›]*)›/gu, (template, name: string, argument: string) => {
    if (name === "indented") return (values[argument] ?? "").replaceAll("\n", "\n  ");
    return values[name] ?? fillers[name]?.(argument) ?? template;
  });
  return filled === text ? text : filledIn(filled, values);
}

/** A table of the folder `secrets`. */
export function secretTable<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`secrets/${name}.json`, import.meta.url), "utf8")) as T;
}

export interface SecretExample {
  /** What it is redacted as. */
  name: string;
  secret: string;
}

/** At least one secret of every shape that memslot recognises. */
export const secretExamples: readonly SecretExample[] = Object.entries(
  secretTable<Record<string, string[]>>("secret-examples"),
).flatMap(([name, secrets]) => secrets.map((secret) => ({ name, secret: fill(secret) })));

/** The lines of a private key with its markers. */
export function privateKeyBlock(kind: string, lines = 12): string[] {
  const title = `${kind}PRIVATE${" KEY"}${kind === "PGP " ? " BLOCK" : ""}`;
  return [`-----BEGIN ${title}-----`, ...fill(`‹lines ${lines}›`).split("\n"), `-----END ${title}-----`];
}

/** What generators of passwords and keys return. */
export const generated: Record<"hex32" | "mixed40" | "base64" | "password" | "awsSecret", string> = {
  hex32: fill("‹hex 32›"),
  mixed40: fill("‹words 40›"),
  base64: fill("‹base64 39›7="),
  password: fill("kX9#mQ2$‹words 6›!4z"),
  awsSecret: fill("wJ4‹base64 37›"),
};
