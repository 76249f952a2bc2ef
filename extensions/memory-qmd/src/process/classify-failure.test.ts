import { describe, expect, test } from "vitest";
import { classifyEnd, classifyWords } from "./classify-failure.ts";

const sqlite = (code: string): string =>
  `SqliteError: something\n    at Database.exec (node:1:1) {\n  code: '${code}'\n}\n`;

describe("by its end", () => {
  test.each([
    [null, "SIGSEGV", "", "crash"],
    [139, null, "", "crash"],
    [134, null, "", "crash"],
    [null, "SIGKILL", "", "crash"],
    [143, null, "", "crash"],
    [1, null, "qmd is not built: missing /x/dist/cli/qmd.js", "not_built"],
    [1, null, "Error: Cannot find module '/x/dist/cli/qmd.js'\n    at x", "not_built"],
    [1, null, "Collection not found: notes", "unknown_collection"],
    [1, null, "Error: Failed to parse /s/qmd/index.yml: bad indentation", "config_broken"],
    [1, null, sqlite("SQLITE_BUSY"), "index_busy"],
    [1, null, sqlite("SQLITE_NOTADB"), "index_damaged"],
    [1, null, sqlite("SQLITE_CORRUPT"), "index_damaged"],
    [1, null, sqlite("SQLITE_FULL"), "no_space"],
    [1, null, sqlite("SQLITE_IOERR_WRITE"), "no_space"],
    [1, null, "Error: Cannot open database because the directory does not exist", "no_space"],
    [1, null, "Error: LLM operations are disabled in CI", "models_unavailable"],
    [1, null, "Error: No model file found at /x.gguf", "models_unavailable"],
    [1, null, "getaddrinfo ENOTFOUND huggingface.co", "models_unavailable"],
    [1, null, "something else", "qmd_error"],
    [1, null, "", "qmd_error"],
  ] as const)("code %s, signal %s, words %j: %#", (code, signal, stderr, reason) => {
    expect(classifyEnd("qmd query", { code, signal }, stderr).reason).toBe(reason);
  });
});

test("a question that has the words of a failure in it is none", () => {
  const stderr =
    "Structured search: 2 queries (lex+lex)\n├─ lex: SQLITE_CORRUPT\n└─ lex: Collection not found: x\nBoom\n";
  const failure = classifyEnd("qmd query", { code: 1, signal: null }, stderr);
  expect(failure).toMatchObject({ reason: "qmd_error", message: "qmd query ended with code 1: Boom" });
});

test("the message has the line that tells what went wrong, and no addresses of code", () => {
  const stderr = [
    "Cannot find package 'sqlite-vec-linux-x64' imported from /x/sqlite-vec/index.mjs",
    "Error: Line 1 is missing a lex:/vec:/hyde: prefix.",
    "    at parse (file:///x/dist/cli/qmd.js:1:1)",
    "Node.js v24.16.0",
  ].join("\n");
  expect(classifyEnd("qmd query", { code: 1, signal: null }, stderr).message).toBe(
    "qmd query ended with code 1: Error: Line 1 is missing a lex:/vec:/hyde: prefix.",
  );
});

test("what can be done about it is said", () => {
  expect(classifyEnd("qmd query", { code: 139, signal: null }, "").action).toContain("22");
  expect(classifyWords("the tool query of qmd", sqlite("SQLITE_FULL"))).toMatchObject({
    reason: "no_space",
    action: expect.stringContaining("make room"),
  });
});
