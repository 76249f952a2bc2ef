import type { UnsearchedFiles } from "@memslot/core";

/** The few words of its own that the responder has, in the language of the question. */
export interface Phrases {
  found: string;
  weak: string;
  nothing: string;
  /** Why something that is in the notes may not have been found. */
  wordsOnly: string;
  /** Notes below the workspace that are no part of the memory. */
  unsearched: (unsearched: UnsearchedFiles) => string;
  notWhole: (state: string, reason: string | undefined) => string;
  off: (reason: string | undefined) => string;
}

export function phrasesFor(question: string): Phrases {
  return /\p{Script=Han}/u.test(question) && !/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(question)
    ? chinese
    : english;
}

const english: Phrases = {
  found: "From the notes:",
  weak: "Memory holds no clear answer to this. The nearest line, a weak match:",
  nothing: "Memory holds nothing on this.",
  wordsOnly: "(The search is by words: a note that says it in other words is not found.)",
  unsearched: ({ files, more }) =>
    `(Markdown files below the workspace that are not searched: ${more ? "more than " : ""}${files}. Name their folders in memorySearch.extraPaths.)`,
  notWhole: (state, reason) =>
    `Note: memory is ${state}, so this may not be all${reason === undefined ? "" : `: ${reason}`}.`,
  off: (reason) => `Memory is off${reason === undefined ? "" : ` (${reason})`}, so there is nothing to answer from.`,
};

const chinese: Phrases = {
  found: "笔记里写着：",
  weak: "记忆里没有明确的答案。最接近的一条，只是弱匹配：",
  nothing: "记忆里没有这方面的内容。",
  wordsOnly: "（只按字词查找，换个说法也许能找到。）",
  unsearched: ({ files, more }) =>
    `（工作区里还有 ${files} 个${more ? "以上的" : ""} Markdown 文件没有被搜索，把它们的文件夹写进 memorySearch.extraPaths 即可。）`,
  notWhole: (state, reason) => `注意：记忆的状态是 ${state}，可能不全${reason === undefined ? "" : `：${reason}`}。`,
  off: (reason) => `记忆已关闭${reason === undefined ? "" : `（${reason}）`}，没有可以回答的依据。`,
};
