import { expect, test } from "vitest";
import { tempFolder } from "@memslot/test-tools/files";
import { fill, secretExamples } from "../../test/support/secret-examples.ts";
import { keptOf, type Role, said } from "./test/transcripts.ts";
import texts from "./test/transcript-texts.json" with { type: "json" };

const kept = async (...lines: string[]): Promise<string[]> => await keptOf(tempFolder(), lines);

/** Lines are objects as they stand in a file, `[role, text]`, or what a user said. */
test.each(texts)("a transcript keeps $what", async ({ lines, kept: expected }) => {
  const written = lines.map((line) => {
    if (typeof line === "string") return said("user", fill(line));
    return Array.isArray(line) ? said(line[0] as Role, line[1] ?? "") : JSON.stringify(line);
  });
  expect(await kept(...written)).toEqual(expected);
});

test("text is wrapped at 800 characters, never inside a character", async () => {
  const text = `${"🎉".repeat(900)} ${"word ".repeat(400)}`;
  const lines = await kept(said("user", text));
  expect(lines.length).toBeGreaterThan(4);
  for (const line of lines) {
    expect(line.length).toBeLessThanOrEqual(800 + "User: ".length);
    expect(line.isWellFormed()).toBe(true);
  }
  const all = lines.map((line) => line.slice("User: ".length)).join("");
  expect(all.replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
});

test("text has no lone surrogates, no NUL, and composed characters", async () => {
  const line = String.raw`{"role":"user","content":"a\ud800b\u0000c cafe\u0301"}`;
  expect(await kept(line)).toEqual(["User: a\ufffdb c café"]);
});

test("secrets do not survive, wherever a line is wrapped", async () => {
  const texts = secretExamples.flatMap(({ secret }) =>
    [0, 640, 770, 790].map((before) => `${"ab ".repeat(before / 3)}${secret} and more ${"cd ".repeat(20)}`),
  );
  const all = (await kept(...texts.map((text) => said("user", text)))).map((line) => line.slice("User: ".length));
  const held = all.join("").replaceAll(" ", "");
  expect(all.length).toBeGreaterThan(texts.length);
  for (const { name, secret } of secretExamples)
    expect(held, name).not.toContain(secret.slice(-12).replaceAll(" ", ""));
});
