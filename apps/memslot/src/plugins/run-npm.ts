import { spawn } from "node:child_process";
import { MemoryError } from "@memslot/core";
import { childEnvironment, networkVariables } from "@memslot/core/providers";
import type { CommandContext } from "../command-context.ts";
import { existsSync, realpathSync } from "node:fs";
import path from "node:path";

/** Packages of some hundred megabytes come over slow lines. */
const DEADLINE_MS = 30 * 60_000;
const KILL_WAITS_MS = 5000;
const KEPT_LENGTH = 16 * 1024;
const SHOWN_LINES = 5;
/** npm's own settings, what its files name for a registry, how it reaches one, and where a version manager is. */
const passedOn = [
  ...networkVariables,
  ..."npm_config_* NPM_CONFIG_* NPM_TOKEN NODE_AUTH_TOKEN NODE_EXTRA_CA_CERTS SSL_CERT_FILE".split(" "),
  ..."SSL_CERT_DIR XDG_CONFIG_HOME XDG_DATA_HOME SSH_AUTH_SOCK GIT_SSH_COMMAND CI".split(" "),
  ..."NVM_* FNM_* VOLTA_* ASDF_* MISE_*".split(" "),
];
/** Lines of a stack, fields of an error, and where the log is. */
const notForPeople = /^(?:at |errno |syscall |\w+: ['\d]|\}|A complete log)|debug-\d+\.log/u;

/** Runs npm in a folder, with its output on stderr as it comes. Throws `PLUGIN` with its own words where it fails. */
export async function runNpm(context: CommandContext, folder: string, args: readonly string[]): Promise<void> {
  const { output, signal, env } = context;
  signal.throwIfAborted();
  const npm = findNpm(process.execPath, env);
  if (npm === undefined) {
    throw new MemoryError(
      "PLUGIN",
      `npm is not there, neither beside ${process.execPath} nor on the PATH; install it (it comes with Node, https://nodejs.org) and run the command again`,
    );
  }
  const child = spawn(npm.program, [...npm.args, ...args], {
    cwd: folder,
    env: childEnvironment(env, passedOn),
    stdio: ["pipe", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      said = (said + text).slice(-KEPT_LENGTH);
      output.stderr.write(text);
    });
  }
  // Nothing is sent: it is there to be closed when this process ends.
  child.stdin.on("error", () => undefined);
  let stopped: "aborted" | "late" | undefined;
  let killing: NodeJS.Timeout | undefined;
  const stop = (why: "aborted" | "late") => (): void => {
    stopped ??= why;
    child.kill("SIGTERM");
    killing ??= setTimeout(() => child.kill("SIGKILL"), KILL_WAITS_MS);
  };
  const onAbort = stop("aborted");
  signal.addEventListener("abort", onAbort, { once: true });
  const late = setTimeout(stop("late"), DEADLINE_MS);
  try {
    const ended = await new Promise<{ code: number | null } | { error: Error }>((resolve) => {
      child.once("error", (error) => resolve({ error }));
      child.once("close", (code) => resolve({ code }));
    });
    if (stopped === "aborted") signal.throwIfAborted();
    if (stopped === "late") throw failed(`did not end within ${DEADLINE_MS / 60_000} minutes`, said);
    if ("error" in ended) throw failed(`(${npm.file}) cannot be started: ${ended.error.message}`, "");
    if (ended.code !== 0) throw failed(`ended with code ${ended.code}`, said);
  } finally {
    clearTimeout(late);
    clearTimeout(killing);
    signal.removeEventListener("abort", onAbort);
  }
}

function failed(how: string, said: string): MemoryError {
  const errors = said.split("\n").filter((line) => /^npm (?:error|ERR!)/u.test(line));
  const words = errors.map((line) => line.replace(/^npm (?:error|ERR!) ?/u, "").trim());
  const told = words
    .filter((line) => line !== "" && !notForPeople.test(line))
    .slice(0, SHOWN_LINES)
    .join("; ");
  const isNetwork = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH/u.test(said);
  const step = isNetwork ? ". The registry cannot be reached: check the network and the proxy settings of npm" : "";
  return new MemoryError("PLUGIN", `npm ${how}${told === "" ? "" : `: ${told}`}${step}`);
}

/** How npm is started. */
interface NpmCommand {
  program: string;
  /** Before its own: the script where npm is one. */
  args: readonly string[];
  /** Where it was found. */
  file: string;
}

/**
 * The npm that lies beside a Node, else the first on the PATH. It is started as a script of this Node wherever that can
 * be: then there is no shell between, on no system. Undefined where there is none.
 */
export function findNpm(node: string, env: NodeJS.ProcessEnv): NpmCommand | undefined {
  const folder = path.dirname(node);
  const beside = [folder, path.join(folder, "..", "lib")].map(scriptBelow).find((file) => existsSync(file));
  if (beside !== undefined) return asScript(node, path.normalize(beside));
  for (const place of (env["PATH"] ?? env["Path"] ?? "").split(path.delimiter)) {
    if (place === "") continue;
    const found = path.join(place, "npm");
    const script = [realPath(found) ?? "", scriptBelow(place)].find((file) => file.endsWith(".js") && existsSync(file));
    if (script !== undefined) return asScript(node, script);
    // A version manager's own program in place of npm. That of Windows is a batch file, which needs a shell.
    if (process.platform !== "win32" && existsSync(found)) return { program: found, args: [], file: found };
  }
  return undefined;
}

function scriptBelow(folder: string): string {
  return path.join(folder, "node_modules", "npm", "bin", "npm-cli.js");
}

/** It ends when this process ends, however that happens: then the pipe that it reads is closed. */
function asScript(node: string, file: string): NpmCommand {
  const endWithParent =
    "process.stdin.on('end',()=>process.exit(1)).on('error',()=>process.exit(1)).resume().unref?.()";
  return { program: node, args: ["--import", `data:text/javascript,${encodeURIComponent(endWithParent)}`, file], file };
}

function realPath(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    return undefined; // Not there.
  }
}
