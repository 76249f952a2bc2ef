import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { childEnvironment } from "@memslot/core/providers";

/** The memory of a process in bytes, as far as this system tells: Windows does not without a program of its own. */
export async function memoryUse(pid: number): Promise<number | undefined> {
  if (process.platform === "linux") {
    const text = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    return kibibytes(/^VmRSS:\s*(\d+) kB$/m.exec(text)?.[1]);
  }
  if (process.platform === "win32") return undefined;
  return new Promise((resolve) => {
    execFile(
      "ps",
      ["-o", "rss=", "-p", String(pid)],
      { timeout: 2000, env: childEnvironment(process.env) },
      (error, stdout) => resolve(error ? undefined : kibibytes(stdout.trim())),
    );
  });
}

function kibibytes(text: string | undefined): number | undefined {
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text) * 1024;
}
