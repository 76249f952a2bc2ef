import { spawn } from "node:child_process";
import { MemoryError } from "@memslot/core";
import { childEnvironment, networkVariables } from "@memslot/core/providers";
import type { CommandContext } from "../command-context.ts";
import { existsSync, realpathSync } from "node:fs";
import path from "node:path";

/** Allows for large packages over slow connections. */
const DEADLINE_MS = 30 * 60_000;
const KILL_WAITS_MS = 5000;
const KEPT_LENGTH = 16 * 1024;
const SHOWN_LINES = 5;
/** Environment variables for npm: its settings, registries, the network and version managers. */
const passedOn = [
  ...networkVariables,
  ..."npm_config_* NPM_CONFIG_* NPM_TOKEN NODE_AUTH_TOKEN NODE_EXTRA_CA_CERTS SSL_CERT_FILE".split(" "),
  ..."SSL_CERT_DIR XDG_CONFIG_HOME XDG_DATA_HOME SSH_AUTH_SOCK GIT_SSH_COMMAND CI".split(" "),
  ..."NVM_* FNM_* VOLTA_* ASDF_* MISE_*".split(" "),
];
/** Lines of stack traces, error fields and log paths. */
const technicalLine = /^(?:at |errno |syscall |\w+: ['\d]|\}|A complete log)|debug-\d+\.log/u;

/** Runs npm in a folder, with its output on stderr. Throws `PLUGIN` with its error if it fails. */
export async function runNpm(context: CommandContext, folder: string, args: readonly string[]): Promise<void> {
  const { output, signal, env } = context;
  signal.throwIfAborted();
  const npm = findNpm(process.execPath, env);
  if (npm === undefined) {
    throw new MemoryError(
      "PLUGIN",
      `npm was found neither beside ${process.execPath} nor on the PATH; install it (it comes with Node, https://nodejs.org) and run the command again`,
    );
  }
  const child = spawn(npm.program, [...npm.args, ...args], {
    cwd: folder,
    env: childEnvironment(env, passedOn),
    stdio: ["pipe", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      printed = (printed + text).slice(-KEPT_LENGTH);
      output.stderr.write(text);
    });
  }
  // Nothing is sent: the pipe closes when this process ends.
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
    if (stopped === "late") throw failed(`did not end within ${DEADLINE_MS / 60_000} minutes`, printed);
    if ("error" in ended) throw failed(`(${npm.file}) cannot be started: ${ended.error.message}`, "");
    if (ended.code !== 0) throw failed(`exited with code ${ended.code}`, printed);
  } finally {
    clearTimeout(late);
    clearTimeout(killing);
    signal.removeEventListener("abort", onAbort);
  }
}

function failed(how: string, printed: string): MemoryError {
  const errors = printed.split("\n").filter((line) => /^npm (?:error|ERR!)/u.test(line));
  const words = errors.map((line) => line.replace(/^npm (?:error|ERR!) ?/u, "").trim());
  const shown = words
    .filter((line) => line !== "" && !technicalLine.test(line))
    .slice(0, SHOWN_LINES)
    .join("; ");
  const isNetwork = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH/u.test(printed);
  const step = isNetwork ? ". The registry cannot be reached: check the network and the proxy settings of npm" : "";
  return new MemoryError("PLUGIN", `npm ${how}${shown === "" ? "" : `: ${shown}`}${step}`);
}

/** The command that starts npm. */
interface NpmCommand {
  program: string;
  args: readonly string[];
  file: string;
}

/** Finds npm beside this Node, else on the PATH; prefers its script, without a shell. Undefined if there is none. */
export function findNpm(node: string, env: NodeJS.ProcessEnv): NpmCommand | undefined {
  const folder = path.dirname(node);
  const beside = [folder, path.join(folder, "..", "lib")].map(scriptBelow).find((file) => existsSync(file));
  if (beside !== undefined) return asScript(node, path.normalize(beside));
  for (const place of (env["PATH"] ?? env["Path"] ?? "").split(path.delimiter)) {
    if (place === "") continue;
    const found = path.join(place, "npm");
    const script = [realPath(found) ?? "", scriptBelow(place)].find((file) => file.endsWith(".js") && existsSync(file));
    if (script !== undefined) return asScript(node, script);
    // The program of a version manager. On Windows it is a batch file, which needs a shell.
    if (process.platform !== "win32" && existsSync(found)) return { program: found, args: [], file: found };
  }
  return undefined;
}

function scriptBelow(folder: string): string {
  return path.join(folder, "node_modules", "npm", "bin", "npm-cli.js");
}

/** Starts npm so that it ends when this process ends, because its stdin closes. */
function asScript(node: string, file: string): NpmCommand {
  const endWithParent =
    "process.stdin.on('end',()=>process.exit(1)).on('error',()=>process.exit(1)).resume().unref?.()";
  return { program: node, args: ["--import", `data:text/javascript,${encodeURIComponent(endWithParent)}`, file], file };
}

function realPath(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    return undefined; // Does not exist.
  }
}
