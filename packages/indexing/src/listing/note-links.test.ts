import { describe, expect, test } from "vitest";
import { linksIn } from "./note-links.ts";
import { createLinkResolver } from "./resolve-link.ts";
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
  const wiki = (from: string, target: string): unknown => resolve(from, { kind: "wiki", target }).path;
  const plain = (from: string, target: string): unknown => resolve(from, { kind: "markdown", target }).path;

  test("a note by its path, its name, the nearest of one name, and its other names", () => {
    expect(wiki("MEMORY.md", "memory/work/pump")).toBe("memory/work/pump.md");
    expect(wiki("MEMORY.md", "home/Pump.md")).toBe("memory/home/pump.md");
    expect(wiki("memory/work/report 2.md", "pump")).toBe("memory/work/pump.md");
    expect(wiki("memory/home/x.md", "PUMP")).toBe("memory/home/pump.md");
    expect(wiki("MEMORY.md", "a.b")).toBe("memory/a.b.md");
    expect(wiki("MEMORY.md", "wa\u0308rmepumpe")).toBe("memory/home/pump.md");
    expect(wiki("MEMORY.md", "the heat pump")).toBe("memory/home/pump.md");
    expect(wiki("MEMORY.md", "nothing")).toBeUndefined();
    expect(wiki("MEMORY.md", "ump")).toBeUndefined();
  });

  test("a place relative to its own folder, decoded, and never to one above the workspace", () => {
    expect(plain("memory/home/pump.md", "../work/report%202.md#x")).toBe("memory/work/report 2.md");
    expect(plain("memory/home/pump.md", "/MEMORY.md")).toBe("MEMORY.md");
    expect(plain("memory/home/pump.md", "%E0%A4%A.md")).toBeUndefined();
    expect(plain("MEMORY.md", "../../etc/passwd.md")).toBeUndefined();
  });

  test("a heading, also of the note itself", () => {
    expect(resolve("MEMORY.md", { kind: "wiki", target: "#Ports" })).toEqual({ path: "MEMORY.md", heading: "Ports" });
    expect(resolve("MEMORY.md", { kind: "markdown", target: "memory/a.b.md#a%20b" })).toEqual({
      path: "memory/a.b.md",
      heading: "a b",
    });
  });
});
