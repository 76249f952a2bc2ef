import path from "node:path";
import { describe, expect, test } from "vitest";
import { createSandbox } from "./run-memslot.ts";

const lines = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}\n`).join("");

describe("memslot memory get", () => {
  test("prints a file, and a range of its lines", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("memory/a.md", lines(1, 20));
    expect(await sandbox.runHere(["memory", "get", "memory/a.md"])).toEqual({
      exitCode: 0,
      stdout: lines(1, 20),
      stderr: "",
    });
    expect((await sandbox.runHere(["memory", "get", "memory/a.md#L3-L5"])).stdout).toContain(lines(3, 5));
    expect((await sandbox.runHere(["memory", "get", "memory/a.md#L3-L5"])).stdout).not.toContain("line 6");
  });

  test("prints exactly the lines that path:12, path:12-20 and path#L12-L20 name", async () => {
    const sandbox = await createSandbox();
    for (const name of ["memory/a.md", "memory/at 10:30.md"]) {
      if (process.platform === "win32" && name.includes(":")) continue;
      await sandbox.write(name, lines(1, 30));
      const get = (place: string): Promise<unknown> => sandbox.runHere(["memory", "get", name + place]);
      expect(await get(":12")).toEqual({ exitCode: 0, stdout: "line 12\n", stderr: "" });
      expect(await get(":12-20")).toEqual({ exitCode: 0, stdout: lines(12, 20), stderr: "" });
      expect(await get("#L12-L20")).toEqual({ exitCode: 0, stdout: lines(12, 20), stderr: "" });
      expect(await get(":28-99")).toEqual({ exitCode: 0, stdout: lines(28, 30), stderr: "" });
      expect(await get("")).toEqual({ exitCode: 0, stdout: lines(1, 30), stderr: "" });
    }
  });

  test("says of a line behind the end of the file that there is none", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("memory/a.md", lines(1, 20));
    await sandbox.write("memory/empty.md", "");
    for (const args of [["memory/a.md:21"], ["memory/a.md#L500-L600"], ["memory/a.md", "--from", "21"]]) {
      const { exitCode, stdout, stderr } = await sandbox.runHere(["memory", "get", ...args]);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
      expect(stderr).toMatch(/memory\/a\.md ends before line (?:21|500);/u);
      const json = await sandbox.runHere(["memory", "get", ...args, "--json"]);
      expect(json.exitCode).toBe(2);
      expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, error: { code: "USAGE" } });
    }
    await sandbox.write("memory/Tom's boat.md", lines(1, 2));
    const { stderr } = await sandbox.runHere(["memory", "get", "memory/Tom's boat.md:9"]);
    expect(stderr).toContain(String.raw`memslot memory get 'memory/Tom'\''s boat.md' prints it`);
    expect(await sandbox.runHere(["memory", "get", "memory/empty.md:1"])).toMatchObject({ exitCode: 0, stdout: "" });
  });

  test("takes a path from where the user is as well; that of the workspace goes before", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("memory/a.md", "outer\n");
    await sandbox.write("memory/memory/a.md", "inner\n");
    await sandbox.write("memory/only.md", "only\n");
    const memory = path.join(sandbox.workspace, "memory");
    const get = async (target: string, cwd = memory): Promise<string> =>
      (await sandbox.runHere(["memory", "get", target], { cwd })).stdout;
    expect(await get("memory/a.md")).toBe("outer\n");
    expect(await get("./memory/a.md:1")).toBe("outer\n");
    expect(await get("only.md:1")).toBe("only\n");
    expect(await get("../memory/only.md")).toBe("only\n");
    expect(await get(`${path.join(memory, "only.md")}:1`, sandbox.cwd)).toBe("only\n");
    expect(await get("../notes/memory/only.md#L1", sandbox.cwd)).toBe("only\n");
  });

  test("lets --from and --lines win over the range", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("memory/a.md", lines(1, 20));
    const { stdout } = await sandbox.runHere([
      "memory",
      "get",
      "memory/a.md#L3-L5",
      "--from",
      "19",
      "--lines",
      "2",
      "--json",
    ]);
    expect(JSON.parse(stdout)).toMatchObject({
      status: "ok",
      path: "memory/a.md",
      from: 19,
      lines: 2,
      text: expect.stringContaining("line 19\nline 20"),
    });
  });

  test("says where the rest of a long file begins", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("memory/a.md", lines(1, 500));
    const human = await sandbox.runHere(["memory", "get", "memory/a.md"]);
    expect(human.stdout).toBe(lines(1, 120));
    expect(human.stderr).toContain("--from 121");
    const named = await sandbox.runHere(["memory", "get", "memory/a.md#L3-L4"]);
    expect(named).toMatchObject({ stdout: lines(3, 4), stderr: "" });
    const json = await sandbox.runHere(["memory", "get", "memory/a.md", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ status: "ok", from: 1, lines: 120, nextFrom: 121 });
  });

  test("ends with 1 for a file that is not there, and says so", async () => {
    const sandbox = await createSandbox();
    const human = await sandbox.runHere(["memory", "get", "memory/none.md"]);
    expect({ exitCode: human.exitCode, stdout: human.stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(human.stderr).toContain("memory/none.md");
    const json = await sandbox.runHere(["memory", "get", "memory/none.md", "--json"]);
    expect(json.exitCode).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ status: "not_found", text: "", path: "memory/none.md" });
  });

  test("refuses every path that leaves the workspace", async () => {
    const sandbox = await createSandbox();
    for (const target of ["../secret.md", "/etc/passwd", "~/x.md", "memory/../../x.md", "notes.txt"]) {
      const { exitCode, stdout } = await sandbox.runHere(["memory", "get", target, "--json"]);
      expect({ target, exitCode, code: JSON.parse(stdout).error.code }).toEqual({
        target,
        exitCode: 1,
        code: "PATH_NOT_ALLOWED",
      });
    }
  });

  test("counts a range that cannot be, and a missing path, as usage errors", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "x\n");
    for (const args of [
      ["MEMORY.md#L9-L3"],
      ["MEMORY.md#L0"],
      ["MEMORY.md", "--from", "0"],
      ["MEMORY.md", "--lines", "two"],
      [],
    ]) {
      expect({ args, exitCode: (await sandbox.runHere(["memory", "get", ...args])).exitCode }).toEqual({
        args,
        exitCode: 2,
      });
    }
  });
});
