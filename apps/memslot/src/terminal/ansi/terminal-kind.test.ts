import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { createOutput } from "../output.ts";
import rows from "./terminal-kind.json" with { type: "json" };
import { hasColors, linksWithLines, takesLinks } from "./terminal-kind.ts";

/** Whether it is on a terminal, the environment, and what is expected there. */
type Row = [what: string, isTTY: boolean, env: Record<string, string>, expected: boolean];

describe("colours", () => {
  test.each(rows.colours as Row[])("%s", (_, isTTY, env, expected) => {
    expect(hasColors({ isTTY }, env, "auto")).toBe(expected);
    expect(hasColors({ isTTY }, env, "always")).toBe(true);
    expect(hasColors({ isTTY }, env, "never")).toBe(false);
  });
});

describe("links to files", () => {
  test.each(rows.links as Row[])("%s", (_, isTTY, env, expected) => {
    expect(takesLinks({ isTTY }, env)).toBe(expected);
  });

  test("name the line where that is understood", () => {
    expect(linksWithLines({ TERM: "xterm-kitty" })).toBe(true);
    expect(linksWithLines({ TERM_PROGRAM: "iTerm.app" })).toBe(true);
    expect(linksWithLines({ VTE_VERSION: "7600" })).toBe(false);
  });
});

describe.skipIf(process.platform === "win32")("an output", () => {
  const linked = (env: NodeJS.ProcessEnv): string => {
    const stream = new PassThrough() as unknown as NodeJS.WriteStream;
    return createOutput(stream, stream, env).link("a b:3", { absolutePath: "/notes/a b\u001B\\#c.md", line: 3 });
  };

  test("makes a link whose address is plain ASCII, whatever the name of the file", () => {
    expect(linked({ FORCE_HYPERLINK: "1" })).toBe(
      "\u001B]8;;file:///notes/a%20b%1B%5C%23c.md\u001B\\a b:3\u001B]8;;\u001B\\",
    );
    expect(linked({ FORCE_HYPERLINK: "1", TERM: "xterm-kitty" })).toContain("%23c.md#3\u001B\\");
  });

  test("leaves the name as it is elsewhere", () => {
    expect(linked({})).toBe("a b:3");
  });
});
