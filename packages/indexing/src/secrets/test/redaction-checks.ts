import { expect } from "vitest";
import { randomFrom, randomText } from "@memslot/test-tools/random";
import {
  fill,
  generated,
  privateKeyBlock,
  secretExamples,
  secretTable,
} from "../../../test/support/secret-examples.ts";
import { redactLines, redactSecrets } from "../redact-secrets.ts";
import data from "./redaction-checks.json" with { type: "json" };

const names = data.names;
const between = [..." \n`\"'()@&。", "\r\n", ", ", " | ", "**", ": ", "\n\n", String.raw`\n`];

/**
 * Texts of secrets, names, innocent notes and random characters: lines stay where they are, and nothing is redacted
 * twice.
 */
export function expectSoundRedaction({ seed, texts }: { seed: number; texts: number }): void {
  const random = randomFrom(seed);
  const innocent = secretTable<string[]>("innocent-notes");
  const parts = [
    () => random.pick(secretExamples).secret,
    () => random.pick(innocent),
    () => random.pick(names),
    () => random.pick(Object.values(generated)),
    () => privateKeyBlock(random.pick(["", "RSA ", "PGP "]), 3).join(random.pick(["\n", String.raw`\n`])),
    () => randomText(random, 8),
  ];
  const samples = Array.from({ length: texts }, () =>
    Array.from({ length: 1 + random.below(8) }, () => random.pick(parts)() + random.pick(between)).join(""),
  );
  const redacted = samples.map(redactSecrets);
  expect(samples.filter((text, at) => redacted[at]?.split("\n").length !== text.split("\n").length)).toEqual([]);
  expect(samples.filter((text, at) => redacted[at] !== text).length).toBeGreaterThan(texts * 0.66);
  expect(redacted.filter((text) => redactSecrets(text) !== text)).toEqual([]);
  expect(redactLines([])).toEqual([]);
  expect(redactSecrets("")).toBe("");
}

/**
 * Redacts texts that patterns with a quadratic part would need minutes for. The limit is CPU time of this thread, some
 * fifty times of what is needed: it tells linear from quadratic on any machine.
 */
export function expectLinearTime(length: number): void {
  const begin = fill("-----BEGIN RSA PRIVATE‹space›KEY-----");
  const texts = [...secretTable<string[]>("costly-texts").map((text) => fill(text)), "sk-", "a", "eyJ"];
  const slow = texts.filter((part) => {
    const text = part.repeat(Math.ceil(length / part.length));
    const started = process.threadCpuUsage();
    for (const each of [text, `token: ${text}`, `${begin}\n${text} a b`]) redactSecrets(each);
    return process.threadCpuUsage(started).user / 1000 > Math.max(1000, length / 50);
  });
  expect(slow).toEqual([]);
}
