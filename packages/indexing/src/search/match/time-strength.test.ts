import { expect, test } from "vitest";
import { oneDay } from "../../text/times/calendar.ts";
import type { Days } from "../../text/times/calendar.ts";
import { candidateOf } from "../rank.ts";
import { row } from "../test/ranked.ts";
import { timeStrength } from "./time-strength.ts";

const asked = [oneDay(2026, 3, 5)].filter((days): days is Days => days !== undefined);

function strengthOf(path: string, timeMatch: number): ReturnType<typeof timeStrength> {
  return timeStrength([{ ...candidateOf(row("A quiet day.", { path }), []), timeMatch }], asked);
}

test("a note of the time that is asked for is an answer, one of the days after it is not", () => {
  expect(strengthOf("memory/2026-03-05.md", 1)).toEqual({ confidence: 1, match: { level: "strong" } });
  expect(strengthOf("memory/2026-03.md", 0.52).match.level).toBe("strong");
  const after = strengthOf("memory/2026-03-06.md", 0.53);
  expect(after.confidence).toBeLessThan(0.4);
  expect(after.match).toEqual({ level: "weak", reason: "no note is of that time; these are of days near it" });
  expect(strengthOf("memory/2024-08-20.md", 0).match).toEqual({ level: "none", reason: "no note is of that time" });
  expect(timeStrength([], asked).match.level).toBe("none");
});
