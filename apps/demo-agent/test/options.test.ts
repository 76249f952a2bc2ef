import { expect, test } from "vitest";
import { parseOptions } from "../src/options.ts";

const none = { workspaceDir: undefined, backend: undefined, endpoint: undefined, ask: undefined };

test("without arguments and environment it is the sample and the built-in responder", () => {
  expect(parseOptions([], {})).toEqual({ kind: "run", options: none });
});

test("takes every option, also behind a separator that a package manager handed on", () => {
  const args = ["--workspace", "notes", "--backend=memory-lancedb", "--ask", "where?"];
  const wanted = { kind: "run", options: { ...none, workspaceDir: "notes", backend: "memory-lancedb", ask: "where?" } };
  expect(parseOptions(args, {})).toEqual(wanted);
  expect(parseOptions(["--", ...args], {})).toEqual(wanted);
});

test.each([
  [{ OPENAI_API_KEY: "k" }, [], { apiKey: "k", baseUrl: undefined, model: "gpt-4o-mini" }],
  [{ OPENAI_BASE_URL: "http://h/v1" }, [], { apiKey: undefined, baseUrl: "http://h/v1", model: "gpt-4o-mini" }],
  [{ OPENAI_API_KEY: "k", OPENAI_MODEL: "m1" }, [], { apiKey: "k", baseUrl: undefined, model: "m1" }],
  [{ OPENAI_API_KEY: "k", OPENAI_MODEL: "m1" }, ["--model", "m2"], { apiKey: "k", baseUrl: undefined, model: "m2" }],
  [{ OPENAI_API_KEY: " ", OPENAI_BASE_URL: "" }, [], undefined],
])("the environment %j with %j gives the endpoint %j", (env, args, endpoint) => {
  expect(parseOptions(args, env)).toEqual({ kind: "run", options: { ...none, endpoint } });
});

test.each([
  [["--colour"], /colour/],
  [["notes"], /notes/],
  [["--workspace"], /workspace/],
  [["--workspace="], /--workspace needs a value/],
  [["--ask", "  "], /--ask needs a value/],
  [["--model", "m"], /OPENAI_API_KEY or OPENAI_BASE_URL/],
])("%j is a usage error that says why", (args, error) => {
  expect(parseOptions(args, {})).toEqual({ kind: "usage", error: expect.stringMatching(error) });
});

test("help wins over what else is missing", () => {
  expect(parseOptions(["--help", "--model", "m"], {})).toEqual({ kind: "help" });
});
