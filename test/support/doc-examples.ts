import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type ChatBody, startFakeChatServer } from "@memslot/fakes/chat";
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

export type ChatRequest = ChatBody;

/** What the model says: text, or a call of a tool with arguments as it wrote them. */
type ModelReply = { text: string } | { name: string; arguments: string };

/** A server that speaks chat completions; the script is the model. It ends with the test. */
export async function startModel(
  answer: (request: ChatRequest, index: number) => ModelReply,
): Promise<{ env: Record<string, string>; requests: ChatRequest[]; keys: (string | undefined)[] }> {
  const requests: ChatRequest[] = [];
  const keys: (string | undefined)[] = [];
  const server = await startFakeChatServer(({ body, headers }, index) => {
    requests.push(body);
    keys.push(headers.authorization);
    try {
      return { body: completion(answer(body, index), index) };
    } catch (error) {
      // A script that cannot continue: the program asked for something else. A 400 is not retried.
      return { status: 400, body: { error: { message: String(error) } } };
    }
  });
  afterwards(() => server.close());
  return { env: { OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: "sk-test", MODEL: "scripted" }, requests, keys };
}

function completion(reply: ModelReply, number: number): object {
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

const portNote = { "MEMORY.md": "# Memory\n\n- The staging database listens on port 5544.\n" };

/** Runs the first TypeScript example of a page beside a folder of notes. Below the repository, so that names resolve. */
export async function runFirstExample(page: string): Promise<string> {
  const place = createPlace(portNote);
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
  const place = createPlace(portNote);
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
