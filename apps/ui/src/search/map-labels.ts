import type { Memory } from "@memslot/core";
import { isFunctionWord } from "@memslot/indexing/host";

const mostGroups = 20;
const mostPassages = 24;
const mostWords = 3;
/** Added to both shares: a word that the other groups lack is not endlessly better. */
const smoothing = 0.02;

/**
 * The words that tell groups of passages apart, up to three for each: common in one group and rare in the others.
 * A passage is `path:12-20`.
 */
export async function mapLabels(
  memory: Memory,
  groups: readonly (readonly string[])[],
  signal: AbortSignal,
): Promise<string[][]> {
  const read: string[][][] = [];
  for (const group of groups.slice(0, mostGroups))
    read.push(await Promise.all(group.slice(0, mostPassages).map((passage) => wordsOf(memory, passage, signal))));
  const counts = [read.flat(), ...read].map((passages) => Map.groupBy(passages.flat(), (word) => word));
  const countIn = (group: number, word: string): number => counts[group]?.get(word)?.length ?? 0;
  return read.map((passages, index) => {
    const scored = [...(counts[index + 1]?.keys() ?? [])].map((word) => {
      const count = countIn(index + 1, word);
      const inside = count / passages.length;
      const outside = (countIn(0, word) - count) / Math.max(1, read.flat().length - passages.length);
      return { word, score: count > 1 ? inside * Math.log((inside + smoothing) / (outside + smoothing)) : 0 };
    });
    const best = scored.filter(({ score }) => score > 0).toSorted((a, b) => b.score - a.score);
    return best.slice(0, mostWords).map(({ word }) => word);
  });
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** The words of a passage in lower case, without function words, numbers, addresses and code. */
async function wordsOf(memory: Memory, passage: string, signal: AbortSignal): Promise<string[]> {
  const [, path = "", from, to] = /^([^]*):(\d+)-(\d+)$/u.exec(passage) ?? [];
  const { text } = await memory.readFile({ path, from: Number(from), lines: Number(to) - Number(from) + 1, signal });
  const prose = text.replaceAll(/https?:\/\/\S+|`[^`\n]*`/gu, " ").toLocaleLowerCase();
  const words = [...segmenter.segment(prose)].map(({ segment }) => segment);
  const isTelling = (word: string): boolean =>
    (/^[\p{L}\p{M}'’-]{3,}$/u.test(word) || /^\p{Script=Han}{2,}$/u.test(word)) && !isFunctionWord(word, []);
  return [...new Set(words.filter(isTelling))];
}
