import { describe, expect, test } from "vitest";
import { queryTerms, readQuery } from "./query-terms.ts";
import { scanTerms, type TermKind } from "./index-terms.ts";
import { chunkTerms, scannerFor, loadStemmers } from "./languages/chunk-terms.ts";
import {
  languageOfFile,
  languageOfQuestion,
  languageOfText,
  functionWords,
  languageCodes,
  type LanguageCode,
} from "./languages/detect-language.ts";
import languageTables from "./test/languages.json" with { type: "json" };
import { expectSoundCharacters, expectSoundTerms } from "./test/any-text.ts";
import tables from "./test/words.json" with { type: "json" };
import { randomFrom, randomText } from "@memslot/test-tools/random";
import { addToHash, WordCache } from "./word-cache.ts";

interface Found {
  term: string;
  text: string;
  kind: TermKind;
}

function scan(text: string): Found[] {
  const found: Found[] = [];
  scanTerms(text, (term, start, end, kind) => found.push({ term, text: text.slice(start, end), kind }));
  return found;
}

function terms(text: string): string[] {
  return scan(text).map(({ term }) => term);
}

function asked(query: string): string[] {
  return queryTerms(query).map(({ term }) => term);
}

function finds(query: string, text: string): boolean {
  const indexed = new Set(terms(text));
  return queryTerms(query).every(({ term, prefix }) =>
    prefix ? [...indexed].some((known) => known.startsWith(term)) : indexed.has(term),
  );
}

test.each(tables.found as [string, string, boolean][])("%j is found in %j: %s", (query, text, expected) => {
  expect(queryTerms(query).length).toBeGreaterThan(0);
  expect(finds(query, text)).toBe(expected);
});

test.each(tables.terms as [string, string[]][])("the terms of %j are %j", (text, expected) => {
  expect(terms(text)).toEqual(expected);
});

test.each(tables.asked as [string, string[]][])("the query %j asks for %j", (query, expected) => {
  expect(asked(query)).toEqual(expected);
});

test.each(tables.identifiers as [string, string[]][])("%s stands whole and in its parts", (text, expected) => {
  expect(terms(text).toSorted()).toEqual(expected.toSorted());
});

test.each(tables.same as [string, string][])("%s has the same terms as %s", (text, other) => {
  expect(terms(text)).toEqual(terms(other));
});

test.each(tables.composed)("%s has the same terms composed and decomposed", (text) => {
  expect(terms(text.normalize("NFD"))).toEqual(terms(text.normalize("NFC")));
});

test.each(tables.values as [string, string][])("%s is %s, in a text and in a question", (one, other) => {
  for (const [query, text] of [
    [one, other],
    [other, one],
  ] as const) {
    const indexed = new Set(terms(`Call ${text}, today`));
    const { terms: words, values } = readQuery(query);
    const all = [...words.filter(({ written }) => written === query), ...values.map(({ term }) => term)];
    expect(all.some(({ term, forms = [] }) => [term, ...forms].some((form) => indexed.has(form)))).toBe(true);
  }
});

test.each(tables.noValues)("%s holds no values", (text) => {
  expect(readQuery(text).values).toEqual([]);
});

test("a value covers its groups, and a text of numbers has few", () => {
  const [value] = readQuery("call +1 (555) 010-7788 now").values.filter(({ term }) => term.term === "15550107788");
  expect(value?.written.map(({ term }) => term)).toEqual(["1", "555", "010", "7788", "010-7788"]);
  const numbers = Array.from({ length: 1000 }, (_, index) => String(1000 + index)).join(" ");
  expect(scan(numbers).length).toBeLessThan(1100);
});

test.each(tables.particles)("%s is found in %s", (query, text) => {
  const indexed = new Set(terms(text));
  const [word] = queryTerms(query);
  const readings = [word?.term, ...(word?.forms ?? []), ...(word?.endings ?? []).map(({ term }) => term)];
  expect(readings.some((reading) => indexed.has(reading ?? ""))).toBe(true);
});

test.each(["c++", "C#", "f#", "g++"])("%s keeps the punctuation that makes its name", (name) => {
  expect(terms(`we use ${name}, mostly`)).toContain(name.toLowerCase());
  expect(queryTerms(name)).toContainEqual(expect.objectContaining({ term: name.toLowerCase(), identifier: true }));
});

test.each(["iPhone", "YouTube", "FaceTime", "JavaScript", "WhatsApp"])("%s is found in small letters, too", (name) => {
  expect(terms(`she uses ${name.toLowerCase()} a lot`)).toContain(queryTerms(name).at(-1)?.term);
});

test("identifiers are marked as meant as written, and a single character as the beginning of a word", () => {
  const marked = queryTerms("QX-7919 server memorySearch 42").filter((entry) => entry.identifier);
  expect(marked.map(({ term }) => term)).toEqual(["7919", "qx-7919", "42"]);
  const single = { term: "中", prefix: true, kind: "single", identifier: false, written: "中" };
  expect(queryTerms("中")).toEqual([single]);
});

test("a run of more than 100 characters has no term for the whole, and half a character is no word", () => {
  expect(scan(`example.org/${"part/".repeat(30)}end`).filter(({ kind }) => kind === "whole")).toEqual([]);
  for (const text of ["\ud800", "\udc00\ud800"]) expect(terms(text)).toEqual([]);
});

test("a query has at most 64 terms, the first ones", () => {
  const query = Array.from({ length: 500 }, (_, index) => `word${index}`).join(" ");
  expect(asked(query)).toEqual(Array.from({ length: 64 }, (_, index) => `word${index}`));
  expect(asked(`长长文${"短句".repeat(4000)}`).length).toBeLessThanOrEqual(64);
});

describe("offsets", () => {
  test("each term stands for the text it was made of", () => {
    const found = scan("Wir trafen Müller (QX-7919) in 東京タワー, fooBar_baz, 𠮷野家 und it’s C++!");
    const textOf = (term: string): string | undefined => found.find((entry) => entry.term === term)?.text;
    for (const [term = "", text] of tables.textsOfTerms) expect(textOf(term), term).toBe(text);
  });

  test("a term whose characters were joined stands for its whole run", () => {
    expect(scan("あ ｶﾞｿﾘﾝ!").find(({ term }) => term === "ガソ")?.text).toBe("ｶﾞｿﾘﾝ");
  });

  test("a very long word is cut, and no character in it", () => {
    const found = scan(`${"x".repeat(63)}${"𐐀".repeat(40)}`);
    expect(found).toHaveLength(1);
    expect(found[0]?.term.isWellFormed()).toBe(true);
    expect(found[0]?.text).toHaveLength(143);
  });
});

describe("any text", () => {
  test("each single character of Unicode up to Kana, and every 17th behind, gives terms without white space; composed and decomposed texts give the same", () => {
    expectSoundCharacters({ every: 17, texts: 500 });
  });

  test("1,000 random strings: terms are sound, and a text's own words find it", () => {
    expectSoundTerms({ seed: 20_260_305, texts: 1000 });
  });
});

describe("words that were met before", () => {
  function hashOf(word: string): number {
    let hash = 0;
    for (let index = 0; index < word.length; index++) hash = addToHash(hash, word.charCodeAt(index));
    return hash;
  }

  function termsOf(text: string): string[] {
    const terms: string[] = [];
    scanTerms(text, (term, start, end, kind) => terms.push(`${term} ${start} ${end} ${kind}`));
    return terms;
  }

  /** Two words with equal hashes. */
  const twins = ["a\u045f", "b\u0440"];

  test("words with the same hash are distinguished, in the cache and in a text", () => {
    expect(hashOf(twins[0] ?? "")).toBe(hashOf(twins[1] ?? ""));
    const cache = new WordCache();
    const all = Array.from({ length: 2 ** 5 }, (_, bits) =>
      Array.from({ length: 5 }, (__, at) => twins[(bits >> at) & 1]).join(""),
    );
    expect(new Set(all.map(hashOf)).size).toBe(1);
    for (const word of all) cache.set(word, hashOf(word), `value of ${word}`);
    const found = all.map((word) => cache.get(`x ${word} y`, 2, 2 + word.length, hashOf(word)));
    // No more than eight of them have a place; none has the value of another.
    expect(found.filter((value) => value !== undefined)).toHaveLength(8);
    for (const [index, value] of found.entries()) if (value !== undefined) expect(value).toBe(`value of ${all[index]}`);
    for (const word of [...all, ...all]) expect(termsOf(word)).toEqual([`${word} 0 ${word.length} word`]);
  });

  test("a word that was met before has the same terms at the same places, alone and joined: 200 texts, twice", () => {
    const random = randomFrom(15);
    const texts = [
      ...tables.metBefore,
      `${"long".repeat(20)} ${"long".repeat(15)} ${"long".repeat(16)}`,
      ...Array.from({ length: 200 }, () => randomText(random, 60)),
    ];
    const cold = texts.map(termsOf);
    expect(texts.filter((text, index) => termsOf(text).join("\n") !== cold[index]?.join("\n"))).toEqual([]);
    // In other surroundings, too: what stands before and behind is no part of a word.
    for (const text of texts.slice(0, 6)) expect(scan(` ${text}`)).toEqual(scan(text));
  });
});

const stemmers = await loadStemmers();

describe("the language of a text", () => {
  test("20 of 20 sentences in ten languages have their language", () => {
    const told = languageCodes.flatMap((code) =>
      languageTables.sentences[code].map((sentence) => `${code} ${languageOfFile([sentence])}: ${sentence}`),
    );
    expect(told).toHaveLength(20);
    expect(told.filter((line) => !/^(\w\w) \1:/u.test(line))).toEqual([]);
  });

  test.each(languageTables.english)("%s is in no other language than English", (sentence) => {
    expect(languageOfFile([sentence])).toBeUndefined();
  });

  test.each(languageTables.questions as [string, LanguageCode[], string?][])(
    "a question may be short, and is in one of the languages of the notes: %s (%j), %s",
    (question, held, expected) => {
      expect(languageOfQuestion(question.split(" "), held)).toBe(expected);
    },
  );

  test("names in another language do not make a text of it", () => {
    const names = "Lunch de la Rosa Restaurant menu wine fish bread salad dinner coffee table window street corner tax";
    expect(languageOfText(`${names} ${names}`)).toBeUndefined();
  });
});

describe("stems", () => {
  test("60 words of ten languages come down to what Snowball publishes", () => {
    const pairs = languageCodes.flatMap((code) =>
      languageTables.published[code].split(" ").map((pair) => ({ code, pair })),
    );
    expect(pairs).toHaveLength(60);
    for (const { code, pair } of pairs)
      expect(`${pair.split(":")[0]}:${stemmers[code](pair.split(":")[0] ?? "")}`).toBe(pair);
  });

  test("stand beside the words of a text, and English text has none", () => {
    const terms = chunkTerms("Die Häuser sind mit der Bahn zu erreichen", stemmers).split(" ");
    expect(terms).toEqual(expect.arrayContaining(["hauser", "~haus", "~bahn", "~~de"]));
    expect(terms).not.toContain("~die");
    expect(chunkTerms("The houses are near to the station", stemmers)).not.toContain("~");
  });

  test("a text that does not tell is in the language of its file", () => {
    expect(chunkTerms("Häuser", stemmers)).toBe("hauser");
    expect(chunkTerms("Häuser", stemmers, () => "de")).toBe("hauser ~haus ~~de");
    expect(chunkTerms("The houses of the street", stemmers, () => "de")).not.toContain("~");
  });

  test("a text is read as it is indexed: in its own language among those that are asked for", () => {
    const stemsOf = (text: string, held: readonly LanguageCode[]): string[] => {
      const found: string[] = [];
      scannerFor([text], { stemmers, held })(text, (term, _start, _end, kind) => kind === "stem" && found.push(term));
      return found;
    };
    for (const [text, held, stem] of languageTables.stemsOf as [string, LanguageCode[], string?][])
      expect(stemsOf(text, held).filter((own) => stem === undefined || own === stem)).toEqual(stem ? [stem] : []);
  });

  test("no word of any text is taken for a stem", () => {
    expect(chunkTerms("~haus ~~de ^it ~ ~~ a~b", stemmers)).not.toMatch(/(?:^| )[~^]/u);
  });
});

describe("words of a question that hold it together", () => {
  const asked = (query: string, held: readonly LanguageCode[] = []): string[] =>
    queryTerms(query, held).map(({ term }) => term);

  test.each(languageTables.heldTogether as [string, LanguageCode[], string][])(
    "are left out in its own language where notes are in that, and count where nothing else is left: %s (%j): %s",
    (query, held, expected) => {
      expect(asked(query, held).join(" ")).toBe(expected);
    },
  );

  test("may leave a word out and not what the question is about", () => {
    expect(asked("Wann ist die Frist der Steuer")).toContain("der");
    expect(asked("What about the budget?")).toContain("budget");
  });

  test.each(["US", "IT", "WHO", "SO"])("%s in capitals is a name", (name) => {
    const own = `^${name.toLowerCase()}`;
    expect(asked(`the ${name} budget`)).toEqual([own, "budget"]);
    expect(asked(`the ${name.toLowerCase()} budget`)).toEqual(["budget"]);
    expect(asked(name)).toContain(own);
    expect(asked(`WHAT DID THE ${name} BUDGET SAY`)).not.toContain(own);
  });

  test.each(languageTables.roles as [string, LanguageCode | "", string][])(
    "%s (notes in: %j): %s",
    (query, held, roles) => {
      const terms = queryTerms(query, held === "" ? [] : [held]);
      expect(terms.map(({ written, role }) => (role === undefined ? written : `${written}=${role}`)).join(" ")).toBe(
        roles,
      );
    },
  );

  test("words of all languages are in small letters, each once", () => {
    for (const code of languageCodes) for (const word of functionWords[code]) expect(word).toMatch(/^\p{Ll}+$/u);
  });
});
