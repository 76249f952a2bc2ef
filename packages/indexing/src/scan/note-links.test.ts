import { describe, expect, test } from "vitest";
import { createLinkResolver, linksIn } from "./note-links.ts";
import tables from "./test/links.json" with { type: "json" };

const targets = (text: string): string[] => linksIn(text.split("\n")).map(({ target }) => target);

describe("links of a note", () => {
  test("are those to notes, with their lines", () => {
    const text = tables.text;
    expect(linksIn(text).map(({ line, kind, target }) => [line, kind, target])).toEqual(tables.links);
  });

  test("are not what stands in code", () => {
    expect(targets("`[[a]]`\n```\n[[b]]\n```\n[[c]]\n~~~~\n[[d]]\n~~~\n[[e]]\n~~~~\n[[f]]")).toEqual(["c", "f"]);
  });

  test("takes no time for a line that is made to take some", () => {
    expect(targets(`${"[".repeat(9_000)}\n${"](".repeat(4_900)}\n${"](a".repeat(3_000)}`)).toEqual([]);
  });
});

describe("a link leads to", () => {
  const resolve = createLinkResolver(tables.notes);

  test.each(tables.resolved as [string, "wiki" | "markdown", string, string?][])(
    "from %s by %s %j: %s",
    (from, kind, target, path) => {
      expect(resolve(from, { kind, target }).path).toBe(path);
    },
  );

  test("a heading, also of the note itself", () => {
    expect(resolve("MEMORY.md", { kind: "wiki", target: "#Ports" })).toEqual({ path: "MEMORY.md", heading: "Ports" });
    expect(resolve("MEMORY.md", { kind: "markdown", target: "memory/a.b.md#a%20b" })).toEqual({
      path: "memory/a.b.md",
      heading: "a b",
    });
  });
});
