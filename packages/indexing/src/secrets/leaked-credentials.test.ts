import { describe, expect, test } from "vitest";
import { redactSecrets } from "./redact-secrets.ts";
import { innocentNotes } from "../../test/support/innocent-notes.ts";
import { leakedCredentials, leaksFrom } from "../../test/support/leaked-credentials.ts";

describe("a credential as notes hold it", () => {
  test("comes in more shapes than one would think", () => {
    expect(leakedCredentials.length).toBeGreaterThanOrEqual(119);
    expect(leakedCredentials.filter((each) => leaksFrom(each, each.text).length === 0)).toEqual([]);
  });

  test.each(leakedCredentials.map((each) => [each.what, each] as const))("does not leave: %s", (_, each) => {
    const redacted = redactSecrets(each.text);
    expect(leaksFrom(each, redacted)).toEqual([]);
    expect(redacted.split("\n")).toHaveLength(each.text.split("\n").length);
    expect(redacted).toContain("[redacted: ");
    expect(redactSecrets(redacted)).toBe(redacted);
  });
});

describe("a note without a secret", () => {
  test("comes in many forms too", () => {
    expect(innocentNotes.length).toBeGreaterThanOrEqual(41);
  });

  test.each(innocentNotes.map((note) => [note]))("stays: %s", (note) => {
    expect(redactSecrets(note)).toBe(note);
  });
});
