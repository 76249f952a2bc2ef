import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { qmdEnvironment } from "./child-environment.ts";
import { fakeQmd, noSignal, openLab } from "../test/qmd-lab.ts";

const secrets = {
  OPENAI_API_KEY: "sk-secret",
  NODE_OPTIONS: "--no-warnings",
  QMD_TRUST_LOCAL_CONFIG: "1",
  QMD_TRUST_UPDATE_HOOKS: "1",
  QMD_EMBED_MODEL: "hf:x/y/z.gguf",
  INDEX_PATH: "/elsewhere/index.sqlite",
  XDG_CONFIG_HOME: "/elsewhere",
  CI: "true",
  LD_PRELOAD: "",
};
const passed = {
  PATH: process.env["PATH"] ?? "",
  HOME: "/home/person",
  LANG: "C.UTF-8",
  LC_ALL: "C.UTF-8",
  TMPDIR: "/tmp",
};
const proxies = { HTTPS_PROXY: "http://proxy:1", no_proxy: "localhost", HF_TOKEN: "hf-secret" };
const environment = { ...secrets, ...passed, ...proxies, XDG_CACHE_HOME: "/home/person/cache" };

const own = (folder: string): Record<string, string> => ({
  ...passed,
  XDG_CACHE_HOME: "/home/person/cache",
  INDEX_PATH: join(folder, "index.sqlite"),
  QMD_CONFIG_DIR: folder,
  PWD: folder,
  NO_COLOR: "1",
  NODE_COMPILE_CACHE: join(folder, "cc"),
  LLAMA_LOG_LEVEL: "error",
  GGML_LOG_LEVEL: "error",
  GGML_BACKEND_SILENT: "1",
});

test("each child gets what is on the list and nothing else, and works in the folder", async () => {
  const fake = fakeQmd();
  const lab = openLab({ found: { ...fake, location: fake.folder }, environment });
  await lab.update({ "a.md": "# Alpha\n\nstaging\n" });
  await lab.ask("staging");
  await lab.process.cleanup(noSignal);
  await lab.process.embed({ minutes: 1, signal: noSignal });
  fake.set({ mcp: { crash: "SIGKILL" } });
  await lab.process.restart();
  expect((await lab.ask("staging")).by).toBe("cli");
  const query = { ...own(lab.folder), QMD_SQLITE_BUSY_TIMEOUT: "2000", CI: "1" };
  const update = { ...own(lab.folder), QMD_SQLITE_BUSY_TIMEOUT: "30000", CI: "1" };
  const expected: Record<string, Record<string, string>> = {
    mcp: query,
    query,
    update,
    cleanup: update,
    // It is the one that may need the network, and what it is given by that name it does not heed.
    embed: { ...own(lab.folder), QMD_SQLITE_BUSY_TIMEOUT: "30000", ...proxies },
  };
  const starts = fake.starts();
  expect([...new Set(starts.map(({ command }) => command))].sort()).toEqual(Object.keys(expected).sort());
  for (const { command, env, cwd } of starts) {
    expect(env, command).toEqual(expected[command]);
    expect(cwd).toBe(lab.folder);
  }
});

test("in semantic mode there is no CI, so that models are used", async () => {
  const fake = fakeQmd();
  const lab = openLab({ found: { ...fake, location: fake.folder }, environment });
  await lab.update({ "a.md": "# Alpha\n\nstaging\n" });
  await lab.process.embed({ minutes: 1, signal: noSignal });
  const vec = { searches: [{ type: "vec" as const, query: "the staging machine" }] };
  await expect(lab.ask("", vec)).rejects.toMatchObject({ reason: "models_unavailable" });
  await lab.process.setMode("semantic");
  expect((await lab.ask("", vec)).rows.map(({ path }) => path)).toEqual(["a.md"]);
  expect(fake.starts("mcp").map(({ env }) => env["CI"])).toEqual(["1", undefined]);
});

test("a cache folder of nobody's is not made: what is not set stays so", () => {
  const given = qmdEnvironment(
    { environment: { PATH: "/bin", HOME: undefined }, folder: "/s/qmd", mode: "semantic" },
    "query",
  );
  expect(Object.keys(given).sort()).toEqual([
    "GGML_BACKEND_SILENT",
    "GGML_LOG_LEVEL",
    "INDEX_PATH",
    "LLAMA_LOG_LEVEL",
    "NODE_COMPILE_CACHE",
    "NO_COLOR",
    "PATH",
    "PWD",
    "QMD_CONFIG_DIR",
    "QMD_SQLITE_BUSY_TIMEOUT",
  ]);
});

test("the arguments of each command are those of the contract", async () => {
  const fake = fakeQmd();
  const lab = openLab({ found: { ...fake, location: fake.folder } });
  await lab.process.probe(noSignal);
  await lab.update({ "a.md": "# Alpha\n\nstaging port\n" });
  fake.set({ mcp: { crash: "SIGSEGV" } });
  const searches = [
    { type: "lex" as const, query: "staging port" },
    { type: "lex" as const, query: "-x --json" },
  ];
  await lab.process.query({
    searches,
    limit: 0,
    collections: ["notes", "notes"],
    rerank: false,
    deadlineMs: 5000,
    signal: noSignal,
  });
  await lab.process.embed({ minutes: 7, signal: noSignal });
  await lab.process.cleanup(noSignal);
  const argv = fake.starts().map((start) => start.argv);
  expect(argv).toEqual([
    ["query", "--index", "index", "--json", "--no-rerank", "-n", "1", "--", expect.stringMatching(/^lex: [a-z0-9]+$/)],
    ["update", "--index", "index"],
    ["mcp", "--index", "index"],
    [
      ["query", "--index", "index", "--json", "--no-rerank", "-n", "1", "-c", "notes", "-c", "notes", "--"],
      ["lex: staging port\nlex: -x --json"],
    ].flat(),
    ["embed", "--index", "index", "--timeout", "7"],
    ["cleanup", "--index", "index"],
  ]);
  expect(readFileSync(join(lab.folder, "index.yml"), "utf8")).toContain("adapter_rev: 1");
});
