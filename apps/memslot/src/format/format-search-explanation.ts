import type { ScoreParts, SearchWhy, WhyPlace, WhyRung } from "@memslot/core";

const signs: Readonly<Record<WhyRung["state"], string>> = { ok: "+", note: "~", failed: "x", unknown: "." };

/** The parts of a score that are not zero. */
export function describeParts({ words, names, dates, meaning, rerank }: ScoreParts): string {
  const named = Object.entries({ words, names, dates, meaning }).flatMap(([name, value]) =>
    value === 0 ? [] : [`${name} ${value.toFixed(3)}`],
  );
  const moved = rerank === undefined ? [] : [`rank ${rerank.before} -> ${rerank.after}: ${signed(rerank.change)}`];
  return [...named, ...moved].join(" + ");
}

/** Why a note or a line is not found (`--why`): the conclusion, the next step, and each check. */
export function formatWhy(why: SearchWhy): string {
  const { sentence, act, rungs, place, beatenBy } = why;
  return [
    [`${sentence}.`, act?.says].filter(Boolean).join(" "),
    ...rungs.map(({ state, step, says }) => `${signs[state]} ${`${step}:`.padEnd(11)}${says}`),
    ...(place === undefined ? [] : ["", `this:       ${describePlace(place)}`]),
    ...(beatenBy === undefined ? [] : [`beaten by:  ${describePlace(beatenBy)}`]),
  ].join("\n");
}

function describePlace({ rank, score, path, startLine, endLine, parts }: WhyPlace): string {
  return `${rank}. ${score.toFixed(3)} ${path}:${startLine}-${endLine} (${describeParts(parts)})`;
}

function signed(value: number): string {
  return value < 0 ? value.toFixed(3) : `+${value.toFixed(3)}`;
}
