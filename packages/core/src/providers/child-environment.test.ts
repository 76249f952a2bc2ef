import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { childEnvironment, networkVariables } from "./child-environment.ts";

const secrets = {
  OPENAI_API_KEY: "planted-1",
  AWS_SECRET_ACCESS_KEY: "planted-2",
  GITHUB_TOKEN: "planted-3",
  FOO_SECRET: "planted-4",
  NODE_OPTIONS: "--no-warnings",
};

function printedBy(env: Record<string, string>): Record<string, string> {
  const script = "process.stdout.write(JSON.stringify(process.env))";
  return JSON.parse(execFileSync(process.execPath, ["-e", script], { env, encoding: "utf8" })) as Record<
    string,
    string
  >;
}

describe("the environment of a child", () => {
  test("has what a program needs to run, and none of the keys of its person", () => {
    const environment = {
      ...process.env,
      ...secrets,
      LC_ALL: "C.UTF-8",
      TMPDIR: "/tmp",
      HTTPS_PROXY: "http://proxy:1",
    };
    const printed = printedBy(childEnvironment(environment));
    expect(printed).toMatchObject({ PATH: process.env["PATH"], LC_ALL: "C.UTF-8", TMPDIR: "/tmp" });
    expect(JSON.stringify(printed)).not.toMatch(/planted|no-warnings|proxy/);
  });

  test("has what is asked for besides, by name or by its beginning", () => {
    const environment = { ...secrets, HTTPS_PROXY: "http://proxy:1", npm_config_registry: "r", npm_con: "x" };
    expect(childEnvironment(environment, [...networkVariables, "npm_config_*", "GITHUB_TOKEN"])).toEqual({
      HTTPS_PROXY: "http://proxy:1",
      npm_config_registry: "r",
      GITHUB_TOKEN: "planted-3",
    });
    expect(childEnvironment({ HOME: undefined })).toEqual({});
  });
});
