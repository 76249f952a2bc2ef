import { describe, expect, test } from "vitest";
import { checkHeader, checkKey } from "@memslot/core/providers";

function said(run: () => void): string {
  try {
    run();
  } catch (error) {
    return String(error);
  }
  return "";
}

describe("a key", () => {
  test.each([
    [" sk-4711", "white space"],
    ["sk-47\n11", "white space"],
    ['"sk-4711"', "quotes"],
    ["“sk-4711”", "quotes"],
    ["Bearer sk-4711", '"Bearer"'],
    ["${OPENAI_API_KEY}", "name of a variable"],
    ["$OPENAI_API_KEY", "name of a variable"],
    ["sk-4711\u200b", "a character that no key has"],
  ])("as %j cannot be right, and is not shown", (value, problem) => {
    const message = said(() => checkKey({ value, source: "OPENAI_API_KEY" }));
    expect(message).toContain(`the key from OPENAI_API_KEY cannot be right: it`);
    expect(message).toContain(problem);
    expect(message).not.toContain("4711");
  });

  test.each(["sk-proj-a_B-1", "none", "AIza$1x", "dGVzdA=="])("as %s may be one", (value) => {
    expect(said(() => checkKey({ value, source: "x" }))).toBe("");
  });
});

describe("a header", () => {
  test("that cannot be sent is named without its value", () => {
    const message = said(() => checkHeader("x team", "secret-4711"));
    expect(message).toContain('"x team" cannot be sent');
    expect(said(() => checkHeader("x-team", "two\nlines-4711"))).toContain("cannot be sent");
    expect(message + said(() => checkHeader("x-team", "two\nlines-4711"))).not.toContain("4711");
    expect(said(() => checkHeader("x-team", "a"))).toBe("");
  });
});
