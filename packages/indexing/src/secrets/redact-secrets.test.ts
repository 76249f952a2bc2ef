import { describe, expect, test } from "vitest";
import { randomFrom, randomSentence, randomText } from "@memslot/test-tools/random";
import { queryTerms } from "../text/query-terms.ts";
import { indexTerms } from "../text/index-terms.ts";
import { redactLines, redactSecrets } from "./redact-secrets.ts";
import { looseShapes, secretShapes } from "./secret-shapes.ts";
import { expectSoundRedaction, expectLinearTime } from "./test/redaction-checks.ts";
import { fill, generated, privateKeyBlock, secretExamples, secretTable } from "../../test/support/secret-examples.ts";

const innocentNotes = [...secretTable<string[]>("innocent-notes"), ...secretTable<string[]>("look-alikes")];

function exampleOf(wanted: string): string {
  const secret = secretExamples.find(({ name }) => name === wanted)?.secret;
  if (secret === undefined) throw new Error(`no example of a ${wanted}`);
  return secret;
}

describe("a secret that is known by its shape", () => {
  test("every shape has an example", () => {
    const names = [...secretShapes, ...looseShapes].map(({ name }) => name);
    expect(new Set(secretExamples.map(({ name }) => name))).toEqual(new Set(names));
    expect(new Set(names).size).toBeGreaterThan(90);
  });

  test.each(secretExamples)("is replaced by its kind, whatever is around it: $name", ({ name, secret }) => {
    const redacted = `[redacted: ${name}]`;
    for (const around of secretTable<string[]>("surroundings")) {
      const [before = "", after = ""] = around.split("|").map((part) => part.replaceAll("¦", "|"));
      expect(redactSecrets(before + secret + after)).toBe(before + redacted + after);
    }
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

  test("is found on a line with many, and right behind one of fixed length", () => {
    const secrets = secretExamples.map(({ secret }) => secret).join(" ");
    expect(redactSecrets(secrets)).toBe(secretExamples.map(({ name }) => `[redacted: ${name}]`).join(" "));
    expect(redactSecrets(exampleOf("Shopify token") + exampleOf("GitHub token"))).toBe(
      "[redacted: Shopify token][redacted: GitHub token]",
    );
  });

  test("is not one where dots, stars or letters x stand for it", () => {
    const placeholders = ["x".repeat(40), "X".repeat(40), "...", "…", "*".repeat(40), "<your key>", "${KEY}"];
    const lines = secretShapes.flatMap(({ starts }) =>
      starts.split(" ").flatMap((start) => placeholders.map((rest) => `VALUE=${start}${rest} and more`)),
    );
    lines.push("VALUE=sk-your-api-key-goes-right-here", "xoxb-your-slack-bot-token-here");
    lines.push("sk-ant-api03-your-own-key-goes-here");
    expect(lines.length).toBeGreaterThan(1000);
    expect(lines.filter((line) => redactSecrets(line) !== line)).toEqual([]);
  });
});

describe("a secret that its name gives away", () => {
  const values = { ...generated, JWT: exampleOf("JWT") };

  test.each(secretTable<{ text: string; redacted: string }[]>("named-secrets"))("$text", ({ text, redacted }) => {
    expect(redactSecrets(fill(text, values))).toBe(fill(redacted, values));
  });

  test("is named by its shape first", () => {
    for (const { name, secret } of secretExamples)
      expect(redactSecrets(`api_key: "${secret}"`)).toBe(`api_key: "[redacted: ${name}]"`);
  });
});

describe("a credential as notes hold it", () => {
  /** As services issue them today, by their documentation: each in prose, or in the text that comes with it. */
  const issued = secretTable<[string, string?][]>("issued-secrets").map(
    ([secret, text = `it runs with ‹key› now`]) => ({
      what: `${secret} in: ${text}`,
      secret,
      text,
    }),
  );
  const leaked = [
    ...secretTable<{ what: string; secret: string; text: string }[]>("leaked-credentials"),
    ...issued,
  ].map(({ what, secret, text }) => {
    const key = fill(secret);
    return { what, secrets: key.split("\n"), text: fill(text, { key }) };
  });
  const leaksFrom = (secrets: readonly string[], redacted: string): string[] =>
    secrets.filter((secret) => {
      const half = Math.ceil(secret.length / 2);
      return [secret.slice(0, half), secret.slice(-half)].some((piece) => redacted.includes(piece));
    });

  test("comes in more shapes than one would think", () => {
    expect(leaked.length).toBeGreaterThanOrEqual(119 + 185);
    expect(leaked.filter(({ secrets, text }) => leaksFrom(secrets, text).length === 0)).toEqual([]);
  });

  test.each(leaked)("does not leave: $what", ({ secrets, text }) => {
    const redacted = redactSecrets(text);
    expect(leaksFrom(secrets, redacted)).toEqual([]);
    expect(redacted.split("\n")).toHaveLength(text.split("\n").length);
    expect(redacted).toContain("[redacted: ");
    expect(redactSecrets(redacted)).toBe(redacted);
  });
});

describe("a secret in disguise", () => {
  const code = (character: string): number => character.charCodeAt(0);
  const everyFifth = (secret: string, character: string): string => secret.replaceAll(/.{5}(?=.)/g, `$&${character}`);
  const signs = (secret: string, encode: (character: string) => string): string =>
    /\W|_/.test(secret) ? secret.replaceAll(/\W|_/g, encode) : encode(secret.charAt(0)) + secret.slice(1);
  const disguises: Readonly<Record<string, (secret: string) => string>> = {
    "escaped in Markdown": (secret) => secret.replaceAll(/\W|_/g, String.raw`\$&`),
    "with characters of no width": (secret) => everyFifth(secret, "\u200b"),
    "with soft hyphens": (secret) => everyFifth(secret, "\u00ad"),
    "with entities": (secret) => signs(secret, (character) => `&#${code(character)};`),
    "encoded for addresses": (secret) => signs(secret, (character) => `%${code(character).toString(16).toUpperCase()}`),
    "in full width": (secret) => secret.replaceAll(/[!-~]/g, (each) => String.fromCharCode(code(each) + 0xfee0)),
    "with emphasis": (secret) => secret.replace(/(?<=\w{3})(?=\w{3})/, "**"),
    "encoded for mail": (secret) => secret.replaceAll("_", "=5F"),
  };

  test.each(Object.keys(disguises))("is found as it is read: %s", (name) => {
    const missed = secretExamples.flatMap(({ name: kind, secret }) => {
      const text = `Use ${disguises[name]?.(secret)} for the bot.`;
      const redacted = redactSecrets(text);
      return redacted === `Use [redacted: ${kind}] for the bot.` ? [] : [{ kind, text, redacted }];
    });
    expect(missed).toEqual([]);
  });

  test("leaves the rest of its line as it is written", () => {
    const line = (secret: string): string => `\\*\u200b &amp; %41 ｄｏｎｅ **${secret}** soft\u00adly &lt;3 C:\\_x`;
    expect(redactSecrets(line(`gh&#112;\\_${"a1B2c3D4e5".repeat(4)}`))).toBe(line("[redacted: GitHub token]"));
  });
});

describe("what is no secret", () => {
  test.each(innocentNotes)("stays: %s", (note) => {
    expect(redactSecrets(note)).toBe(note);
    if (!note.includes("\n")) expect(redactSecrets(`\t- ${note}\r`)).toBe(`\t- ${note}\r`);
  });

  test("stays inside an image, whatever its characters make", () => {
    for (const { secret } of secretExamples) {
      const image = `![](data:image/png;base64,iVBOR/${secret.replaceAll(/[^A-Za-z0-9+/]/g, "/")}/AAAA=)`;
      expect(redactSecrets(image)).toBe(image);
    }
  });

  test("stays, as ordinary sentences and any characters do", () => {
    const random = randomFrom(11);
    for (let round = 0; round < 200; round++) {
      const text = `${randomSentence(random, 30)}\n${randomText(random, 60)}`;
      expect(redactSecrets(text)).toBe(text);
    }
  });
});

describe("a text that is redacted", () => {
  test("keeps its lines, and redacting it again changes nothing", () => expectSoundRedaction({ seed: 3, texts: 200 }));

  test("is found by the name of its secret", () => {
    const terms = indexTerms(redactSecrets(`For the bot: ${"sk"}-proj-${generated.mixed40}`)).split(" ");
    expect(terms).toEqual(expect.arrayContaining(queryTerms("OpenAI key").map(({ term }) => term)));
  });

  test("takes a time that grows with its length, whatever it is made of", () => expectLinearTime(30_000));
});

describe("a private key", () => {
  const redacted = "[redacted: private key]";
  const begin = `-----BEGIN RSA PRIVATE${" KEY"}-----`;
  const end = begin.replace("BEGIN", "END");
  const kinds = ["", "RSA ", "EC ", "DSA ", "ENCRYPTED ", "OPENSSH ", "PGP "];
  /** The redacted key, and as many empty lines as it had further ones. */
  const replaced = (block: readonly string[]): string[] => [redacted, ...block.slice(1).map(() => "")];

  test.each(kinds)("of the kind %j becomes one line that says so, and empty ones", (kind) => {
    const block = privateKeyBlock(kind);
    const [before, after] = [
      ["# Server", ""],
      ["", "It is of the old host."],
    ];
    expect(redactLines([...before, ...block, ...after])).toEqual([...before, ...replaced(block), ...after]);
  });

  test.each(["    §", "> §", "  | §", String.raw`"§\n" +`, "§\r"])("in a frame as %j goes too", (frame) => {
    const wrap = (line: string): string => frame.replace("§", () => line);
    const [first = "", ...rest] = privateKeyBlock("RSA ").map(wrap);
    const kept = redactLines(["```", first, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,1F", "", ...rest, "```"]);
    expect(kept).toHaveLength(rest.length + 6);
    expect(kept[1]).toContain(redacted);
    const bare = (text: string): string => text.replaceAll(/["+\\n\s>|]/g, "");
    expect(bare(kept.join(""))).toBe(bare(`\`\`\`${redacted}\`\`\``));
  });

  test("leaves what is before and behind it on its lines", () => {
    const [first, ...rest] = privateKeyBlock("");
    expect(redactLines([`key: |- ${first}`, ...rest.slice(0, -1), `${rest.at(-1)}" # of the old host`])).toEqual([
      `key: |- ${redacted}`,
      ...rest.slice(1).map(() => ""),
      '" # of the old host',
    ]);
  });

  test("without an end goes as far as it reaches", () => {
    const cut = privateKeyBlock("RSA ").slice(0, -1);
    const hash = "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP";
    const after = ["", "The rest is in the safe of the office.", hash, "end"];
    expect(redactLines([...cut, ...after])).toEqual([...replaced(cut), ...after]);
    expect(redactLines([...cut, "", ...privateKeyBlock("EC ")]).filter(Boolean)).toEqual([redacted, redacted]);
  });

  test("does not hide what is between two", () => {
    const [first = "", ...rest] = privateKeyBlock("OPENSSH ");
    const lines = redactLines([first, ...rest, "old above, new below", first, ...rest]);
    expect(lines.filter(Boolean)).toEqual([redacted, "old above, new below", redacted]);
    expect(redactLines([`${begin}${rest[0]}${end} and ${begin}${rest[1]}${end}`])).toEqual([
      `${redacted} and ${redacted}`,
    ]);
  });

  test("behind a marker that has no key of its own is taken out once", () => {
    const [, first, second] = privateKeyBlock("");
    const once = redactLines([`${begin} ${begin}${first}${end} ${second}`]);
    expect(once).toEqual([`${begin} ${redacted} ${second}`]);
    expect(redactLines(once)).toEqual(once);
  });

  test.each([String.raw`\n`, String.raw`\r\n`, " ", ""])("on one line, joined by %j, is found", (between) => {
    const line = (key: string): string => `  "private_key": "${key}",`;
    expect(redactLines([line(privateKeyBlock("").join(between))])).toEqual([line(redacted)]);
  });

  test("is no public key, no certificate, and no marker without a key", () => {
    const block = privateKeyBlock("RSA ");
    const lines = [
      ...block.map((line) => line.replace("RSA PRIVATE KEY", "CERTIFICATE")),
      ...block.map((line) => line.replace("PRIVATE", "PUBLIC")),
      `A key starts with ${begin} and ends with ${end}.`,
      begin,
      "...",
      end,
      begin,
      "The key itself is not here but in https://example.com/a/very/long/path/to/somewhere/else/altogether",
      end,
      "Do not lose the PRIVATE KEY!",
    ];
    expect(redactLines(lines)).toEqual(lines);
  });
});
