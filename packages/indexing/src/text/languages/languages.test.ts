import { describe, expect, test } from "vitest";
import { queryTerms } from "../words.ts";
import { chunkTerms, scannerFor } from "./chunk-terms.ts";
import { languageOfFile, languageOfQuestion, languageOfText } from "./detect-language.ts";
import { functionWords, languageCodes, type LanguageCode } from "./function-words.ts";
import { loadStemmers } from "./stemmers.ts";
import tables from "../test/languages.json" with { type: "json" };

const stemmers = await loadStemmers();

describe("the language of a text", () => {
  test("20 of 20 sentences in ten languages are told from each other", () => {
    const told = languageCodes.flatMap((code) =>
      tables.sentences[code].map((sentence) => `${code} ${languageOfFile([sentence])}: ${sentence}`),
    );
    expect(told).toHaveLength(20);
    expect(told.filter((line) => !/^(\w\w) \1:/u.test(line))).toEqual([]);
  });

  test.each(tables.english)("%s is in no other language than English", (sentence) => {
    expect(languageOfFile([sentence])).toBeUndefined();
  });

  test("a question may be short, and is in one of the languages of the notes", () => {
    const held: LanguageCode[] = ["de", "fr"];
    expect(languageOfQuestion(["Kosten", "der", "Wärmepumpe"], held)).toBe("de");
    expect(languageOfQuestion(["Kosten", "der", "Wärmepumpe"], ["fr"])).toBeUndefined();
    expect(languageOfQuestion(["die", "hard"], held)).toBeUndefined();
    expect(languageOfQuestion(["what", "did", "der", "Spiegel", "say"], held)).toBeUndefined();
  });

  test("names in another language do not make a text of it", () => {
    const names = "Lunch de la Rosa Restaurant menu wine fish bread salad dinner coffee table window street corner tax";
    expect(languageOfText(`${names} ${names}`)).toBeUndefined();
  });

  test.each(tables.splitLetters as [string, string][])(
    "words are counted as what is between other signs: %s",
    (_, word) => {
      // Two function words tell among 16 words, and not among 17.
      const among = (others: number): string => `nicht, wird ${Array(others).fill(word).join("1")}`;
      expect(languageOfText(among(14))).toBe("de");
      expect(languageOfText(among(15))).toBeUndefined();
    },
  );

  test("half a letter of two units is none, and large letters are small ones", () => {
    expect(languageOfText("NICHT\ud801Wird\udc00")).toBe("de");
  });

  test("a chunk is told by its first 80 words", () => {
    expect(languageOfText(`${"x ".repeat(70)} ${"nicht ".repeat(11)}`)).toBe("de");
    expect(languageOfText(`${"x ".repeat(80)} ${"nicht ".repeat(40)}`)).toBeUndefined();
  });
});

describe("stems", () => {
  test("60 words of ten languages come down to what Snowball publishes", () => {
    const pairs = languageCodes.flatMap((code) => tables.published[code].split(" ").map((pair) => ({ code, pair })));
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
    expect(stemsOf("Die Häuser sind mit der Bahn da", ["de", "fr"])).toContain("~haus");
    expect(stemsOf("Die Häuser sind mit der Bahn da", ["fr"])).toEqual([]);
    expect(stemsOf("The houses are over there", ["de"])).toEqual([]);
    expect(stemsOf("Häuser", ["de"])).toEqual(["~haus"]);
  });

  test("no word of any text is taken for a stem", () => {
    const text = "~haus ~~de ^it ~ ~~ a~b";
    expect(
      chunkTerms(text, stemmers)
        .split(" ")
        .filter((term) => /^[~^]/u.test(term)),
    ).toEqual([]);
  });
});

describe("words of a question that hold it together", () => {
  const asked = (query: string, held: readonly LanguageCode[] = []): string[] =>
    queryTerms(query, held).map(({ term }) => term);

  test("are left out in its own language, where notes are in that", () => {
    expect(asked("Wann ist die Frist der Steuer", ["de"])).toEqual(["frist", "steuer"]);
    expect(asked("Wann ist die Frist der Steuer")).toContain("der");
    expect(asked("où est la clé de la cave", ["fr", "de"])).toEqual(["cle", "cave"]);
    expect(asked("die hard", ["de"])).toEqual(["die", "hard"]);
  });

  test("count where nothing else is left", () => {
    expect(asked("to be or not to be")).toEqual(["to", "be", "or", "not"]);
    expect(asked("The Who")).toEqual(["the", "who"]);
    expect(asked("die Das", ["de"])).toEqual(["die", "da"]);
    expect(asked("who are you")).toEqual(["who", "be", "you"]);
    expect(asked("What about the budget?")).toContain("budget");
  });

  test.each(["US", "IT", "WHO", "SO"])("%s in capitals is a name", (name) => {
    const own = `^${name.toLowerCase()}`;
    expect(asked(`the ${name} budget`)).toEqual([own, "budget"]);
    expect(asked(`the ${name.toLowerCase()} budget`)).toEqual(["budget"]);
    expect(asked(name)).toContain(own);
    expect(asked(`WHAT DID THE ${name} BUDGET SAY`)).not.toContain(own);
  });

  test("words of all languages are in small letters, each once", () => {
    for (const code of languageCodes) for (const word of functionWords[code]) expect(word).toMatch(/^\p{Ll}+$/u);
  });
});
