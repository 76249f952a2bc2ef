import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { MemoryError, type MemoryPlugin, openMemory, parseConfig } from "@memslot/core";
import { type FakeChatServer, startFakeChatServer } from "@memslot/fakes/chat";
import memoryCore from "@memslot/memory-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { examplesOf, root } from "./support/repository.ts";
import data from "./data/tutorial.json" with { type: "json" };

const page = "docs/writing-a-memory-plugin.md";
const fiveMinutes = 300_000;
/** Where the packages that a stranger would install are in this repository. */
const installed: Readonly<Record<string, string>> = data.installed;

function link(folder: string, name: string): void {
  const file = path.join(folder, "node_modules", name);
  mkdirSync(path.dirname(file), { recursive: true });
  symlinkSync(path.join(root, installed[name] ?? ""), file, "junction");
}

describe("docs/writing-a-memory-plugin.md", () => {
  let folder = "";
  let env: NodeJS.ProcessEnv = {};

  beforeAll(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), "memslot-tutorial-"));
    mkdirSync(path.join(folder, "notes"));
    writeFileSync(path.join(folder, "notes/MEMORY.md"), "# Memory\n\nWe did move the backups in May.\n");
    const { VITEST: _vitest, ...rest } = process.env;
    env = {
      ...rest,
      HOME: folder,
      USERPROFILE: folder,
      MEMSLOT_HOME: path.join(folder, "state"),
      MEMSLOT_WORKSPACE: path.join(folder, "notes"),
      npm_config_registry: "http://127.0.0.1:9/",
      npm_config_fetch_retries: "0",
    };
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("works as it is written, command by command", { timeout: fiveMinutes }, () => {
    let cwd = folder;
    const run = (program: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): string =>
      execFileSync(program, args, {
        cwd,
        encoding: "utf8",
        env: { ...env, ...more },
        stdio: ["ignore", "pipe", "pipe"],
      });
    const node = (...args: string[]): string =>
      run(process.execPath, args, { NODE_OPTIONS: "--conditions=@memslot/source" });
    const packageJson = (): Record<"scripts" | "dependencies", Record<string, string>> =>
      JSON.parse(readFileSync(path.join(cwd, "package.json"), "utf8"));
    const outputs = new Map<string, string>();
    const lines = examplesOf(page, "sh").flatMap((block) => block.trim().split("\n"));
    for (const line of lines) {
      const [word, ...args] = [...line.matchAll(/"([^"]*)"|(\S+)/gu)].map(([, quoted, plain]) => quoted ?? plain ?? "");
      if (word === "memslot") {
        outputs.set(line, node(path.join(root, "apps/memslot/src/cli.ts"), ...args));
      } else if (word === "cd") {
        cwd = path.join(cwd, args[0] ?? "");
      } else if (line === "npm install") {
        for (const name of Object.keys(installed)) link(cwd, name);
      } else if (line === "npm test") {
        const [program, ...rest] = (packageJson().scripts["test"] ?? "").split(" ");
        expect(program).toBe("node");
        expect(node(...rest)).toMatch(/fail 0$/mu);
      } else if (line === "npm run build") {
        const [program, ...rest] = (packageJson().scripts["build"] ?? "").split(" ");
        expect(program).toBe("tsc");
        // Types are looked at where the template is tested: here the packages have no built ones.
        node("node_modules/typescript/bin/tsc", ...rest, "--noCheck");
      } else {
        expect(line).toBe("npm pack");
        // In place of a registry: what the package depends on is found in a folder above the one that it comes into.
        const { dependencies, ...others } = packageJson();
        for (const name of Object.keys(dependencies)) link(folder, name);
        writeFileSync(path.join(cwd, "package.json"), JSON.stringify(others));
        run("npm", ["pack", "--ignore-scripts"]);
      }
    }
    expect(outputs.get('memslot memory search "when did we move the backups"')).toContain("MEMORY.md:");
    expect(outputs.get("memslot memory status")).toContain("memory-mine");
    expect(outputs.get("memslot plugins info memory-mine")).toContain("memory-mine 0.1.0, a memory plugin");
  });

  test("describes options that the command can show, in a configuration that it can read", () => {
    const place = path.join(folder, "remote");
    mkdirSync(place);
    const [manifest = ""] = examplesOf(page, "json");
    const [config = ""] = examplesOf(page, "json5");
    writeFileSync(path.join(place, "memslot.plugin.json"), manifest);
    writeFileSync(
      path.join(place, "package.json"),
      '{ "name": "memory-remote", "version": "1.0.0", "type": "module" }',
    );
    const file = path.join(folder, "remote.json5");
    writeFileSync(file, config.replace("plugins: {", `plugins: {\n    load: { paths: ["./remote"] },`));
    const args = ["plugins", "info", "memory-remote", "--json", "--config", file];
    const output = execFileSync(
      process.execPath,
      ["--conditions=@memslot/source", path.join(root, "apps/memslot/src/cli.ts"), ...args],
      { encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"] },
    );
    expect(JSON.parse(output)).toMatchObject(data.search);
  });

  describe("the manager of its own", () => {
    let server: FakeChatServer;
    let plugin: MemoryPlugin;

    beforeAll(async () => {
      const file = path.join(root, "docs/examples/remote-manager/index.ts");
      ({ default: plugin } = (await import(file)) as { default: MemoryPlugin });
      server = await startFakeChatServer(({ body }) => {
        return { body: String(body["query"]).includes("backups") ? [data.found] : [] };
      });
    });

    afterAll(() => server.close());

    async function open(entry: Record<string, unknown> = {}) {
      const config = { url: `${server.baseUrl}/search` };
      return await openMemory({
        config: parseConfig(
          { plugins: { slots: { memory: "memory-remote" }, entries: { "memory-remote": { config, ...entry } } } },
          { stateDir: path.join(folder, "remote-state") },
        ),
        agentId: "main",
        workspaceDir: path.join(folder, "notes"),
        plugins: [plugin, memoryCore],
      });
    }

    test("answers, reads, and says why it found nothing", async () => {
      const memory = await open();
      const reasons: (string | undefined)[] = [];
      const onDebug = ({ reason }: { reason?: string | undefined }): void => void reasons.push(reason);
      const [found] = await memory.search("the backups", { onDebug });
      expect(found).toMatchObject({ path: "MEMORY.md", startLine: 3, snippet: "We did move the backups in May." });
      expect(await memory.search("nothing", { onDebug })).toEqual([]);
      expect(reasons).toEqual([undefined, expect.stringContaining("the server knows nothing of it")]);
      expect((await memory.readFile({ relPath: "MEMORY.md", from: 3 })).text).toContain("May");
      expect(server.requests[0]?.body).toEqual({ query: "the backups", limit: 6, audience: "private" });
      await memory.close();
    });

    test("is UNAVAILABLE without its server, and then a spare answers where one is named", async () => {
      const [alone, spared] = [await open(), await open({ fallback: "builtin" })];
      await server.close();
      await expect(alone.search("the backups")).rejects.toSatisfy((error) => MemoryError.is(error, "UNAVAILABLE"));
      expect(alone.status().lastError?.message).toContain("start the server");
      await spared.sync();
      const states: string[] = [];
      const results = await spared.search("the backups", { onDebug: ({ state }) => void states.push(state) });
      expect(results).toMatchObject([{ path: "MEMORY.md" }]);
      expect(states).toEqual(["degraded"]);
      await Promise.all([alone.close(), spared.close()]);
    });
  });
});
