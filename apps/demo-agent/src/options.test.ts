import { expect, test } from "vitest";
import { parseOptions } from "./options.ts";

const none = { workspaceDir: undefined, backend: undefined, model: undefined, ask: undefined, tour: false };

test("without arguments it is the sample", () => {
  expect(parseOptions([])).toEqual({ kind: "run", options: none });
});

test("takes every option, also behind a separator that a package manager handed on", () => {
  const args = ["--workspace", "notes", "--backend=memory-lancedb", "--ask", "where?", "--model", "m", "--tour"];
  const options = { workspaceDir: "notes", backend: "memory-lancedb", ask: "where?", model: "m", tour: true };
  expect(parseOptions(args)).toEqual({ kind: "run", options });
  expect(parseOptions(["--", ...args])).toEqual({ kind: "run", options });
});

test.each([
  [["--colour"], /colour/],
  [["notes"], /notes/],
  [["--workspace"], /workspace/],
  [["--workspace="], /--workspace needs a value/],
  [["--ask", "  "], /--ask needs a value/],
])("%j is a usage error that says why", (args, error) => {
  expect(parseOptions(args)).toEqual({ kind: "usage", error: expect.stringMatching(error) });
});

test("help wins over what else is given", () => {
  expect(parseOptions(["--help", "--model", "m"])).toEqual({ kind: "help" });
});
