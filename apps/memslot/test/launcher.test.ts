import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

async function installedPackage(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "memslot-launcher-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(fileURLToPath(new URL("../bin", import.meta.url)), path.join(folder, "bin"), { recursive: true });
  await writeFile(path.join(folder, "package.json"), '{"type":"module"}');
  return folder;
}

function launch(
  folder: string,
  nodeOptions: readonly string[] = [],
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...nodeOptions, path.join(folder, "bin", "memslot.js"), "--version"],
      { timeout: 30_000 },
      (error, stdout, stderr) => {
        resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}

test("the launcher of a checkout that was not built says how to build it", async () => {
  const { exitCode, stdout, stderr } = await launch(await installedPackage());
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toContain("pnpm build");
});

test("the launcher starts the built command", async () => {
  const folder = await installedPackage();
  await mkdir(path.join(folder, "dist"));
  await writeFile(path.join(folder, "dist", "cli.js"), 'process.stdout.write("built " + process.argv[2]);');
  expect(await launch(folder)).toEqual({ exitCode: 0, stdout: "built --version", stderr: "" });
});

test("the launcher refuses a Node that is too old and names the one it needs", async () => {
  const folder = await installedPackage();
  const older = path.join(folder, "older.mjs");
  await writeFile(
    older,
    'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "22.21.1" } });',
  );
  const { exitCode, stderr } = await launch(folder, ["--import", older]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain("Node 22.22 or newer is needed, and this is 22.21.1");
});
