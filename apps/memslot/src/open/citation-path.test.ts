import { expect, test } from "vitest";
import data from "../../test/data/citations.json" with { type: "json" };
import { parseCitationPath } from "../commands/memory/memory-get.ts";

test.each(data.places as [string, string, number?, number?][])("%j is a place in %j", (text, name, from, lines) => {
  expect(parseCitationPath(text)).toEqual({ path: name, from, lines });
});

test.each(data.refused)("%s names no lines, and is refused", (text) => {
  expect(() => parseCitationPath(text)).toThrow(`${text}: lines start at 1, and a range cannot end before it starts`);
});
