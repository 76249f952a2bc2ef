import { execFileSync } from "node:child_process";
import { linkSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { afterwards, writeFiles } from "@memslot/test-tools/files";
import { type Memory, MemoryError, type MemoryRootStatus } from "memslot";
import { describe, expect, test } from "vitest";
import { ask, type House, useHouse } from "../support/temp-workspace.ts";

const isWindows = process.platform === "win32";
/** In every text that must not be returned. */
const canary = "canary-Q7ZX";

async function found(memory: Memory, query: string): Promise<string[]> {
  return (await ask(memory, query, { maxResults: 200, maxTokens: 4000 })).paths.toSorted();
}

async function answer(memory: Memory, relPath: string): Promise<string> {
  try {
    const { status, text } = await memory.readFile({ relPath });
    return status === "ok" ? text : status;
  } catch (error) {
    return MemoryError.is(error) ? error.code : String(error);
  }
}

function skipped(memory: Memory, place: string): string | undefined {
  const { roots = [] } = memory.status();
  return roots.find((root: MemoryRootStatus) => root.path === place && root.state === "skipped")?.reason;
}

/** A folder beside the notes, with files in it that are private to others. */
function outsideOf(house: House): string {
  const names = ["secret.md", "deep/secret.md", "MEMORY.md", "MEMORY.txt"];
  const outside = path.join(house.folder, "outside");
  writeFiles(outside, Object.fromEntries(names.map((name) => [name, `zebra ${canary}\n`])));
  return outside;
}

describe("paths", () => {
  test("no path leads out of the memory files", async () => {
    const house = useHouse({
      "MEMORY.md": "zebra\n",
      "memory/a.md": "zebra\n",
      "README.md": canary,
      "src/code.md": canary,
    });
    const outside = outsideOf(house);
    const memory = await house.open();
    await memory.sync();
    // The check "read: refuses paths outside the memory files" of the kit has the usual ones.
    const asked = [
      house.at("memory/a.md"),
      `~${outside}/secret.md`,
      "//outside/secret.md",
      "\\\\host\\share\\secret.md",
      "memory/a.md\0../../outside/secret.md",
      "",
    ];
    for (const relPath of asked)
      expect(await answer(memory, relPath), relPath).toMatch(/^(?:PATH_NOT_ALLOWED|INVALID_ARGUMENT)$/);
    expect(await found(memory, "zebra")).toEqual(["MEMORY.md", "memory/a.md"]);
    expect(await found(memory, canary)).toEqual([]);
  });

  test.skipIf(isWindows)("links of every kind are not followed, and each is named with its reason", async () => {
    const house = useHouse({ "memory/a.md": "zebra\n", "elsewhere/b.md": "zebra\n" });
    const outside = outsideOf(house);
    const link = (target: string, name: string): void => symlinkSync(target, house.at(name));
    link(path.join(outside, "secret.md"), "memory/file.md");
    link("a.md", "memory/again.md");
    link(path.join(outside, "deep"), "memory/folder");
    link("..", "memory/circle");
    link(path.join(outside, "none.md"), "memory/nowhere.md");
    link(path.join(outside, "MEMORY.md"), "MEMORY.md");
    link(outside, "extra");
    link(house.at("elsewhere"), "parent");
    const memory = await house.open({ memorySearch: { extraPaths: ["extra", "parent/b.md"].map(house.at) } });
    await memory.sync();
    expect(await found(memory, "zebra")).toEqual(["elsewhere/b.md", "memory/a.md"]);
    expect(await found(memory, canary)).toEqual([]);
    for (const name of ["memory/file.md", "memory/again.md", "memory/folder", "memory/circle", "memory/nowhere.md"])
      expect(skipped(memory, name), name).toBe("is a symbolic link, which is not followed");
    expect(skipped(memory, "MEMORY.md")).toContain(`name the real path instead, ${path.join(outside, "MEMORY.md")}`);
    expect(skipped(memory, house.at("extra"))).toContain(`name the real path instead, ${outside}`);
    for (const name of ["memory/file.md", "memory/folder/secret.md", "MEMORY.md", "extra/secret.md"])
      expect(await answer(memory, name), name).toBe("PATH_NOT_ALLOWED");
  });

  test.skipIf(isWindows)("a folder of notes that becomes a link takes its notes out of the index", async () => {
    const house = useHouse({ "memory/deep/a.md": "zebra\n", "memory/b.md": "zebra\n" });
    const outside = outsideOf(house);
    const memory = await house.open();
    await memory.sync();
    renameSync(house.at("memory/deep"), path.join(house.folder, "before"));
    symlinkSync(outside, house.at("memory/deep"));
    expect(await found(memory, "zebra")).toEqual(["memory/b.md"]);
    expect(await answer(memory, "memory/deep/secret.md")).toBe("PATH_NOT_ALLOWED");
  });

  test.skipIf(isWindows)("a workspace that is reached through a link is the same workspace", async () => {
    const house = useHouse({ "memory/a.md": "zebra\n" });
    const moved = path.join(house.folder, "moved");
    renameSync(house.notes, moved);
    symlinkSync(moved, house.notes);
    const memory = await house.open();
    await memory.sync();
    expect(await found(memory, "zebra")).toEqual(["memory/a.md"]);
    expect(await answer(memory, "memory/a.md")).toBe("zebra");
    expect(memory.status().workspaceDir).toBe(moved);
  });

  test("a file with two names is indexed once, and the other name says so", async () => {
    const house = useHouse({ "memory/b.md": "zebra\n", "outside.txt": "zebra too\n" });
    linkSync(house.at("memory/b.md"), house.at("memory/a.md"));
    linkSync(house.at("outside.txt"), house.at("memory/c.md"));
    const memory = await house.open({ memorySearch: { extraPaths: [house.at("memory"), house.notes] } });
    await memory.sync();
    expect(await found(memory, "zebra")).toEqual(["memory/a.md", "memory/c.md"]);
    expect(skipped(memory, "memory/b.md")).toBe("is the same file as memory/a.md, which is indexed");
    rmSync(house.at("memory/a.md"));
    expect(await found(memory, "zebra")).toEqual(["memory/b.md", "memory/c.md"]);
  });

  test("MEMORY.md and memory.md are one memory", async () => {
    const house = useHouse({ "MEMORY.md": "zebra of the large one\n", "memory.md": "zebra of the small one\n" });
    // On a disk that makes no difference, the second has replaced the text of the first.
    const areTwo = readdirSync(house.notes).includes("memory.md") && readdirSync(house.notes).includes("MEMORY.md");
    const memory = await house.open({ memorySearch: { extraPaths: areTwo ? [] : [house.at("memory.md")] } });
    await memory.sync();
    expect(await found(memory, "zebra")).toEqual(["MEMORY.md"]);
    expect(skipped(memory, "memory.md")).toBe(areTwo ? "MEMORY.md is used" : undefined);
  });

  test("accents written as one character or as two, a byte order mark and CRLF change nothing", async () => {
    const house = useHouse();
    const name = "memory/cafe\u0301 du lac.md";
    house.write({ [name]: "\ufefffirst line\r\nthe Cafe\u0301 by the lake\r\nlast line\r\n" });
    const memory = await house.open();
    await memory.sync();
    for (const query of ["caf\u00e9", "cafe\u0301"]) {
      const [result] = await memory.search(query);
      expect(result).toMatchObject({ startLine: 1, endLine: 3 });
      expect(result?.path.normalize("NFC")).toBe(name.normalize("NFC"));
      // What a model copies, and what it writes by itself.
      for (const relPath of [result?.path ?? "", name.normalize("NFC"), name.normalize("NFD")])
        expect(await answer(memory, relPath)).toBe("first line\nthe Cafe\u0301 by the lake\nlast line");
    }
    expect(memory.status().files).toBe(1);
  });

  test.skipIf(isWindows)("pipes, sockets and devices are passed over by name, and nothing waits for them", async () => {
    const house = useHouse({ "memory/a.md": "zebra\n" });
    const pipe = house.at("memory/pipe.md");
    execFileSync("mkfifo", [pipe]);
    const server = net.createServer();
    afterwards(() => void server.close());
    await new Promise<void>((resolve) => server.listen(house.at("memory/socket.md"), resolve));
    const memory = await house.open({ memorySearch: { extraPaths: ["/dev/null"] } });
    await memory.sync();
    expect(await found(memory, "zebra")).toEqual(["memory/a.md"]);
    expect(skipped(memory, "memory/pipe.md")).toBe("is a named pipe, not a file");
    expect(skipped(memory, "memory/socket.md")).toBe("is a socket, not a file");
    expect(skipped(memory, "/dev/null")).toBe("is a device, not a file");
    expect(await answer(memory, "memory/pipe.md")).toBe("PATH_NOT_ALLOWED");
  });

  test("a binary under the name of a note is named, now and after a restart", async () => {
    const house = useHouse({
      "memory/a.md": "zebra\n",
      "memory/picture.md": Buffer.from(Array.from({ length: 4000 }, (_, index) => (index * 37) % 256)),
    });
    house.letSettle();
    for (const round of ["first", "after a restart"]) {
      // A watch that begins while the files are looked at makes the index dirty: what changed before was not seen.
      const memory = await house.open({ memorySearch: { sync: { watch: false } } });
      expect(await memory.sync(), round).toMatchObject({ failed: [] });
      expect(skipped(memory, "memory/picture.md"), round).toMatch(/^is not text/);
      expect(memory.status().dirty, round).toBe(false);
      await memory.close();
    }
  });

  test("every place that was looked at is in the status", async () => {
    const house = useHouse({ "memory/a.md": "zebra\n", "notes.txt": "t" });
    const memory = await house.open({ memorySearch: { extraPaths: ["missing", "notes.txt"].map(house.at) } });
    await memory.sync();
    const missing = { state: "skipped", reason: "does not exist", code: "file.missing" };
    const none = { state: "skipped", reason: "is not a Markdown file (.md)", code: "file.notMarkdown" };
    expect(memory.status().roots).toEqual([
      { path: "MEMORY.md", ...missing },
      { path: "USER.md", ...missing },
      { path: "memory", state: "indexed", files: 1 },
      { path: house.at("missing"), ...missing },
      { path: house.at("notes.txt"), ...none },
    ]);
  });
});
