import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const lock = fileURLToPath(new URL("../../../node_modules/.build-of-tests", import.meta.url));

/**
 * Builds all packages and runs `work` before another process builds: a build empties the `dist` folders that `work`
 * reads.
 */
export async function withBuild<Result>(work: () => Promise<Result>): Promise<Result> {
  while (!(await tryLock())) await sleep(200);
  try {
    // The runner of the tests sets these for itself.
    const own = /^(?:NODE_OPTIONS|NODE_ENV|NODE_COMPILE_CACHE|VITEST.*|npm_.*)$/;
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
    const build = promisify(execFile)("pnpm", ["run", "build"], {
      cwd: root,
      env,
      shell: process.platform === "win32",
    });
    // The compiler writes its errors to the standard output.
    await build.catch((error: { stdout: string; stderr: string }) => {
      throw new Error(`the build failed\n${error.stdout}${error.stderr}`);
    });
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

/** The lock of a process that has ended is removed. */
async function tryLock(): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    const pid = Number(await readFile(lock, "utf8").catch(() => ""));
    if (pid > 0 && !isAlive(pid)) await rm(lock, { force: true });
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
