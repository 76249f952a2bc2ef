import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type { FakeQmd } from "@memslot/fakes/qmd";
import { isRunning } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { tempFolder } from "@memslot/test-tools/files";
import { describe, expect, test } from "vitest";
import { findQmd, type FoundQmd } from "./find-qmd.ts";
import { failureOf, fakeQmd, noSignal } from "./test/qmd-lab.ts";

const environment = { PATH: process.env["PATH"], HOME: process.env["HOME"] };

function find(command: string, more: Partial<Parameters<typeof findQmd>[0]> = {}): Promise<FoundQmd> {
  return findQmd({ command, environment, signal: noSignal, ...more });
}

function script(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

const expectedOf = (fake: FakeQmd): FoundQmd => ({
  version: "2.8.3",
  location: fake.folder,
  argv: [process.execPath, join(fake.folder, "dist/cli/qmd.js")],
});

describe("a package is found without starting it", () => {
  test("by its path, by a link, and by name in PATH, the first one there", async () => {
    const fake = fakeQmd();
    const folder = tempFolder();
    symlinkSync(fake.command, join(folder, "qmd"));
    expect(await find(fake.command)).toEqual(expectedOf(fake));
    expect(await find(join(folder, "qmd"))).toEqual(expectedOf(fake));
    const path = ["", tempFolder(), folder, join(fakeQmd({ version: "9.9.9" }).folder, "bin")].join(delimiter);
    expect(await find("qmd", { environment: { PATH: path } })).toEqual(expectedOf(fake));
    expect(fake.starts()).toEqual([]);
  });

  test("with spaces and other characters in its path", async () => {
    const folder = join(tempFolder(), "with space ü#&+'%20");
    mkdirSync(folder);
    const fake = fakeQmd({ folder });
    expect(await find(fake.command)).toEqual(expectedOf(fake));
  });

  test.each([
    ["npm's .cmd", "qmd.cmd", String.raw`"%_prog%"  "%dp0%\node_modules\@tobilu\qmd\bin\qmd" %*`],
    ["npm's older .cmd", "qmd.cmd", String.raw`node "%~dp0\node_modules\@tobilu\qmd\bin\qmd" %*`],
    ["a shell script of pnpm", "qmd", 'exec node  "$basedir/node_modules/@tobilu/qmd/bin/qmd" "$@"'],
    ["npm's .ps1", "qmd.ps1", '& "node$exe"  "$basedir/node_modules/@tobilu/qmd/bin/qmd" $args'],
  ])("by a shim: %s", async (_name, file, line) => {
    const prefix = join(tempFolder(), "Program Files");
    const fake = fakeQmd({ folder: join(prefix, "node_modules/@tobilu/qmd") });
    const path = '"/x/.pnpm/@tobilu+qmd@2.8.3/node_modules/@tobilu/qmd/bin/node_modules:/x"';
    const shim = script(join(prefix, file), `#!/bin/sh\nexport NODE_PATH=${path}\r\n${line}\r\n`);
    expect(await find(shim)).toEqual(expectedOf(fake));
  });

  test("by a shim with an absolute path", async () => {
    const fake = fakeQmd();
    mkdirSync(join(fake.folder, "node_modules/@tobilu"), { recursive: true });
    symlinkSync(fake.folder, join(fake.folder, "node_modules/@tobilu/qmd"));
    const target = join(fake.folder, "node_modules/@tobilu/qmd/bin/qmd");
    expect(await find(script(join(tempFolder(), "qmd"), `exec node "${target}" "$@"\n`))).toEqual(expectedOf(fake));
  });
});

describe("a command that is no package", () => {
  const wrapper = (fake: FakeQmd): string =>
    script(join(tempFolder(), "qmd"), `#!/bin/sh\nexec '${process.execPath}' '${fake.argv[1]}' "$@"\n`);

  test("is asked for its version", async () => {
    const fake = fakeQmd();
    const command = wrapper(fake);
    expect(await find(command)).toEqual({ version: "2.8.3", location: command, argv: [command] });
    expect(fake.starts("version").length).toBe(1);
  });

  test("is refused when it is something else, fails, or is too old", async () => {
    const other = script(join(tempFolder(), "qmd"), "#!/bin/sh\necho Quantum Molecular Dynamics 1.0\n");
    expect(await failureOf(find(other))).toMatchObject({
      reason: "not_installed",
      message: expect.stringContaining(other),
    });
    const failing = script(join(tempFolder(), "qmd"), "#!/bin/sh\necho boom >&2\nexit 3\n");
    expect(await failureOf(find(failing))).toMatchObject({
      reason: "qmd_error",
      message: expect.stringContaining("boom"),
    });
    const old = script(join(tempFolder(), "qmd"), "#!/bin/sh\necho qmd 2.5.3\n");
    expect(await failureOf(find(old))).toMatchObject({ reason: "unsupported_version" });
    const broken = script(join(tempFolder(), "qmd"), "#!/no/such/interpreter\n");
    expect(await failureOf(find(broken))).toMatchObject({ reason: "not_installed" });
  });

  test("is ended when the caller aborts", async () => {
    const fake = fakeQmd({ behaviour: { version: { hang: true, ignoreTerm: true } } });
    const controller = new AbortController();
    const search = find(wrapper(fake), { signal: controller.signal });
    await eventually(() => fake.starts().length > 0);
    controller.abort();
    await expect(search).rejects.toMatchObject({ name: "AbortError" });
    await eventually(() => !isRunning(fake.starts()[0]?.pid ?? 0));
  });
});

describe("the failure names what is missing and the next step", () => {
  test("without such a command", async () => {
    const failure = await failureOf(find("qmd", { environment: { PATH: tempFolder() } }));
    expect(failure).toMatchObject({ reason: "not_installed", message: "the command qmd is not in PATH" });
    expect(failure.action).toContain("npm install -g @tobilu/qmd");
    expect(await failureOf(find("/no/such/qmd"))).toMatchObject({ message: "there is no command /no/such/qmd" });
    expect(await failureOf(find("qmd", { environment: {} }))).toMatchObject({ reason: "not_installed" });
    // A folder and a file without the right to run are none.
    const folder = tempFolder();
    mkdirSync(join(folder, "qmd"));
    expect(await failureOf(find("qmd", { environment: { PATH: folder } }))).toMatchObject({ reason: "not_installed" });
  });

  test("a version that is too old", async () => {
    for (const version of ["2.8.2", "2.5.3", "1.9.9", "0.9.0"])
      expect(await failureOf(find(fakeQmd({ version }).command))).toMatchObject({
        reason: "unsupported_version",
        message: expect.stringMatching(new RegExp(`${RegExp.escape(version)} .*2\\.8\\.3 is needed`, "u")),
      });
    for (const version of ["2.8.3", "2.8.10", "2.10.0", "3.0.0", "2.9.0-beta.1"])
      expect((await find(fakeQmd({ version }).command)).version).toBe(version);
  });

  test("a package that was not built", async () => {
    const fake = fakeQmd();
    rmSync(join(fake.folder, "dist"), { recursive: true });
    expect(await failureOf(find(fake.command))).toMatchObject({ reason: "not_built" });
  });

  test("a package of another name is refused", async () => {
    const fake = fakeQmd();
    writeFileSync(join(fake.folder, "package.json"), JSON.stringify({ name: "qmd", version: "9.0.0" }));
    writeFileSync(fake.command, "#!/bin/sh\necho something\n");
    expect(await failureOf(find(fake.command))).toMatchObject({ reason: "not_installed" });
  });
});
