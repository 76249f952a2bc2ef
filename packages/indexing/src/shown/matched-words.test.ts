import { describe, expect, test } from "vitest";
import { createMatcher, marked as markedBy } from "./matched-words.ts";

const marked = (text: string, query: string): string =>
  markedBy(text, createMatcher(query)(text), (words) => `[${words}]`);

describe("marking the matched words", () => {
  test("marks other forms of a word of the query", () => {
    expect(marked("We decided to move the Backups.", "decide backup")).toBe("We [decided] to move the [Backups].");
  });

  test("marks an identifier as a whole and its parts alone", () => {
    expect(marked("Ticket QX-7919 is done, QX is not.", "QX-7919")).toBe("Ticket [QX-7919] is done, [QX] is not.");
  });

  test("marks neighbouring CJK characters as one stretch", () => {
    expect(marked("我们把备份服务器搬到了柏林。", "备份服务器")).toBe("我们把[备份服务器]搬到了柏林。");
  });

  test("marks of a single CJK character only that one", () => {
    expect(marked("用猫粮喂猫", "猫")).toBe("用[猫]粮喂[猫]");
  });

  test("leaves a text without a match, and stop words, as they are", () => {
    expect(marked("the quick brown fox", "what is the plan")).toBe("the quick brown fox");
  });
});

test("a text is worth as many words of the query as it holds, however often", () => {
  const words = (text: string): number => createMatcher("mail server")(text).words;
  expect(["The mail server", "mail, mails, mailing", "servers of mail", "nothing"].map(words)).toEqual([2, 1, 2, 0]);
});
