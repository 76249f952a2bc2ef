import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createSandbox } from "../run-memslot.ts";
import scenarios from "./conformance.json" with { type: "json" };
import { startHttpServer, token } from "./server.ts";

/**
 * `applicable`: scenarios for every server. `notApplicable`: by reason; one that begins to pass has to be moved.
 * `sessionsNeeded`: these give warnings in place of checks where a server keeps no sessions, as here.
 */
const { applicable, sessionsNeeded } = scenarios;
const notApplicable = Object.values(scenarios.notApplicable).flat();

const require = createRequire(import.meta.url);
const suite = path.join(
  path.dirname(require.resolve("@modelcontextprotocol/conformance/package.json")),
  "dist/index.js",
);

function runSuite(cwd: string, ...args: string[]): Promise<{ exitCode: number; output: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [suite, ...args],
      { cwd, timeout: 120_000, maxBuffer: 32 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ exitCode, output: stdout + stderr });
      },
    );
  });
}

/** The suite cannot bring a token: this stands between and does, and puts its own address out of `Host` and `Origin`. */
async function withToken(target: URL): Promise<string> {
  const proxy = http.createServer((request, response) => {
    const asTarget = (text: string | undefined): string | undefined => text?.replace(ownAddress, target.host);
    const headers: http.OutgoingHttpHeaders = { ...request.headers, authorization: `Bearer ${token}` };
    headers["host"] = asTarget(request.headers.host);
    if (request.headers.origin !== undefined) headers["origin"] = asTarget(request.headers.origin);
    const onward = http.request(
      { host: target.hostname, port: target.port, path: request.url, method: request.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const { port } = proxy.address() as { port: number };
  const ownAddress = new RegExp(`(?:127\\.0\\.0\\.1|localhost):${port}(?!\\d)`, "u");
  return `http://127.0.0.1:${port}${target.pathname}`;
}

async function served(): Promise<string> {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
  const { url } = await startHttpServer(sandbox);
  return withToken(url);
}

describe("the official conformance suite", () => {
  // The suite may write what it finds into the folder where it runs.
  let cwd = "";
  beforeAll(async () => {
    cwd = await mkdtemp(path.join(tmpdir(), "memslot-conformance-"));
  });
  afterAll(() => rm(cwd, { recursive: true, force: true }));

  test("has no scenario that is neither run nor left out with a reason", async () => {
    const { output } = await runSuite(cwd, "list", "--server");
    const known = [...output.matchAll(/^ +- (\S+) \[/gmu)].map(([, name]) => name);
    expect(known.toSorted()).toEqual([...applicable, ...sessionsNeeded, ...notApplicable].toSorted());
  });

  test("passes what holds for every server, scenario by scenario", { timeout: 180_000 }, async () => {
    const url = await served();
    for (const scenario of applicable) {
      const { exitCode, output } = await runSuite(cwd, "server", "--url", url, "--scenario", scenario);
      expect({ scenario, exitCode, output }).toEqual({
        scenario,
        exitCode: 0,
        output: expect.stringMatching(/^Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings$/mu),
      });
    }
  });

  test("passes nothing that is left out", { timeout: 180_000 }, async () => {
    const { output } = await runSuite(cwd, "server", "--url", await served(), "--suite", "all");
    const outcome = Object.fromEntries(
      [...output.matchAll(/^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed/gmu)].map(([, name = "", passed, failed]) => [
        name,
        failed === "0" ? (passed === "0" ? "checked nothing" : "passed") : "failed",
      ]),
    );
    expect(outcome).toEqual({
      ...Object.fromEntries(applicable.map((name) => [name, "passed"])),
      ...Object.fromEntries(sessionsNeeded.map((name) => [name, "checked nothing"])),
      ...Object.fromEntries(notApplicable.map((name) => [name, "failed"])),
    });
  });
});
