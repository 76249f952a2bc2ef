import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { deadUrl } from "@memslot/fakes/model-hub";
import { eventually } from "@memslot/test-tools/wait";
import { describe, expect, test } from "vitest";
import { leanInstall } from "../npm.ts";
import { type ModelHouse, address, countVectors, modelHouse, readinessTexts } from "./model-house.ts";

const goesOn = "run memslot embeddings on again to resume";

/** Runs `on` again where everything works now, and looks that it is on. */
async function thenItWorks(house: ModelHouse): Promise<void> {
  house.hub.behave({});
  house.hub.log.length = 0;
  house.env["HF_ENDPOINT"] = house.hub.url;
  const { exitCode, stderr } = await house.embeddings("on", address, "--yes");
  expect(exitCode, stderr).toBe(0);
  expect(readFileSync(house.modelFile).equals(house.content)).toBe(true);
  expect(house.configText()).toContain('provider: "local"');
}

/** Runs `on`, which has to fail with these words, and looks that nothing was switched on. */
async function fails(house: ModelHouse, words: RegExp | string): Promise<void> {
  const { exitCode, stdout, stderr } = await house.embeddings("on", address, "--yes");
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toMatch(words);
  expect(stderr).toContain(goesOn);
  expect(stderr).not.toContain("unexpected error");
  expect(house.configText()).toBeUndefined();
  expect(existsSync(house.modelFile)).toBe(false);
  const status = JSON.parse((await house.embeddings("status", "--json")).stdout) as { on: boolean }[];
  expect(status.map(({ on }) => on)).toEqual([false]);
}

describe("a download that fails leaves everything as it was, and names the next step", { timeout: 600_000 }, () => {
  test("no network, 404, 500 and a refusal", async () => {
    const house = await modelHouse();
    house.env["HF_ENDPOINT"] = await deadUrl();
    await fails(house, /cannot reach http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)/u);
    house.env["HF_ENDPOINT"] = house.hub.url;
    house.hub.behave({ status: 404 });
    await fails(house, /has no tiny\.gguf at \/ada\/tiny\/resolve\/main\/tiny\.gguf \(404\)/u);
    house.hub.behave({ status: 500 });
    await fails(house, /500/u);
    house.hub.behave({ token: "hf_other" });
    await fails(house, /HF_TOKEN has to be a token that may read it/u);
    expect(house.hub.fetches()).toEqual([]);
  });

  test("a connection that is cut at 60 %: the next run fetches the rest and no more", async () => {
    const house = await modelHouse();
    const bytes = Math.floor(house.content.length * 0.6);
    house.hub.behave({ stopAfter: { bytes, how: "break" } });
    await fails(house, /stopped .* are kept, and the next attempt resumes the download/u);
    const kept = house.partSize();
    expect(kept).toBeGreaterThan(0);
    const told = await house.embeddings("on", address);
    expect(told.stderr).toMatch(/^ {2}download .*, \d+\.\d kB already downloaded$/mu);
    await thenItWorks(house);
    expect(house.hub.fetches().map(({ range }) => range)).toEqual([`bytes=${kept}-`]);
  });

  test("another content than the hub says, and one that is no model: nothing of it is kept", async () => {
    const house = await modelHouse({ sha256: "0".repeat(64) });
    await fails(house, /is not tiny\.gguf: its checksum \(SHA-256\) differs\. It was deleted/u);
    expect(house.partSize()).toBe(0);
    const page = await modelHouse();
    page.content.fill("<html>", 0, 600);
    page.hub.behave({ sha256: "none" });
    await fails(page, /is not tiny\.gguf: it is not a GGUF file\. It was deleted/u);
    expect(page.partSize()).toBe(0);
  });

  test("a disk without room, and a folder that nothing can be written to", async () => {
    const house = await modelHouse({ size: 10 ** 18 });
    await fails(
      house,
      /the disk of .* is full: tiny\.gguf needs \d+ MB more; free disk space, or set .*modelCacheDir/u,
    );
    expect([house.hub.fetches().length, house.partSize()]).toEqual([1, 0]);
    const models = path.join(house.stateDir, "models");
    rmSync(models, { recursive: true, force: true });
    writeFileSync(models, "in the way");
    await fails(house, /tiny\.gguf cannot be written to .*models/u);
  });

  test("a file that is there and is no model is named, before anything is asked", async () => {
    const house = await modelHouse();
    mkdirSync(path.dirname(house.modelFile), { recursive: true });
    writeFileSync(house.modelFile, "<html>");
    const { exitCode, stderr } = await house.embeddings("on", address, "--yes");
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      `${house.modelFile} cannot be used: it is not a GGUF file; delete it to download it again`,
    );
    expect((await house.embeddings("off")).exitCode).toBe(0);
  });
});

describe("Ctrl-C", { timeout: 600_000 }, () => {
  test("at the question changes nothing", async () => {
    const house = await modelHouse();
    const controller = new AbortController();
    const asked = house.onTerminal(["embeddings", "on", address], { signal: controller.signal });
    setImmediate(() => controller.abort());
    expect((await asked).stderr).toContain("memslot: interrupted");
    expect([house.configText(), house.hub.log]).toEqual([undefined, []]);
  });

  test("while the model is fetched keeps the part, with which the next run resumes", async () => {
    const house = await modelHouse({ stopAfter: { bytes: 200_000, how: "hang" } });
    const controller = new AbortController();
    const fetching = house.onTerminal(["embeddings", "on", address, "--yes"], { signal: controller.signal });
    await eventually(() => house.partSize() > 150_000);
    controller.abort();
    const { stderr, stdout } = await fetching;
    expect(stderr).toContain(goesOn);
    expect(stderr).toContain("memslot: interrupted");
    expect([stdout, house.configText()]).toEqual(["", undefined]);
    expect(house.partSize()).toBeGreaterThan(0);
  });

  test("while notes are embedded keeps the vectors that are made: the next run makes the others alone", async () => {
    const house = await modelHouse();
    const notes = 98;
    for (let number = 0; number < notes; number++)
      await house.write(`memory/note-${number}.md`, `# Note ${number}\n\n- Espresso number ${number}.\n`);
    const controller = new AbortController();
    const first = countVectors(() => controller.abort());
    const { stderr } = await house.onTerminal(["embeddings", "on", address, "--yes"], { signal: controller.signal });
    expect(stderr).toContain(goesOn);
    expect(house.configText()).toBeUndefined();
    const stored = first.stored();
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThan(100);
    const second = countVectors();
    await thenItWorks(house);
    expect(second.sent()).toBe(100 - stored + readinessTexts);
    expect(house.hub.fetches()).toEqual([]);
  });
});

test("where npm cannot install the plugin, its words are told and nothing is changed", async () => {
  const house = await modelHouse();
  const cli = await leanInstall();
  const env = { npm_config_registry: await deadUrl(), npm_config_fetch_retries: "0" };
  const { exitCode, stdout, stderr } = await house.runHere(["embeddings", "on", address, "--yes"], { cli, env });
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toMatch(
    /^ {2}install +the plugin @memslot\/embeddings-local and node-llama-cpp \(85 MB\), with npm$/mu,
  );
  expect(stderr).toMatch(/npm exited with code 1: .*ECONNREFUSED.*check the network/u);
  expect(stderr).toContain(goesOn);
  expect([house.configText(), house.hub.log]).toEqual([undefined, []]);
  expect(readdirSync(house.stateDir)).toEqual(["plugins"]);
});

test("a configuration that cannot be written stays as it is, and says so", { timeout: 600_000 }, async () => {
  const house = await modelHouse();
  // The new one is written beside it first, under a name that is longer than names may be.
  const config = path.join(house.cwd, `${"m".repeat(248)}.json5`);
  const text = "{\n  // mine\n}\n";
  writeFileSync(config, text);
  const { exitCode, stdout, stderr } = await house.embeddings("on", address, "--yes", "--config", config);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toMatch(/json5 cannot be written: .*; check its folder; .*json5 is unchanged; /u);
  expect(stderr).toContain(goesOn);
  expect(readFileSync(config, "utf8")).toBe(text);
});
