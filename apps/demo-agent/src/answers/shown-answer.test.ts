import { expect, test } from "vitest";
import { createShownAnswer } from "./shown-answer.ts";

const nothing = "(The model had nothing to say to this.)";

test.each([
  [["NO_REPLY"], nothing],
  [["**NO", "_RE", "PLY", "**"], nothing],
  [['{"act', 'ion": "NO', '_REPLY"}'], nothing],
  [["```\n", "NO_REPLY", "\n```"], nothing],
  [["NO", ", it is", " HX-19."], "NO, it is HX-19."],
  [["No"], "No"],
  [["NO_REPLY", " is what I would say"], "NO_REPLY is what I would say"],
  [["- ", "one", "\n- two"], "- one\n- two"],
  [[], ""],
])("%j is shown as %j", (pieces, wanted) => {
  let shown = "";
  const answer = createShownAnswer((delta) => (shown += delta));
  for (const piece of pieces) answer.onText(piece);
  expect(answer.end(pieces.join(""))).toBe(wanted);
  expect(shown).toBe(wanted);
});

test("words are shown as they come", () => {
  const shown: string[] = [];
  const answer = createShownAnswer((delta) => void shown.push(delta));
  for (const piece of ["The", " code", " is"]) answer.onText(piece);
  expect(shown).toEqual(["The", " code", " is"]);
});
