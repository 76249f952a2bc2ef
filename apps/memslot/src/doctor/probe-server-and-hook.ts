import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { withDeadline } from "@memslot/core";

const deadlineMs = 15_000;
const params = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "memslot doctor", version: "1" },
};

interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Starts an MCP server like a client and returns the names of its tools. Throws if the server does not answer. */
export async function toolsOf(server: ServerCommand, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<string[]> {
  const child = spawn(server.command, server.args, {
    env: { ...env, ...server.env },
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true,
  });
  let complaint = "";
  child.stderr.on("data", (piece: Buffer) => (complaint = `${complaint}${piece.toString()}`.slice(-2000)));
  child.stdin.on("error", () => undefined); // The end of the process reports the error.
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  try {
    return await withDeadline({ what: "the server", deadlineMs, signals: [signal] }, async () => {
      const ended = new Promise<never>((_, reject) => {
        child.on("error", reject);
        child.on("close", (code) =>
          reject(new Error(`it exited with code ${code}: ${complaint.trim().split("\n").at(-1) ?? ""}`)),
        );
      });
      send({ id: 1, method: "initialize", params });
      const listed = (async (): Promise<string[]> => {
        for await (const line of createInterface({ input: child.stdout })) {
          const { id, result, error } = JSON.parse(line) as {
            id?: number;
            result?: unknown;
            error?: { message?: string };
          };
          if (error !== undefined) throw new Error(error.message ?? "it returned an error");
          if (id === 1) {
            send({ method: "notifications/initialized" });
            send({ id: 2, method: "tools/list", params: {} });
          }
          if (id === 2) return (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
        }
        return await ended;
      })();
      return await Promise.race([listed, ended]);
    });
  } finally {
    child.removeAllListeners("close");
    child.on("error", () => undefined);
    child.kill();
  }
}

/** Runs a hook like a client, with an empty event, and returns its exit code. */
export async function runHookLine(line: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<number | null> {
  return await withDeadline({ what: "the hook", deadlineMs, signals: [signal] }, async (inner) => {
    const child = spawn(line, {
      env,
      shell: true,
      stdio: ["pipe", "ignore", "ignore"],
      signal: inner,
      windowsHide: true,
    });
    child.stdin.on("error", () => undefined); // The exit code reports the error.
    child.stdin.end("{}");
    return await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
  });
}
