import { describe, expect, test } from "vitest";
import { redactSecrets } from "./redact-secrets.ts";
import { looseShapes, secretShapes } from "./secret-shapes.ts";
import { generated, secretExamples } from "../../test/support/secret-examples.ts";

describe("a secret that is known by its shape", () => {
  test("has an example here, whatever it is", () => {
    const names = [...secretShapes, ...looseShapes].map(({ name }) => name);
    expect(new Set(secretExamples.map(({ name }) => name))).toEqual(new Set(names));
    expect(new Set(names).size).toBeGreaterThan(90);
  });

  test.each(secretExamples)("is replaced by what it is: $name", ({ name, secret }) => {
    const redacted = `[redacted: ${name}]`;
    expect(redactSecrets(secret)).toBe(redacted);
    expect(redactSecrets(`Use ${secret} for the bot.`)).toBe(`Use ${redacted} for the bot.`);
    for (const [before, after] of [
      ["- `", "`"],
      ['"', '",'],
      ["**", "**"],
      ["| production | ", " |"],
      ["export VALUE=", ""],
      ["(", ")"],
      ["这是", "，别告诉别人"],
      [String.raw`"first\n`, String.raw`\nlast"`],
      ["https://example.com/?next=%2F%3D", "&a=b"],
    ] as const)
      expect(redactSecrets(before + secret + after)).toBe(before + redacted + after);
  });

  test("is found by each of its beginnings", () => {
    for (const { name, starts } of secretShapes) {
      const all = starts.split(" ");
      const rest = secretExamples
        .filter((example) => example.name === name)
        .flatMap(({ secret }) =>
          all.filter((start) => secret.startsWith(start)).map((start) => secret.slice(start.length)),
        )
        .at(0);
      for (const start of all) expect(redactSecrets(`${start}${rest}`), start).toBe(`[redacted: ${name}]`);
    }
  });

  test("is found next to another one, and on a line with many", () => {
    const secrets = secretExamples.map(({ secret }) => secret).join(" ");
    expect(redactSecrets(secrets)).toBe(secretExamples.map(({ name }) => `[redacted: ${name}]`).join(" "));
  });

  test("is found right behind one whose length is fixed", () => {
    const shopify = secretExamples.find(({ name }) => name === "Shopify token")?.secret;
    const github = secretExamples.find(({ name }) => name === "GitHub token")?.secret;
    expect(redactSecrets(`${shopify}${github}`)).toBe("[redacted: Shopify token][redacted: GitHub token]");
  });

  test("is not one where only dots, stars or letters x stand for it", () => {
    const fillers = ["x".repeat(40), "X".repeat(40), "...", "…", "*".repeat(40), "<your key>", "${KEY}"];
    const lines = secretShapes.flatMap(({ starts }) =>
      starts.split(" ").flatMap((start) => fillers.map((filler) => `VALUE=${start}${filler} and more`)),
    );
    lines.push(
      "VALUE=sk-your-api-key-goes-right-here",
      "xoxb-your-slack-bot-token-here",
      "sk-ant-api03-your-own-key-goes-here",
    );
    expect(lines.length).toBeGreaterThan(1000);
    expect(lines.filter((line) => redactSecrets(line) !== line)).toEqual([]);
  });

  test("is not looked for inside a word", () => {
    for (const line of [
      `dusk-${generated.mixed40}`,
      `z${generated.hex32}-us21`,
      `a${"gh"}p_${generated.mixed40}`,
      `x${"AK"}IA${"ABCDEFGH".repeat(2)}`,
    ])
      expect(redactSecrets(line)).toBe(line);
  });
});
