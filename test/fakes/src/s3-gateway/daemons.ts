import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** A process that runs until it is ended. */
export interface Daemon {
  hasEnded(): boolean;
  /** The last that it has said. */
  said(): string;
  /** Asks it to end, and after some seconds ends it. */
  end(): Promise<void>;
}

const endMs = 5000;
const keptText = 2000;

export function isInstalled(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Runs a program of Ceph for the cluster in this folder. Rejects with what it has said where it fails. */
export async function runToEnd(folder: string, program: string, args: readonly string[], ms: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const options = { cwd: folder, timeout: ms, killSignal: "SIGKILL" } as const;
    execFile(program, ["-c", join(folder, "ceph.conf"), ...args], options, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else reject(new Error(`${program} ${args.join(" ")}: ${stderr.slice(-keptText) || error.message}`));
    });
  });
}

/** Starts a program of Ceph for the cluster in this folder. It ends with this process, however that ends. */
export function startDaemon(folder: string, program: string, args: readonly string[]): Daemon {
  const all = ["--pdeathsig", "KILL", program, "-c", join(folder, "ceph.conf"), ...args];
  const child: ChildProcess = spawn("setpriv", all, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (data: Buffer) => (text = (text + data.toString()).slice(-keptText)));
  const ended = once(child, "close").catch(() => undefined);
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  return {
    hasEnded,
    said: () => text,
    async end() {
      if (hasEnded()) return;
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), endMs);
      await ended;
      clearTimeout(timer);
    },
  };
}
