import { foldText } from "./fold-text.ts";
import type { WordsAround } from "./grammar/words-around.ts";

/** What a Chinese question holds that asks for nothing but a time. */
const chineseFillers =
  /(?:什么|哪些|事情|事|情况|怎么样|怎样|如何|笔记|日记|日志|记录|内容|总结|回顾|列出|一下|所有|全部|发生|做|干|写|记|看|查|找|有|过|了|吗|呢|啊|的|都|是|在|我们|我|你|请|帮|给|告诉|把|些|啥|那天|期间|当天|时候|忙|这|那|和)/g;

/** Whether what is left of a question without its times asks for nothing. */
export function isNothing(rest: string, languages: readonly WordsAround[]): boolean {
  const text = foldText(rest)
    .text.replaceAll(chineseFillers, " ")
    .replaceAll(/(?<=\s|^)so far(?=\W|$)/g, " ")
    .replaceAll(/[^\p{L}\p{N}'-]+/gu, " ")
    .trim();
  if (text === "") return true;
  const words = text.split(" ").filter((word) => /[\p{L}\p{N}]/u.test(word));
  // One language for all of it: the German "war" is no English one.
  return languages.some(({ name, filler }) => {
    if (name === "german" && words.every((word) => word === "war" || word === "so")) return false;
    return words.every((word) => filler.test(word));
  });
}
