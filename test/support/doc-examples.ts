import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterwards, tempFolder, writeFiles } from "@memslot/test-tools/files";
import { examplesOf, root } from "./repository.ts";
import { type CommandRun, plainEnvironment, tryCommand } from "./run-command.ts";

/** Where the programs stand. */
export const examplesFolder: string = path.join(root, "docs/examples");

/** A reader's own folder: notes, and a home with nothing in it. */
export interface Place {
  readonly folder: string;
  readonly notes: string;
  /** Runs a program of `docs/examples` from its sources, in this folder, to its end. */
  run(
    program: string,
    args: readonly string[],
    env?: NodeJS.ProcessEnv,
    flags?: readonly string[],
  ): Promise<CommandRun>;
}

/** Deleted with the test. `files` go below the notes. */
export function createPlace(files: Readonly<Record<string, string>>): Place {
  const folder = tempFolder();
  const notes = path.join(folder, "notes");
  writeFiles(notes, files);
  return {
    folder,
    notes,
    run: (program, args, env = {}, flags = []) =>
      tryCommand(
        process.execPath,
        ["--conditions=@memslot/source", ...flags, path.join(examplesFolder, program), ...args],
        { cwd: folder, env: { ...plainEnvironment(), HOME: folder, USERPROFILE: folder, ...env } },
      ),
  };
}

/** Makes a command `memslot` that runs from its sources. Gives the PATH on which it comes first. */
export function memslotOnPath({ folder }: Place): string {
  const bin = path.join(folder, "bin");
  mkdirSync(bin);
  const cli = path.join(root, "apps/memslot/src/cli.ts");
  const command = path.join(bin, "memslot");
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" --conditions=@memslot/source "${cli}" "$@"\n`);
  chmodSync(command, 0o755);
  return `${bin}${path.delimiter}${process.env["PATH"]}`;
}

/** A server on this machine, which ends with the test. Gives its port. */
export async function serve(
  handle: (incoming: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<number> {
  const server = createServer((incoming, response) => void handle(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterwards(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return (server.address() as AddressInfo).port;
}

/** The body of a chat-completions call, as far as a model looks at it here. */
export interface ChatRequest {
  model: string;
  messages: { role: string; content: string | null; tool_call_id?: string }[];
  tools?: { function: { name: string; parameters: Record<string, unknown> } }[];
  tool_choice?: unknown;
}

/** What the model says: text, or a call of a tool with arguments as it wrote them. */
export type ChatReply = { text: string } | { name: string; arguments: string };

/** A server on this machine that speaks chat completions; the script in it is the model. It ends with the test. */
export async function startModel(
  answer: (request: ChatRequest, index: number) => ChatReply,
): Promise<{ env: Record<string, string>; requests: ChatRequest[]; keys: (string | undefined)[] }> {
  const requests: ChatRequest[] = [];
  const keys: (string | undefined)[] = [];
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part);
    response.setHeader("content-type", "application/json");
    // It has no model for embeddings, as many such servers have none.
    if (incoming.url !== "/v1/chat/completions") {
      response.writeHead(404).end(JSON.stringify({ error: { message: "there is nothing here" } }));
      return;
    }
    const request = JSON.parse(Buffer.concat(parts).toString("utf8")) as ChatRequest;
    requests.push(request);
    keys.push(incoming.headers.authorization);
    try {
      response.end(JSON.stringify(completion(answer(request, requests.length - 1), requests.length)));
    } catch (error) {
      // A script that cannot go on is a program that asked for something else; 400 is not tried again.
      response.writeHead(400).end(JSON.stringify({ error: { message: String(error) } }));
    }
  };
  const port = await serve(handle);
  const env = { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: "sk-test", MODEL: "scripted" };
  return { env, requests, keys };
}

function completion(reply: ChatReply, number: number): object {
  const call = "name" in reply && [{ id: `call_${number}`, type: "function", function: reply }];
  const message = {
    role: "assistant",
    content: "text" in reply ? reply.text : null,
    ...(call && { tool_calls: call }),
  };
  return {
    id: `completion-${number}`,
    object: "chat.completion",
    created: 0,
    model: "scripted",
    choices: [{ index: 0, message, finish_reason: call ? "tool_calls" : "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

/** What the last tool gave back; undefined where none was asked yet. */
export function lastToolResult({ messages }: ChatRequest): Record<string, unknown> | undefined {
  const last = messages.at(-1);
  if (last?.role !== "tool" || last.content === null) return undefined;
  return JSON.parse(last.content) as Record<string, unknown>;
}

/** Runs the first TypeScript example of a page beside a folder of notes. Below the repository, so that names resolve. */
export async function runFirstExample(page: string): Promise<string> {
  const place = createPlace({ "MEMORY.md": "# Memory\n\n- The staging database listens on port 5544.\n" });
  const folder = path.join(root, "test", `.examples-${path.basename(page)}`);
  afterwards(() => rmSync(folder, { recursive: true, force: true }));
  writeFiles(folder, { "test/example.ts": examplesOf(page, "ts")[0] ?? "" });
  const { stdout, stderr, exitCode } = await place.run(
    path.relative(examplesFolder, path.join(folder, "test/example.ts")),
    [],
  );
  if (exitCode !== 0) throw new Error(`the example of ${page}: ${stderr}`);
  return stdout;
}

/** The commands that a page shows. */
export function commandsOf(page: string): string[] {
  return examplesOf(page, "sh").flatMap((block) => block.split("\n").filter((line) => line.startsWith("memslot ")));
}

/** Runs the commands of a page as they are written, in a home with notes. Each prints something. */
export async function runCommands(page: string): Promise<{ line: string; run: CommandRun }[]> {
  const place = createPlace({ "MEMORY.md": "# Memory\n\n- The staging database listens on port 5544.\n" });
  const env = { PATH: memslotOnPath(place), HOME: place.folder, MEMSLOT_HOME: path.join(place.folder, ".memslot") };
  const runs: { line: string; run: CommandRun }[] = [];
  for (const line of commandsOf(page))
    runs.push({
      line,
      run: await tryCommand("sh", ["-c", line], { cwd: place.folder, env: { ...plainEnvironment(), ...env } }),
    });
  return runs;
}

/** Asks the demo agent the question that a page shows. */
export async function askDemo(page: string): Promise<string> {
  const question = /`echo "([^"]+)" \| npm start`/.exec(readFileSync(path.join(root, page), "utf8"))?.[1];
  if (question === undefined) throw new Error(`${page} shows no question`);
  const demo = path.join(root, "apps/demo-agent/src/cli.ts");
  const command = `echo "${question}" | "${process.execPath}" --conditions=@memslot/source "${demo}"`;
  return (await tryCommand("sh", ["-c", command], { cwd: root })).stdout;
}
