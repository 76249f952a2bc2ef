import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isRunning } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { expect, onTestFinished, test, vi } from "vitest";
import { qmdEnvironment } from "./child/child-environment.ts";
import { failureOf, fakeQmd, noSignal, openLab } from "./test/qmd-lab.ts";
import cases from "../../test/data/cases.json" with { type: "json" };

const host = cases.hostEnvironment;
const passed = {
  PATH: process.env["PATH"] ?? "",
  HOME: "/home/person",
  LANG: "C.UTF-8",
  LC_ALL: "C.UTF-8",
  TMPDIR: "/tmp",
};
const network = { HTTPS_PROXY: "http://proxy:1", no_proxy: "localhost", HF_TOKEN: "hf-secret" };
const environment = { ...host, ...passed, ...network, XDG_CACHE_HOME: "/home/person/cache" };

test("each process of qmd gets its arguments, the listed variables and nothing else, and works in the folder", async () => {
  const { fake, ...lab } = openLab({ environment });
  await lab.process.probe(noSignal);
  await lab.update({ "a.md": "# Alpha\n\nstaging port\n" });
  fake.set({ mcp: { crash: "SIGSEGV" } });
  const searches = ["staging port", "-x --json"].map((query) => ({ type: "lex" as const, query }));
  expect((await lab.ask("", { searches, limit: 0, collections: ["notes", "notes"] })).by).toBe("cli");
  await lab.process.embed({ minutes: 7, signal: noSignal });
  await lab.process.cleanup(noSignal);
  const starts = fake.starts();
  const json = ["query", "--index", "index", "--json", "--no-rerank", "-n", "1"];
  expect(starts.map(({ argv }) => argv)).toEqual([
    [...json, "--", expect.stringMatching(/^lex: [a-z0-9]+$/)],
    ["update", "--index", "index"],
    ["mcp", "--index", "index"],
    [...json, "-c", "notes", "-c", "notes", "--", "lex: staging port\nlex: -x --json"],
    ["embed", "--index", "index", "--timeout", "7"],
    ["cleanup", "--index", "index"],
  ]);
  expect(readFileSync(join(lab.folder, "index.yml"), "utf8")).toContain("adapter_rev: 1");

  const own = {
    ...passed,
    XDG_CACHE_HOME: "/home/person/cache",
    INDEX_PATH: join(lab.folder, "index.sqlite"),
    QMD_CONFIG_DIR: lab.folder,
    PWD: lab.folder,
    NO_COLOR: "1",
    NODE_COMPILE_CACHE: join(lab.folder, "cc"),
    LLAMA_LOG_LEVEL: "error",
    GGML_LOG_LEVEL: "error",
    GGML_BACKEND_SILENT: "1",
  };
  const query = { ...own, QMD_SQLITE_BUSY_TIMEOUT: "2000", CI: "1" };
  const update = { ...own, QMD_SQLITE_BUSY_TIMEOUT: "30000", CI: "1" };
  // Only `embed` may need the network.
  const embed = { ...own, QMD_SQLITE_BUSY_TIMEOUT: "30000", ...network };
  const expected: Record<string, object> = { mcp: query, query, update, cleanup: update, embed };
  for (const { command, env, cwd } of starts) {
    expect(env, command).toEqual(expected[command]);
    expect(cwd).toBe(lab.folder);
  }
});

test("in semantic mode CI is not set, so that models are used, and a variable that the host lacks stays unset", () => {
  const semantic = { environment: { PATH: "/bin", HOME: undefined }, folder: "/s/qmd", mode: "semantic" } as const;
  const given = qmdEnvironment(semantic, "query");
  for (const name of ["CI", "HOME", "XDG_CACHE_HOME"]) expect(Object.keys(given)).not.toContain(name);
  expect(Object.keys(qmdEnvironment({ ...semantic, mode: "lexical" }, "query"))).toContain("CI");
});

test("a command that does not answer within its time fails as timeout, and its process is ended", async () => {
  const fake = fakeQmd({ behaviour: { query: { hang: true, ignoreTerm: true } } });
  const { process } = openLab({ fake, limits: { probeMs: 600_000 } });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  const failure = failureOf(process.probe(noSignal));
  await eventually(() => fake.starts("query").length === 1);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(await failure).toMatchObject({ reason: "timeout" });
  const [start] = fake.starts("query");
  await eventually(() => !isRunning(start?.pid ?? 0), "the end of the process");
});
