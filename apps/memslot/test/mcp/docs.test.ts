import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { createSandbox } from "../run-memslot.ts";
import { callTool, initialize, launchServer, startHttpServer, token } from "./server.ts";
import data from "../data/docs.json" with { type: "json" };

const page = readFileSync(path.join(import.meta.dirname, "../../../../docs/mcp.md"), "utf8");

const launcherFile = path.join(import.meta.dirname, "../../../../scripts/run.mjs");

interface Entry {
  type?: string;
  command?: string;
  args?: string[];
  url?: string;
  headers?: Record<string, string>;
  bearer_token_env_var?: string;
}

interface Snippet {
  client: string;
  entry: Entry;
}

/** The snippets of one language, each with the heading, or the line before it, that says whose it is. */
function snippetsIn(language: "json" | "toml" | "sh"): { client: string; code: string }[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gmu"))].map(
    ({ 1: code = "", index }) => {
      const before = page.slice(0, index);
      const heading = /## (.+)\n[^#]*$/u.exec(before)?.[1] ?? "";
      return {
        client: heading === "Over HTTP" ? (/(?:^|\n)([A-Z][\w ]+?)[,;:][^\n]*\n\n$/u.exec(before)?.[1] ?? "") : heading,
        code,
      };
    },
  );
}

function entries(): Snippet[] {
  return [
    ...snippetsIn("json").map(({ client, code }): Snippet => {
      const config = JSON.parse(code) as Record<string, Record<string, Entry>>;
      // VS Code has a name of its own for the list of servers.
      const entry = config[client === "VS Code" ? "servers" : "mcpServers"]?.["memslot"];
      if (entry === undefined) throw new Error(`no server in the snippet for ${client}`);
      return { client, entry };
    }),
    ...snippetsIn("toml").map(({ client, code }): Snippet => {
      const { mcp_servers: servers } = parse(code) as unknown as { mcp_servers: { memslot: Entry } };
      return { client, entry: servers.memslot };
    }),
  ];
}

const started = entries().filter(({ entry }) => entry.command !== undefined);
const reached = entries().filter(({ entry }) => entry.url !== undefined);

describe("docs/mcp.md", () => {
  test("has a snippet for each client", () => {
    expect(started.map(({ client }) => client)).toEqual(data.clients);
    expect(reached.map(({ client }) => client)).toEqual(["Cursor", "VS Code", "Codex"]);
    for (const { client, code } of snippetsIn("sh").filter(({ client: name }) => name === "Claude Code"))
      expect({ client, code }).toEqual({ client, code: expect.stringMatching(/^claude mcp add .*memslot/u) });
  });

  test.each(started)("starts what every other one starts: $client", ({ entry: { command, args } }) => {
    expect({ command, args }).toEqual({ command: "node", args: started[0]?.entry.args });
  });

  test("names a launcher that starts the server of a clone, wherever it is started from", async () => {
    const [{ args = [] } = {}] = started.map(({ entry }) => entry);
    expect(args.slice(0, 2)).toEqual(["/path/to/memslot/scripts/run.mjs", "cli"]);
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    // As it stands there, with the two paths filled in, and stdout is the protocol's alone.
    const written = { "/path/to/memslot/scripts/run.mjs": launcherFile, "/path/to/notes": sandbox.workspace };
    const full = args.map((arg) => written[arg as keyof typeof written] ?? arg);
    const server = launchServer(sandbox, [process.execPath, ...full]);
    await initialize(server);
    expect((await callTool(server, "memory_search", { query: "espresso" })).result).toMatchObject({
      structuredContent: { results: [{ path: "MEMORY.md" }] },
    });
    expect(server.lines.filter((line) => typeof line === "string")).toEqual([]);
    server.stdin.end();
    expect(await server.ended()).toEqual({ exitCode: 0, signal: null });
  });

  test("names a launcher that works where it is called from", async () => {
    const { cwd, env, stateDir } = await createSandbox();
    await writeFile(path.join(cwd, "here.md"), "Anna likes espresso.\n");
    const search = ["memory", "search", "espresso", "--workspace", "..", "--json"];
    const packageJson = path.join(path.dirname(launcherFile), "../package.json");
    const deep = path.join(cwd, "deep");
    await mkdir(deep);
    for (const [from, by] of [
      [deep, {}],
      // npm goes to the clone, and says from where it was called.
      [path.dirname(packageJson), { npm_package_json: packageJson, INIT_CWD: deep }],
      // What some other program's npm says is none of it.
      [deep, { npm_package_json: path.join(stateDir, "package.json"), INIT_CWD: stateDir }],
    ] as const) {
      const options = { cwd: from, env: { ...env, ...by } };
      const { stdout } = await promisify(execFile)(process.execPath, [launcherFile, "cli", ...search], options);
      expect([by, JSON.parse(stdout)]).toMatchObject([by, { results: [{ path: "here.md" }] }]);
    }
  });

  test("names the path and the header of the HTTP server", async () => {
    const { url } = await startHttpServer(await createSandbox());
    for (const { client, entry } of reached) {
      const written = new URL(entry.url ?? "");
      expect({ client, host: written.hostname, path: written.pathname }).toEqual({
        client,
        host: url.hostname,
        path: url.pathname,
      });
      const authorization =
        entry.bearer_token_env_var === "MEMSLOT_MCP_TOKEN"
          ? `Bearer ${token}`
          : (entry.headers?.["Authorization"] ?? "").replace(
              /\$\{(?:env:MEMSLOT_MCP_TOKEN|input:memslot-token)\}/u,
              token,
            );
      const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
      const headers = {
        authorization,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      expect((await fetch(url, { method: "POST", headers, body: ping })).status).toBe(200);
    }
  });

  test("lists every option of the command", async () => {
    const { stdout } = await (await createSandbox()).run(["mcp", "--help"]);
    const options = [...stdout.matchAll(/^ +(--[\w-]+)/gmu)].map(([, name = ""]) => name);
    expect(options).toContain("--http");
    for (const option of options.filter((name) => name !== "--help")) expect(page).toContain(`\`${option}`);
  });
});
