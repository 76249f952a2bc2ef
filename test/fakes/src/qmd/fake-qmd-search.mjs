/**
 * How the scripted qmd finds: as qmd 2.8.3 does for lists of words. One result a file, the words of a line all needed, a
 * word finds what begins with it, lines fused by reciprocal rank.
 */
import { Failure } from "./fake-qmd-index.mjs";

/** The files that the lines find, best first: `{ document, line }`. Throws for what qmd does not take. */
export function searchLines(index, searches, collections) {
  const known = cache(index);
  const lists = [];
  for (const { type, query } of searches) {
    if (/[\r\n]/.test(query)) throw new Failure("Error: queries must be single-line. Remove newline characters.");
    if (type === "lex" && (query.match(/"/g)?.length ?? 0) % 2 === 1)
      throw new Failure('Error: Structured search (lex): unmatched double quote (")');
    if (type !== "lex" && /(^|\s)-[\w"]/.test(query))
      throw new Failure("Error: Negation (-term) is not supported in vec/hyde queries.");
    for (const collection of collections) {
      const documents = known.filter(({ document }) => document.collection === collection);
      const list = type === "lex" ? lexList(known, documents, query) : wordsInCommon(documents, query);
      if (list.length > 0) lists.push(list.slice(0, 20));
    }
  }
  return fuse(lists);
}

/** The words of each document, made once for each search. */
function cache(index) {
  return index.documents
    .filter(({ active }) => active)
    .map((document) => ({
      document,
      // File name, title and body count 1.5, 4 and 1.
      fields: [
        { weight: 1.5, words: wordsOf(`${document.collection}/${document.path}`) },
        { weight: 4, words: wordsOf(document.title) },
        { weight: 1, words: wordsOf(document.body) },
      ],
    }));
}

/** Words as the index has them: lower case, without accents, stemmed; a CJK character is a word. */
function wordsOf(text) {
  const folded = text.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();
  return (
    folded.match(
      /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]|[\p{L}\p{N}]+?(?=[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]|[^\p{L}\p{N}]|$)/gu,
    ) ?? []
  ).map(stemOf);
}

function stemOf(word) {
  if (!/^[a-z]{4,}$/.test(word)) return word;
  if (word.endsWith("sses")) return word.slice(0, -2);
  const stem = word.replace(/ies$/, "i").replace(/([^s])s$/, "$1");
  return /[aeiou].*(?:ing|ed)$/.test(stem) && stem.length > 5
    ? stem.replace(/(?:ing|ed)$/, "")
    : stem.replace(/(?<=..)y$/, "i");
}

/** The phrases of a lex line: `{ words, isPrefix, isNegated }`. */
function phrasesOf(line) {
  return [...line.matchAll(/(-?)(?:"([^"]*)"|([^\s"]+))/gu)]
    .flatMap(([, minus, quoted, word]) => {
      const isNegated = minus === "-";
      if (quoted !== undefined) return [{ words: wordsOf(quoted), isPrefix: false, isNegated }];
      if (/^[\p{L}\p{N}][\p{L}\p{N}'-]*-[\p{L}\p{N}][\p{L}\p{N}'-]*$/u.test(word))
        return [{ words: wordsOf(word), isPrefix: false, isNegated }];
      const parts = word.split(".");
      if (parts.length > 1 && parts.every((part) => /^[\p{L}\p{N}_]+$/u.test(part)))
        return parts.map((part) => ({ words: wordsOf(part), isPrefix: true, isNegated }));
      const isCjk = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u.test(word);
      return [{ words: wordsOf(isCjk ? word : word.replaceAll(/[^\p{L}\p{N}'_]/gu, "")), isPrefix: !isCjk, isNegated }];
    })
    .filter(({ words }) => words.length > 0);
}

function lexList(all, documents, line) {
  const phrases = phrasesOf(line);
  const wanted = phrases.filter(({ isNegated }) => !isNegated);
  const unwanted = phrases.filter(({ isNegated }) => isNegated);
  if (wanted.length === 0) return [];
  const rarities = wanted.map((phrase) => {
    const present = all.filter((each) => frequency(each, phrase) > 0).length;
    return Math.max(1e-6, Math.log((all.length - present + 0.5) / (present + 0.5)));
  });
  const lengthOf = ({ fields }) => fields.reduce((sum, { words }) => sum + words.length, 0);
  const average = all.reduce((sum, each) => sum + lengthOf(each), 0) / Math.max(1, all.length);
  return documents
    .filter((each) => wanted.every((phrase) => frequency(each, phrase) > 0))
    .filter((each) => !unwanted.some((phrase) => frequency(each, phrase) > 0))
    .map((each) => {
      const length = 1.2 * (0.25 + (0.75 * lengthOf(each)) / average);
      const score = wanted.reduce((sum, phrase, index) => {
        const count = frequency(each, phrase);
        return sum + (rarities[index] * count * 2.2) / (count + length);
      }, 0);
      return { document: each.document, score };
    })
    .sort((left, right) => right.score - left.score)
    .map(({ document }) => document);
}

/** How often a document has a phrase, weighted by the field. */
function frequency({ fields }, { words: phrase, isPrefix }) {
  let sum = 0;
  for (const { weight, words } of fields) {
    for (let at = 0; at + phrase.length <= words.length; at++) {
      const isThere = phrase.every((word, offset) =>
        isPrefix && offset === phrase.length - 1 ? words[at + offset].startsWith(word) : words[at + offset] === word,
      );
      if (isThere) sum += weight;
    }
  }
  return sum;
}

/** What stands for a search by meaning: the share of words in common. Only documents with a vector take part. */
function wordsInCommon(documents, question) {
  const asked = new Set(wordsOf(question));
  return documents
    .filter(({ document }) => document.vector)
    .map(({ document, fields }) => {
      const words = new Set(fields.flatMap((field) => field.words));
      return { document, score: asked.intersection(words).size / Math.sqrt(words.size + 1) };
    })
    .sort((left, right) => right.score - left.score)
    .map(({ document }) => document);
}

/** Reciprocal rank fusion with k = 60: the first list counts twice, and a first or second place in any has a bonus. */
function fuse(lists) {
  const sums = new Map();
  for (const [at, list] of lists.entries()) {
    for (const [rank, document] of list.entries()) {
      const known = sums.get(document) ?? { sum: 0, best: rank };
      sums.set(document, {
        sum: known.sum + (at === 0 ? 2 : 1) / (61 + rank),
        best: Math.min(known.best, rank),
      });
    }
  }
  const bonus = (best) => (best === 0 ? 0.05 : best <= 2 ? 0.02 : 0);
  return [...sums]
    .map(([document, { sum, best }]) => ({ document, score: sum + bonus(best) }))
    .sort((left, right) => right.score - left.score)
    .map(({ document }) => document);
}
