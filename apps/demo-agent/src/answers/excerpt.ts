import { matchUnits } from "./question-match.ts";

const maxChars = 320;

/** The sentences of a long text that hold most of the question, whole; a short text as it is. */
export function excerpt(question: string, text: string): string {
  if (text.length <= maxChars) return text;
  const sentences = sentencesOf(text);
  const candidates = sentences.map((sentence, index) => ({
    path: "",
    searchScore: 0,
    unit: { startLine: index, endLine: index, text: sentence, headings: [], surroundings: "" },
  }));
  let first = matchUnits(question, candidates)[0]?.unit.startLine ?? 0;
  let last = first;
  const lengthOf = (from: number, to: number): number => sentences.slice(from, to + 1).join("").length;
  while (last + 1 < sentences.length && lengthOf(first, last + 1) <= maxChars) last += 1;
  while (first > 0 && lengthOf(first - 1, last) <= maxChars) first -= 1;
  const quoted = sentences
    .slice(first, last + 1)
    .join("")
    .trim();
  return `${first > 0 ? "… " : ""}${quoted}${last + 1 < sentences.length ? " …" : ""}`;
}

function sentencesOf(text: string): string[] {
  return [...new Intl.Segmenter("en", { granularity: "sentence" }).segment(text)].map(({ segment }) => segment);
}
