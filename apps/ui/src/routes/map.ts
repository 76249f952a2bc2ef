import type { Memory } from "@memslot/core";
import { isFunctionWord } from "@memslot/indexing/host";
import type { MapAnswer } from "../api-types.ts";
import { RouteError, type Routes } from "../server/answer-request.ts";
import type { UiHost } from "../ui-host.ts";

/** More than a plane has: the page computes a better layout from them. */
const mapDimensions = 16;
const mostGroups = 20;
const mostPassages = 24;
const mostWords = 3;
/** Added to both shares: a word that the other groups lack is not endlessly better. */
const smoothing = 0.02;
const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** The passages as points, and the words of their groups. */
export function mapRoutes({ memory }: UiHost): Routes {
  return {
    async "GET /api/map"({ signal }): Promise<MapAnswer | null> {
      const map = await memory.map({ dimensions: mapDimensions, signal });
      const list = await memory.listFiles({ scan: false, signal });
      const tagsOf = new Map(list?.files.map(({ path, tags = [] }) => [path, tags]));
      return map === undefined ? null : { ...map, tags: map.notes.map(({ path }) => tagsOf.get(path) ?? []) };
    },

    /**
     * The words that tell groups of passages apart, up to three for each: common in one group and rare in the others.
     * A passage is `path:12-20`.
     */
    async "POST /api/map/labels"({ body: { groups }, signal }): Promise<string[][]> {
      const isGroup = (group: unknown): group is string[] =>
        Array.isArray(group) && group.every((each) => typeof each === "string");
      if (!Array.isArray(groups) || !groups.every(isGroup))
        throw new RouteError("INVALID_ARGUMENT", "groups must be lists of passages such as path:12-20");
      const read: string[][][] = [];
      for (const group of groups.slice(0, mostGroups))
        read.push(await Promise.all(group.slice(0, mostPassages).map((passage) => wordsOf(memory, passage, signal))));
      return read.map((own) => wordsApart(own, read.filter((each) => each !== own).flat()));
    },
  };
}

/** Words of passages that others lack. */
function wordsApart(passages: readonly string[][], others: readonly string[][]): string[] {
  const [own, other] = [passages, others].map((each) => Map.groupBy(each.flat(), (word) => word));
  const scored = [...(own ?? [])].map(([word, { length: count }]) => {
    const inside = count / passages.length;
    const outside = (other?.get(word)?.length ?? 0) / Math.max(1, others.length);
    return { word, score: count > 1 ? inside * Math.log((inside + smoothing) / (outside + smoothing)) : 0 };
  });
  const best = scored.filter(({ score }) => score > 0).toSorted((a, b) => b.score - a.score);
  return best.slice(0, mostWords).map(({ word }) => word);
}

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
