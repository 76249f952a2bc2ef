import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { describe, expect, onTestFinished, test } from "vitest";
import { address, countVectors, modelHouse, readinessTexts, searchWithModel, watchSearches } from "./model-house.ts";

// What fails on the way is in `embeddings-faults.test.ts`, npm and a machine without anything in
// `test/embeddings-on.long.test.ts`.

// Loads a model again and again: on a machine with other work this takes long.
describe("memslot embeddings", { timeout: 600_000 }, () => {
  test("on asks once, and then fetches, indexes, writes and compares; off goes back, status tells both", async () => {
    const house = await modelHouse();
    const { hub, configFile, modelFile, content } = house;
    const searches = watchSearches();
    const told = await house.onTerminal(["embeddings", "on", address, "--try", "black espresso"], { typed: "\n" });
    expect(told.exitCode, told.stderr).toBe(0);
    expect(told.stderr.match(/\[Y\/n\]/gu)).toHaveLength(1);
    expect(told.stderr).toMatch(/^ {2}licence +see https:\/\/huggingface\.co\/ada\/tiny$/mu);
    expect(told.stderr).toMatch(/^ {2}download +hf:ada\/tiny\/tiny\.gguf$/mu);
    expect(told.stderr).toContain(`${configFile}: memorySearch.provider "local" instead of "auto"`);
    expect(told.stdout).toContain(`is on: tiny.gguf (${modelFile}, `);
    expect(told.stdout).toContain("Agent main: 2 of 2 chunks embedded");
    const [, before = "", after = ""] =
      /\nkeyword search:\n(.*)\nhybrid search.*?:\n(.*)\n\n/su.exec(told.stdout) ?? [];
    expect(before.split("\n")).toEqual([expect.stringContaining("MEMORY.md#L1-L3  - Anna likes espresso")]);
    expect(after).toContain("MEMORY.md#L1-L3  - Anna likes espresso");
    expect(searches).toEqual([true, false]);
    expect((await readFile(modelFile)).equals(content)).toBe(true);
    expect(hub.fetches()).toHaveLength(1);
    expect(house.configText()).toMatch(/provider: "local",\n\s+local: \{\n\s+modelPath: "hf:ada\/tiny\/tiny\.gguf"/u);

    const [entry] = JSON.parse((await house.embeddings("status", "--json")).stdout);
    expect(entry).toMatchObject({ agentId: "main", on: true, provider: "local", chunks: 2, embedded: 2 });
    expect(entry.file).toMatchObject({ name: "tiny.gguf", file: modelFile, bytes: content.length, isThere: true });
    expect(await searchWithModel(house, "espresso")).toMatchObject({ mode: "hybrid", state: "ok" });

    const another = await house.embeddings("on", "bge-m3");
    expect(another.exitCode).toBe(2);
    expect(another.stderr).toContain('provider "local" with this model instead of tiny.gguf, whose vectors are kept');
    const off = await house.embeddings("off");
    expect(off).toMatchObject({ exitCode: 0, stderr: "" });
    expect(off.stdout).toContain(`was "local") in ${configFile}`);
    expect(off.stdout).toContain(`The model stays: ${modelFile}`);
    expect(existsSync(modelFile)).toBe(true);
    expect((await house.embeddings("status")).stdout).toMatch(/vector search is off[^]*Next: memslot embeddings on/u);
    expect((await house.embeddings("off")).stdout).toContain("already off; nothing was changed");

    const counted = countVectors();
    const again = await house.embeddings("on", address, "--yes", "--json");
    expect(JSON.parse(again.stdout)).toMatchObject({
      provider: "local",
      before: "none",
      model: { name: "tiny.gguf", file: modelFile, bytes: content.length },
      config: { file: configFile, changed: true },
      installed: [],
      agents: [{ agentId: "main", backend: "memory-core", files: 2, chunks: 2, embedded: 2 }],
      comparison: { question: "Anna likes espresso, black and strong", from: "MEMORY.md", mode: "hybrid" },
    });
    expect(counted.sent()).toBe(readinessTexts);
    expect(hub.fetches()).toHaveLength(1);
    // All is done: nothing to ask, and nothing to write.
    const text = house.configText();
    const third = await house.embeddings("on", address);
    expect(third.exitCode).toBe(0);
    expect(third.stderr).not.toMatch(/licence|\[Y\/n\]/u);
    expect(third.stdout).toContain("Vector search is already on");
    expect(house.configText()).toBe(text);
  });

  test("on does nothing without a yes", async () => {
    const house = await modelHouse();
    for (const typed of ["n\n", ""]) {
      const refused = await house.onTerminal(["embeddings", "on", address], { typed });
      expect(refused).toMatchObject({ exitCode: 0, stdout: "Nothing was changed.\n" });
    }
    expect([house.configText(), house.hub.log]).toEqual([undefined, []]);
  });

  test("on takes the place of a remote provider without asking it, and keeps comments and agents with their own", async () => {
    const api = await startEmbeddingApi({ dimensions: 32 });
    onTestFinished(() => api.close());
    const house = await modelHouse();
    const search = `{ provider: 'openai', remote: { baseUrl: '${api.url}/v1', apiKey: 'sk-x' } }`;
    const own = (id: string, memorySearch: object): object => ({ id, workspace: house.workspace, memorySearch });
    const list = [own("main", {}), own("work", { provider: "none" }), own("off", { enabled: false })];
    const agents = JSON.stringify({ list });
    const config = await house.writeConfig(`{\n  // mine\n  memory: { search: ${search} },\n  agents: ${agents},\n}\n`);
    const run = ["--config", config] as const;
    const { exitCode, stdout, stderr } = await house.run(["embeddings", "on", address, "--yes", "--json", ...run]);
    expect(exitCode, stderr).toBe(0);
    expect(stderr).toContain('instead of "openai", whose vectors are kept');
    expect(api.log).toEqual([]);
    expect(await readFile(config, "utf8")).toMatch(
      /^\{\n {2}\/\/ mine\n {2}memory: \{ search: \{ provider: 'local', remote: .*modelPath: "hf:ada/u,
    );
    const keepers = [{ id: "work", key: "agents.list[work].memorySearch.provider" }];
    expect(JSON.parse(stdout)).toMatchObject({ agents: [{ agentId: "main" }], keepers });
    expect(stderr).toMatch(
      /^ {2}keep +agent "work" unchanged, because of agents\.list\[work\]\.memorySearch\.provider$/mu,
    );
    const status = await house.run(["embeddings", "status", "--json", ...run]);
    expect(status.stderr).toBe("");
    expect(JSON.parse(status.stdout).map(({ on }: { on: boolean }) => on)).toEqual([true, false, false]);
  });

  test("a stranger's file is left as it is: the user's own one is written, and counts", async () => {
    const house = await modelHouse();
    const strangers = path.join(house.cwd, "memslot.json5");
    const text = '{ agents: { defaults: { memorySearch: { provider: "none" } } } }\n';
    await writeFile(strangers, text);
    const { exitCode, stderr } = await house.embeddings("on", address, "--yes");
    expect(exitCode, stderr).toBe(0);
    expect(stderr).toContain(`(${strangers} is not trusted and stays unchanged)`);
    expect(await readFile(strangers, "utf8")).toBe(text);
    expect(house.configText()).toContain('provider: "local"');
    expect((await house.embeddings("status")).stdout).toContain("vector search is on");
    // Vouched for, it is the one in use: it is changed, and trusted as it is then.
    await writeFile(strangers, "{\n  // mine\n}\n");
    expect((await house.run(["trust"])).exitCode).toBe(0);
    expect((await house.embeddings("off")).stdout).toContain(strangers);
    expect(await readFile(strangers, "utf8")).toMatch(/^\{\n {2}\/\/ mine\n {2}agents: [^]*provider: "none"/u);
    expect(await house.embeddings("status")).toMatchObject({
      stderr: "",
      stdout: expect.stringContaining('is "none"'),
    });
  });
});
