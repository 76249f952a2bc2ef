import { describe, expect, test } from "vitest";
import cases from "../test/data/cases.json" with { type: "json" };
import { failureOfEnd, failureOfWords } from "./failures.ts";
import { rowOf } from "./process/qmd-client.ts";

const code1 = { code: 1, signal: null };

describe("the reason of a failure", () => {
  test.each(cases.ends as [number | null, NodeJS.Signals | null, string, string][])(
    "code %s, signal %s, words %j: %#",
    (code, signal, stderr, reason) => {
      expect(failureOfEnd("qmd update", { code, signal }, stderr).reason).toBe(reason);
    },
  );

  test("does not come from words of the query in the progress of qmd", () => {
    const stderr = "Structured search: 1 query\n├─ lex: SQLITE_CORRUPT\n└─ lex: Collection not found: x\nBoom\n";
    const expected = { reason: "qmd_error", message: "qmd update ended with code 1: Boom" };
    expect(failureOfEnd("qmd update", code1, stderr)).toMatchObject(expected);
  });
});

test("the message has the line that names the error, and the action is the next step", () => {
  const message = "qmd update ended with code 1: Error: Line 1 is missing a lex:/vec:/hyde: prefix.";
  expect(failureOfEnd("qmd update", code1, cases.longMessage.join("\n")).message).toBe(message);
  const failure = failureOfWords("the tool query of qmd", "SqliteError: something\n  code: 'SQLITE_FULL'");
  expect(failure).toMatchObject({ reason: "no_space", action: expect.stringContaining("make room") });
});

test.each(cases.files as [string, string, string][])("the file %s is %s and %s", (file, collection, path) => {
  expect(rowOf({ file })).toEqual({ collection, path });
});
