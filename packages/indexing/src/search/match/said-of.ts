import { anyOf } from "../../text/languages/languages.ts";
import { matchLines, type WeightedTerm } from "../line-scores.ts";
import { isQuestion, sentenceEnd } from "../passages/pieces.ts";
import type { Candidate } from "../rank.ts";
import { withoutPossessive } from "./named-words.ts";
import type { AskedTerms } from "./places.ts";

/** How steeply the share falls where more is said of others, and what is left at least. */
const steepness = 2;
const leastShare = 0.2;

/** Who speaks: `- Petra: …`, `**Petra**: …`. A name of up to three words, and no code, path or address. */
const speakerMark =
  /^\s*(?:[-*+]\s+)?(?:\*\*)?((?:[\p{Lu}\p{Lo}][\p{L}\p{M}'’.-]*)(?: [\p{Lu}\p{Lo}][\p{L}\p{M}'’.-]*){0,2})(?:\*\*)?[:：]\s*/u;

/** Words for the one who speaks, and for the one who is spoken to. */
const [speaking, spokenTo] = [anyOf("speaker"), anyOf("spokenTo")];

/**
 * Where people speak in turn and the question names one of them: 1 where what is said of that one holds as much of the
 * question as what is said of others, less where others have more of it, 0.2 at least. A sentence is about the one who says
 * it; a question, or a sentence that speaks of "you" and not of "me", about the one it is said to.
 */
export function shareSaidOf(
  candidates: readonly Candidate[],
  terms: readonly WeightedTerm[],
  { weights, named }: AskedTerms,
): number {
  // An identifier says nothing.
  const people = [...named].filter((index) => terms[index]?.kind !== "whole" && terms[index]?.identifier === false);
  const names = people.map((index) => withoutPossessive(terms[index]?.written ?? ""));
  const total = weights.reduce((sum, weight, index) => sum + (named.has(index) ? 0 : weight), 0);
  if (names.length === 0 || total === 0) return 1;
  const worthOf = (held: Iterable<number>): number =>
    [...held].reduce((sum, index) => sum + (named.has(index) ? 0 : (weights[index] ?? 0)), 0) / total;
  let [ofNamed, ofOthers] = [0, 0];
  for (const { lines, matches, scan } of candidates) {
    const speakers = lines.map((line) => speakerMark.exec(line)?.[1]?.toLowerCase());
    const isNamed = speakers.map((speaker) => speaker !== undefined && names.some((name) => speaker.includes(name)));
    // One name before a colon is the head of a list or a definition: others have to speak, too.
    if (!isNamed.includes(true) || new Set(speakers.filter((speaker) => speaker !== undefined)).size < 2) continue;
    for (const [at, line] of lines.entries()) {
      if (speakers[at] === undefined) continue;
      // What a line holds in all is the most that its sentences can add.
      if (worthOf(matches.lines[at]?.counts.keys() ?? []) <= Math.min(ofNamed, ofOthers)) continue;
      const sentences = sentencesOf(line.replace(speakerMark, ""));
      const held = matchLines(sentences, "", terms, scan).lines;
      const termsWhere = (isOfNamed: boolean): Set<number> =>
        new Set(
          held.flatMap(({ counts }, index) =>
            (isNamed[at] === isAboutSpeaker(sentences[index] ?? "")) === isOfNamed ? [...counts.keys()] : [],
          ),
        );
      ofNamed = Math.max(ofNamed, worthOf(termsWhere(true)));
      ofOthers = Math.max(ofOthers, worthOf(termsWhere(false)));
    }
  }
  return Math.min(1, Math.max(leastShare, 1 + steepness * (ofNamed - ofOthers)));
}

function isAboutSpeaker(sentence: string): boolean {
  const [ofSelf, ofOther] = [speaking.test(sentence), spokenTo.test(sentence)];
  return isQuestion(sentence) ? ofSelf && !ofOther : ofSelf || !ofOther;
}

function sentencesOf(line: string): string[] {
  const ends = [...line.matchAll(sentenceEnd)].map((match) => match.index + match[0].length);
  return [...ends, line.length].map((end, index) => line.slice(ends[index - 1] ?? 0, end));
}
