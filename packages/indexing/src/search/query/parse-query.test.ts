import { describe, expect, test } from "vitest";
import { collectChecks } from "../../../test/support/collect-checks.ts";
import { randomFrom } from "@memslot/test-tools/random";
import { scanTerms } from "../../text/words.ts";
import { parseQuery, type QueryPart } from "./parse-query.ts";

/** Short: words as they are, phrases in «», what is left out behind a minus, filters in []. */
function read(query: string): string {
  return parseQuery(query)
    .map((part) => {
      if (part.kind === "words") return part.text;
      const minus = part.isExcluded ? "-" : "";
      return part.kind === "phrase" ? `${minus}«${part.value}»` : `${minus}[${part.name}=${part.value}]`;
    })
    .join(" | ");
}

describe("reads", () => {
  test.each([
    ['"heat pump"', "«heat pump»"],
    ['noise "heat pump" night', "noise | «heat pump» | night"],
    [
      "“heat pump” „Wärmepumpe läuft“ «pompe à chaleur» »Wärme pumpe«",
      "«heat pump» | «Wärmepumpe läuft» | «pompe à chaleur» | «Wärme pumpe»",
    ],
    ['„Wärmepumpe läuft" laut', "«Wärmepumpe läuft» | laut"],
    ["搜索「热泵系统」的笔记", "搜索 | «热泵系统» | 的笔记"],
    ["关于“热泵”和『噪音』", "关于 | «热泵» | 和 | «噪音»"],
    ['关于"热泵"的', "关于 | «热泵» | 的"],
    ["heat -pump", "heat | -«pump»"],
    ["-pump", "-«pump»"],
    ["-e-mail notes", "-«e-mail» | notes"],
    ["bread -sourdough, butter", "bread | -«sourdough» | , butter"],
    ["Elternabend -3b", "Elternabend | -«3b»"],
    ["Christmas -2023", "Christmas | -«2023»"],
    ["code -c++ -c#", "code | -«c++» | -«c#»"],
    ["家 -猫", "家 | -«猫»"],
    ['deploy -"in production"', "deploy | -«in production»"],
    ["deploy -“in production”", "deploy | -«in production»"],
    ["path:recipes soup", "[path=recipes] | soup"],
    ["-path:archive/** soup", "-[path=archive/**] | soup"],
    ['path:"my notes/2024" soup', "[path=my notes/2024] | soup"],
    ["Tag:home -tag:area/home", "[tag=home] | -[tag=area/home]"],
    ["tag:#home, tag：家", "[tag=#home] | , | [tag=家]"],
    ["source:sessions after:2024 before:2025-03", "[source=sessions] | [after=2024] | [before=2025-03]"],
    ['after:"last week" walk', "[after=last week] | walk"],
  ])("%s", (query, expected) => {
    expect(read(query)).toBe(expected);
  });
});

describe("what cannot be read as anything else is words", () => {
  test.each([
    "foo:bar",
    "-",
    "a - b",
    "- buy milk",
    'an "unbalanced quote',
    'a 5" pipe and a 6" one',
    '27" monitor',
    'rock"n"roll',
    "C:\\notes\\x.md",
    "--flag",
    "--path:x",
    "git commit --amend -v",
    "-5",
    "-40 degrees",
    "-3.5",
    "e-mail",
    "well-known",
    "std::vector",
    "http://example.org/path:x",
    "https://a.b/?tag:x=1",
    "path:",
    "path: recipes",
    "tag:",
    "tag:#",
    "-tag:",
    'tag:""',
    '""',
    '"!?"',
    "“”",
    "my-path:recipes",
    "don't won't",
    "rock 'n' roll",
    "-std=c++17",
    "a->b",
    "x--y",
    "→ -→",
    "«",
    "「",
    "",
    " \n\t",
  ])("%j", (query) => {
    expect(parseQuery(query).map(({ kind }) => kind)).toEqual(query.trim() === "" ? [] : ["words"]);
    expect(read(query)).toBe(query.trim());
  });
});

const pieces = [
  ..."abcXYZ0189 \t\n-–:：\"“”„«»「」『』()*?[]{}#/\\.,;!'’+_~^|&@$%家热泵ñß🙂\u200b\ud800",
  "path:",
  "-path:",
  "tag:",
  "source:",
  "after:",
  "before:",
  ' "',
  '" ',
  " -",
  "heat",
  "pump",
  "2024-03-05",
  "::",
  "--",
];

function wordsOf(text: string): string[] {
  const words: string[] = [];
  // A pair across a mark is none: characters of such scripts are compared one by one.
  scanTerms(text, (term, _start, _end, kind) => {
    if (kind === "word") words.push(term);
    else if (kind === "pair" || kind === "single") words.push([...term][0] ?? "");
  });
  return words.toSorted();
}

function written(part: QueryPart): string {
  return part.kind === "filter" ? `${part.name}: ${part.value}` : part.kind === "phrase" ? part.value : part.text;
}

test("2,000 random texts are all read, with every part where it stands and no word lost or made up", () => {
  const random = randomFrom(38);
  const { wrong, check } = collectChecks();
  const kinds = new Map<string, number>();
  for (let round = 0; round < 2000; round++) {
    const query = Array.from({ length: random.below(24) }, () => random.pick(pieces)).join("");
    const parts = parseQuery(query);
    for (const { kind } of parts) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    let at = 0;
    for (const { text } of parts) {
      const found = query.indexOf(text, at);
      check(found >= 0, `round ${round}: ${JSON.stringify(text)} is not in ${JSON.stringify(query)}`);
      at = found + text.length;
    }
    const [before, after] = [wordsOf(query), wordsOf(parts.map(written).join(" \n"))];
    check(
      before.join(" ") === after.join(" "),
      `round ${round}: ${JSON.stringify(query)} gives ${JSON.stringify(parts)}`,
    );
  }
  expect(wrong).toEqual([]);
  expect([...kinds.keys()].toSorted()).toEqual(["filter", "phrase", "words"]);
  for (const count of kinds.values()) expect(count).toBeGreaterThan(100);
});

test("a question of 10,000 characters is read in steps that grow with it, whatever it is made of", () => {
  for (const piece of ['"', ' "a', "“", " -", " -a-", "path:", " tag:x", "「", "«»", ' -"', " a-b.c-d_e", "-a'b'c"]) {
    const query = piece.repeat(Math.floor(10_000 / piece.length));
    expect(parseQuery(query).map(written).join("").length).toBeGreaterThan(0);
  }
});
