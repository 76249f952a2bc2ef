/**
 * A scripted qmd: the commands `mcp`, `update`, `embed`, `cleanup` and `--version` of 2.8.3 over an index in JSON, with
 * the faults of `behaviour.json` in its folder. Each command and each call of the MCP server reads that file, so it can
 * change while the server runs. `log.jsonl` records starts, ends and calls.
 */
import { readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { beforehand, complain, end, faultOf, log, print } from "./fake-qmd-faults.mjs";
import { Failure, loadIndex, readCollections, rowOf, saveIndex, updateCollection } from "./fake-qmd-index.mjs";
import { searchLines } from "./fake-qmd-search.mjs";

const commands = { mcp, update, embed, cleanup };

/** Runs the command line of this process as qmd with the tool folder. */
export async function run(tool) {
  const argv = process.argv.slice(2);
  const command = argv[0] === "--version" ? "version" : argv[0];
  const context = { tool, command, write: (text) => process.stdout.write(text) };
  // Before the start is logged: a test that has seen it may change the behaviour, or send a signal, at once.
  const fault = faultOf(context);
  process.on("SIGTERM", () => {
    if (!faultOf(context).ignoreTerm) process.exit(143);
  });
  process.on("exit", (code) => log(tool, { kind: "end", command, code }));
  log(tool, {
    kind: "start",
    command,
    argv,
    cwd: process.cwd(),
    priority: getPriority(),
    env: { ...process.env },
  });
  try {
    await beforehand(context, fault);
    if (command === "version")
      print(`qmd ${JSON.parse(readFileSync(join(tool, "package.json"), "utf8")).version} (facd35e)`);
    else if (commands[command]) await commands[command](context, fault);
    else throw new Failure(`Unknown command: ${command}`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    complain(error.message);
    process.exitCode = 1;
  }
}

function answer(index, searches, names, fault) {
  const usesModel = searches.some(({ type }) => type !== "lex") && index.documents.some(({ vector }) => vector);
  if (usesModel && process.env.CI) throw new Failure("Error: LLM operations are disabled in CI (CI=1)");
  const documents = searchLines(index, searches, names);
  if (fault.nowhere) for (const document of documents) document.path = `gone/${document.path}`;
  return documents.map((document, at) => ({ document, rank: at + 1 }));
}

async function update(context, fault) {
  const collections = readCollections(configFolder());
  if (collections.length === 0 || fault.desync) {
    print("No collections found. Run 'qmd collection add .' to index markdown files.");
    return;
  }
  print(`Updating ${collections.length} collection(s)...\n`);
  const index = loadIndex(process.env.INDEX_PATH);
  for (const [at, collection] of collections.entries()) {
    print(`[${at + 1}/${collections.length}] ${collection.name} (${collection.pattern})`);
    const counts = updateCollection(index, collection);
    print(
      `\nIndexed: ${Object.entries(counts)
        .map(([name, count]) => `${count} ${name}`)
        .join(", ")}\n`,
    );
  }
  if (fault.diskFull) throw new Failure("SqliteError: database or disk is full\n  code: 'SQLITE_FULL'");
  saveIndex(process.env.INDEX_PATH, index);
  print("✓ All collections updated.");
}

function embed(context, fault) {
  if (fault.embedLocked) {
    print("Another embed process is already running. Skipping.");
    return;
  }
  const index = loadIndex(process.env.INDEX_PATH);
  for (const document of index.documents) document.vector = document.active;
  saveIndex(process.env.INDEX_PATH, index);
  print(`✓ Done! Embedded ${index.documents.length} documents`);
}

function cleanup() {
  const index = loadIndex(process.env.INDEX_PATH);
  index.documents = index.documents.filter(({ active }) => active);
  saveIndex(process.env.INDEX_PATH, index);
  print("✓ Cleared 0 cached API responses\nNo orphaned embeddings to remove\n✓ FTS compacted, database vacuumed");
}

function statusOf() {
  const index = loadIndex(process.env.INDEX_PATH);
  const active = index.documents.filter((each) => each.active);
  return {
    totalDocuments: active.length,
    needsEmbedding: active.filter(({ vector }) => !vector).length,
    hasVectorIndex: active.some(({ vector }) => vector),
    // One without documents is not told, as one that is not known.
    collections: readCollections(configFolder())
      .map(({ name, path, pattern }) => ({
        name,
        path,
        pattern,
        documents: active.filter(({ collection }) => collection === name).length,
      }))
      .filter(({ documents }) => documents > 0),
  };
}

/** JSON-RPC by lines on standard input and output, as the server of the Model Context Protocol. */
async function mcp(context, startFault) {
  loadIndex(process.env.INDEX_PATH);
  readCollections(configFolder());
  if (startFault.noiseBefore) context.write(startFault.noiseBefore);
  const input = createInterface({ input: process.stdin });
  input.on("close", () => {
    // A model that is being loaded keeps the real one alive too.
    if (!faultOf(context).ignoreEof && !faultOf(context).hang) process.exit(0);
    setInterval(() => {}, 1000);
  });
  input.on("line", (line) => {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return;
    }
    if (message.id !== undefined) void reply(context, message);
    else log(context.tool, { kind: "notification", method: message.method, params: message.params });
  });
}

async function reply(context, { id, method, params }) {
  const fault = faultOf(context);
  const send = (body) => context.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`);
  if (method === "initialize") {
    if (fault.hangAtStart) return;
    send({
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: "qmd", version: "2.8.3" },
      },
    });
    return;
  }
  if (method !== "tools/call") return send({ error: { code: -32601, message: `Method not found: ${method}` } });
  log(context.tool, { kind: "call", name: params.name, arguments: params.arguments });
  if (fault.crash) return end(fault.crash);
  if (fault.blockMs) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fault.blockMs);
  if (fault.hang === true || (fault.hang === "models" && usesModels(params))) return;
  if (fault.slowMs) {
    await new Promise((resolve) => setTimeout(resolve, fault.slowMs));
    log(context.tool, { kind: "late" });
  }
  let result;
  try {
    if (fault.toolError) throw new Failure(fault.toolError);
    result = params.name === "status" ? statusResult() : queryResult(params.arguments, fault);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    result = { content: [{ type: "text", text: error.message }], isError: true };
  }
  if (fault.exitMidAnswer) {
    context.write(JSON.stringify({ jsonrpc: "2.0", id, result }).slice(0, 40));
    return end("SIGKILL");
  }
  if (fault.stdout !== undefined) return context.write(fault.stdout.replace('"id":1', `"id":${id}`));
  context.write(fault.noiseBefore ?? "");
  send({ result });
  context.write(fault.noiseAfter ?? "");
}

function usesModels({ arguments: { searches = [] } }) {
  return searches.some(({ type }) => type !== "lex");
}

function statusResult() {
  const structuredContent = statusOf();
  return {
    content: [{ type: "text", text: `Total documents: ${structuredContent.totalDocuments}` }],
    structuredContent,
  };
}

function queryResult({ searches, limit = 10, collections }, fault) {
  if (!searches?.length) throw new Failure("Error: provide either 'query' (plain text) or 'searches'");
  const known = readCollections(configFolder()).map(({ name }) => name);
  const names = (collections ?? known).filter((name) => known.includes(name));
  const rows = answer(loadIndex(process.env.INDEX_PATH), searches, names, fault).slice(0, limit);
  const results = rows.map(({ document, rank }) => {
    const row = rowOf(document, rank, searches[0].query);
    const numbered = row.snippet.split("\n").map((text, at) => `${row.line + at}: ${text}`);
    return { ...row, file: row.file.slice("qmd://".length), context: null, snippet: numbered.join("\n") };
  });
  return { content: [{ type: "text", text: `Found ${results.length} results` }], structuredContent: { results } };
}

/** The folder of `index.yml`, as qmd finds it. */
function configFolder() {
  return process.env.QMD_CONFIG_DIR ?? join(process.env.XDG_CONFIG_HOME ?? join(process.env.HOME, ".config"), "qmd");
}
