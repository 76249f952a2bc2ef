import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { createOutput } from "../output.ts";
import { hasColors, linksWithLines, takesLinks } from "./terminal-kind.ts";

const terminal = { isTTY: true };
const pipe = {} as { isTTY: boolean };

describe("colours", () => {
  test.each([
    ["on a terminal", terminal, {}, true],
    ["in a pipe", pipe, {}, false],
    ["on a terminal that is dumb", terminal, { TERM: "dumb" }, false],
    ["with NO_COLOR", terminal, { NO_COLOR: "1" }, false],
    ["with an empty NO_COLOR, which is none", terminal, { NO_COLOR: "" }, true],
    ["with FORCE_COLOR", pipe, { FORCE_COLOR: "1" }, true],
    ["with an empty FORCE_COLOR", pipe, { FORCE_COLOR: "" }, true],
    ["with FORCE_COLOR=0", terminal, { FORCE_COLOR: "0" }, false],
    ["with FORCE_COLOR=false", terminal, { FORCE_COLOR: "false" }, false],
    ["with both, as Node has it", pipe, { FORCE_COLOR: "1", NO_COLOR: "1" }, true],
  ])("%s", (_, stream, env, expected) => {
    expect(hasColors(stream, env, "auto")).toBe(expected);
    expect(hasColors(stream, env, "always")).toBe(true);
    expect(hasColors(stream, env, "never")).toBe(false);
  });
});

describe("links to files", () => {
  test.each([
    ["a pipe", pipe, { TERM_PROGRAM: "iTerm.app" }, false],
    ["an unknown terminal", terminal, { TERM: "xterm-256color" }, false],
    ["VS Code, which opens path:line by itself", terminal, { TERM_PROGRAM: "vscode", TERM: "xterm-256color" }, false],
    ["GNOME Terminal", terminal, { VTE_VERSION: "7600" }, true],
    ["an old one, which crashed", terminal, { VTE_VERSION: "5000" }, false],
    ["iTerm", terminal, { TERM_PROGRAM: "iTerm.app" }, true],
    ["WezTerm", terminal, { TERM_PROGRAM: "WezTerm" }, true],
    ["kitty", terminal, { TERM: "xterm-kitty" }, true],
    ["Ghostty", terminal, { TERM: "xterm-ghostty" }, true],
    ["Alacritty", terminal, { TERM: "alacritty" }, true],
    ["Windows Terminal", terminal, { WT_SESSION: "1" }, true],
    ["Konsole", terminal, { KONSOLE_VERSION: "220401" }, true],
    ["tmux in any of them", terminal, { TMUX: "/tmp/tmux", TERM_PROGRAM: "iTerm.app" }, false],
    ["screen", terminal, { STY: "1", VTE_VERSION: "7600" }, false],
    ["one that is said to have them", pipe, { FORCE_HYPERLINK: "1" }, true],
    ["one that is said to have none", terminal, { FORCE_HYPERLINK: "0", TERM: "xterm-kitty" }, false],
  ])("%s", (_, stream, env, expected) => {
    expect(takesLinks(stream, env)).toBe(expected);
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
