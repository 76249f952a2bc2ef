import { describe, expect, test } from "vitest";
import { redactPrivateKeys } from "./redact-private-keys.ts";
import { redactLines } from "./redact-secrets.ts";
import { privateKeyBlock } from "../../test/support/secret-examples.ts";

const redacted = "[redacted: private key]";
const kinds = ["", "RSA ", "EC ", "DSA ", "ENCRYPTED ", "OPENSSH ", "PGP "];
const begin = `-----BEGIN RSA PRIVATE${" KEY"}-----`;
const end = begin.replace("BEGIN", "END");

function empty(count: number): string[] {
  return Array.from({ length: count }, () => "");
}

describe("a private key over several lines", () => {
  test.each(kinds)("of the kind %j becomes one line that says so, and empty ones", (kind) => {
    const block = privateKeyBlock(kind);
    const lines = ["# Server", "", ...block, "", "It is of the old host."];
    expect(redactLines(lines)).toEqual([
      "# Server",
      "",
      redacted,
      ...empty(block.length - 1),
      "",
      "It is of the old host.",
    ]);
  });

  test("in a list, a quotation, a code block, a string or with headers goes too", () => {
    for (const wrap of [
      (line: string) => `    ${line}`,
      (line: string) => `> ${line}`,
      (line: string) => `  | ${line}`,
      (line: string) => `"${line}\\n" +`,
      (line: string) => `${line}\r`,
    ]) {
      const [first = "", ...rest] = privateKeyBlock("RSA ").map(wrap);
      const lines = ["```", first, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,1F", "", ...rest, "```"];
      const kept = redactLines(lines);
      expect(kept).toHaveLength(lines.length);
      expect(kept[1]).toContain(redacted);
      expect(kept.join("\n").replaceAll(/["+\\n\s>|]/g, "")).toBe(
        `\`\`\`${redacted}\`\`\``.replaceAll(/["+\\n\s>|]/g, ""),
      );
    }
  });

  test("keeps what stands before and behind it on its lines", () => {
    const [first, ...rest] = privateKeyBlock("");
    expect(redactLines([`key: |- ${first}`, ...rest.slice(0, -1), `${rest.at(-1)}" # of the old host`])).toEqual([
      `key: |- ${redacted}`,
      ...empty(rest.length - 1),
      '" # of the old host',
    ]);
  });

  test("without an end goes as far as it reaches", () => {
    const cut = privateKeyBlock("RSA ").slice(0, -1);
    const hash = "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP";
    const after = ["", "The rest is in the safe of the office.", hash, "end"];
    expect(redactLines([...cut, ...after])).toEqual([redacted, ...empty(cut.length - 1), ...after]);
    expect(redactLines(cut)).toEqual([redacted, ...empty(cut.length - 1)]);
    expect(redactLines([...cut, "", ...privateKeyBlock("EC ")]).filter(Boolean)).toEqual([redacted, redacted]);
  });

  test("does not hide what stands between two", () => {
    const block = privateKeyBlock("OPENSSH ");
    expect(redactLines([...block, "old above, new below", ...block]).filter(Boolean)).toEqual([
      redacted,
      "old above, new below",
      redacted,
    ]);
    expect(redactLines([`${begin}${block[1]}${end} and ${begin}${block[2]}${end}`])).toEqual([
      `${redacted} and ${redacted}`,
    ]);
  });
});

test("a private key behind a marker that stands alone is taken out once", () => {
  const [, first, second] = privateKeyBlock("");
  const once = redactPrivateKeys([`${begin} ${begin}${first}${end} ${second}`]);
  expect(once).toEqual([`${begin} ${redacted} ${second}`]);
  expect(redactPrivateKeys(once)).toEqual(once);
});

describe("a private key on one line", () => {
  test("is found with its line ends written out, as service accounts have it, or with spaces", () => {
    for (const between of [String.raw`\n`, String.raw`\r\n`, " ", ""])
      expect(redactLines([`  "private_key": "${privateKeyBlock("").join(between)}",`])).toEqual([
        `  "private_key": "${redacted}",`,
      ]);
  });
});

describe("what is no private key", () => {
  test("stays: public keys, certificates, the markers without a key", () => {
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
    expect(redactPrivateKeys(lines)).toEqual(lines);
  });
});
