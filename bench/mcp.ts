import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { memslot, withNotes } from "./support/contestants.ts";
import { accessCode } from "./support/corpus.ts";
import { median, percentile, printTable } from "./support/table.ts";

const searches = 200;
const starts = 5;
const timeoutMs = 120_000;
/** Milliseconds. */
const aimP50 = 15;

/** A server that is asked over stdio: how it is started, and how its search is called. */
interface Server {
  name: string;
  command: string[];
  environment: Record<string, string>;
  call: (query: string) => { name: string; arguments: Record<string, unknown> };
}

interface Figures {
  startMs: number[];
  searchMs: number[];
  found: number;
}

/**
 * `memslot mcp` under the official client: the search by words on generated notes, and the time from starting the
 * process to its first answer. With qmd its own server is asked the same in turn, search by search. As qmd answers from
 * its index without a look at the files, a server with `sync.onSearch: false` is measured too.
 */
export async function benchMcp({ files, qmd }: { files: number; qmd: string | undefined }): Promise<void> {
  await withNotes(files, async ({ folder, workspace }) => {
    const still = { provider: "none", sync: { onSearch: false } };
    const servers = [
      memslotServer("memslot mcp", path.join(folder, "looking"), workspace, { provider: "none" }),
      memslotServer("no look at the files", path.join(folder, "still"), workspace, still),
    ];
    if (qmd !== undefined) servers.push(qmdServer(qmd, folder, workspace));
    const figures = new Map(servers.map((server) => [server, { startMs: [], searchMs: [], found: 0 } as Figures]));

    for (let round = 0; round < starts; round++) {
      for (const [server, { startMs }] of figures) {
        const started = performance.now();
        const client = await connect(server);
        await search(client, server, round);
        startMs.push(performance.now() - started);
        await client.close();
      }
    }

    const clients = new Map<Server, Client>();
    try {
      for (const server of servers) {
        const client = await connect(server);
        clients.set(server, client);
        // The first call is left out.
        await search(client, server, files - 1);
      }
      for (let count = 0; count < searches; count++) {
        const note = (count * 37) % files;
        for (const [server, client] of clients) {
          const of = figures.get(server);
          const started = performance.now();
          const answer = await search(client, server, note);
          of?.searchMs.push(performance.now() - started);
          if (of !== undefined && answer.includes(accessCode(note))) of.found++;
        }
      }
    } finally {
      for (const client of clients.values()) await client.close();
    }
    report(files, figures);
  });
}

function memslotServer(name: string, folder: string, workspace: string, memorySearch: Record<string, unknown>): Server {
  mkdirSync(folder);
  const { environment, index } = memslot(folder, workspace, memorySearch);
  console.error("making an index of memslot …");
  run([process.execPath, ...index], environment);
  const [program = ""] = index;
  return {
    name,
    command: [process.execPath, program, "mcp", "--workspace", workspace],
    environment: definedOnly(environment),
    call: (query) => ({ name: "memory_search", arguments: { query, maxResults: 6 } }),
  };
}

/** By words, without reading the results again with a model: what it answers fastest with. */
function qmdServer(command: string, folder: string, workspace: string): Server {
  const home = path.join(folder, "qmd-home");
  mkdirSync(home);
  const environment = {
    PATH: process.env["PATH"],
    HOME: home,
    INDEX_PATH: path.join(home, "index.sqlite"),
    QMD_CONFIG_DIR: home,
  };
  console.error("making the index of qmd …");
  run([process.execPath, command, "collection", "add", workspace, "--name", "notes"], environment);
  run([process.execPath, command, "update"], environment);
  return {
    name: "qmd mcp",
    command: [process.execPath, command, "mcp"],
    environment: definedOnly(environment),
    call: (query) => ({
      name: "query",
      arguments: { searches: [{ type: "lex", query }], limit: 6, rerank: false },
    }),
  };
}

function run([program = "", ...args]: readonly string[], env: NodeJS.ProcessEnv): void {
  const ended = spawnSync(program, args, { encoding: "utf8", env, timeout: 10 * 60_000 });
  if (ended.status !== 0)
    throw new Error(`${args.join(" ")} ended with ${ended.status ?? ended.signal}: ${ended.stderr.slice(-2000)}`);
}

async function connect({ command: [command = "", ...args], environment }: Server): Promise<Client> {
  const client = new Client({ name: "memslot-bench", version: "0.0.0" });
  await client.connect(new StdioClientTransport({ command, args, env: environment, stderr: "ignore" }), {
    timeout: timeoutMs,
  });
  return client;
}

/** The answer as text. One that is an error, or holds nothing, is not to be measured. */
async function search(client: Client, server: Server, note: number): Promise<string> {
  const query = `access code project zephyr${note}`;
  const answer = await client.callTool(server.call(query), { timeout: timeoutMs });
  const text = JSON.stringify(answer);
  const results = (answer.structuredContent as { results?: unknown[] } | undefined)?.results;
  if (answer.isError === true || results === undefined || results.length === 0)
    throw new Error(`${server.name} did not answer "${query}": ${text.slice(0, 500)}`);
  return text;
}

function report(files: number, figures: ReadonlyMap<Server, Figures>): void {
  const names = [...figures.keys()].map(({ name }) => name);
  const [ours, still, theirs] = [...figures.values()];
  const ratio = (value: number | undefined, by: number | undefined): string[] =>
    theirs === undefined ? [] : [value && by ? `${(value / by).toFixed(1)}x` : ""];
  const row = (label: string, of: (each: Figures) => number, aim = ""): string[] => [
    label,
    ...[...figures.values()].map((each) => `${of(each).toFixed(1)} ms`),
    ...ratio(theirs && of(theirs), ours && of(ours)),
    ...ratio(theirs && of(theirs), still && of(still)),
    aim,
  ];
  printTable(
    `${files} generated notes of 4 kB, ${searches} searches by words over stdio, in turn`,
    ["", ...names, ...(theirs ? ["qmd to the first", "qmd to the second"] : []), "aimed at"],
    [
      row("search p50, after the first", ({ searchMs }) => percentile(searchMs, 0.5), `${aimP50} ms`),
      row("search p95, after the first", ({ searchMs }) => percentile(searchMs, 0.95)),
      row(`start to first answer, median of ${starts}`, ({ startMs }) => median(startMs)),
      [
        "right note in the answer",
        ...[...figures.values()].map(({ found }) => (found / searches).toFixed(3)),
        ...ratio(undefined, undefined),
        ...ratio(undefined, undefined),
        "",
      ],
    ],
  );
}

function definedOnly(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
