import { unseenCharacter } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { createSandbox } from "./run-memslot.ts";

const hidden = "\u001B]0;title\u0007\u202E\u{E0049}\u{E0047}\u200B";

describe.skipIf(process.platform === "win32")("what reaches a terminal or a pipe", () => {
  test(
    "holds nothing of a note that nobody sees or that a terminal obeys, and its path is taken back",
    { timeout: 180_000 },
    async () => {
      const sandbox = await createSandbox();
      const file = `memory/boat${hidden}.md`;
      await sandbox.write(file, `# Boats\n\nThe ferry ${hidden} leaves at nine.\n\nمی\u200Cخواهم 👩‍🚀\n`);
      const search = await sandbox.runHere(["memory", "search", "ferry nine"]);
      expect(search.exitCode).toBe(0);
      expect(unseenCharacter(search.stdout)).toBeUndefined();
      const [, shown = ""] = /(memory\/boat.*\.md):\d/u.exec(search.stdout) ?? [];
      const [, place = ""] = /^\S+ (.*\.md):\d/u.exec(search.stdout) ?? [];
      for (const asked of [file, shown, `${shown}#L1-L5`, `${shown}:1-5`, place]) {
        const get = await sandbox.runHere(["memory", "get", asked]);
        expect(get.stdout).toBe("# Boats\n\nThe ferry \uFFFD]0;title\uFFFD leaves at nine.\n\nمی\u200Cخواهم 👩‍🚀\n");
      }
      const json = await sandbox.runHere(["memory", "get", shown, "--json"]);
      expect(unseenCharacter(json.stdout)).toBeUndefined();
      expect(JSON.parse(json.stdout)).toMatchObject({ path: file, text: expect.stringContaining(hidden) });
    },
  );

  test.each([
    ["--workspace", ["memory", "status", "--workspace", `./none${hidden}`]],
    ["--agent", ["memory", "status", "--agent", `none${hidden}`]],
    ["an unknown option", ["memory", "status", `--none${hidden}`]],
    ["a path that may not be read", ["memory", "get", `../none${hidden}.md`]],
    ["the folder of init", ["init", "--yes", "--workspace", `./new${hidden}`]],
  ])("says of %s what it is, spelled", async (_, args) => {
    const sandbox = await createSandbox();
    const { stdout, stderr } = await (args.includes("--workspace") ? sandbox.run(args) : sandbox.runHere(args));
    expect(unseenCharacter(stdout)).toBeUndefined();
    expect(unseenCharacter(stderr)).toBeUndefined();
    expect(stdout + stderr).toMatch(/\\u\{202e\}/i);
  });

  test("says of an unknown slot what it is, spelled", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig(JSON.stringify({ plugins: { slots: { memory: `none${hidden}` } } }));
    const { stderr } = await sandbox.runHere(["memory", "search", "x", "--config", config]);
    expect(unseenCharacter(stderr)).toBeUndefined();
    expect(stderr).toMatch(/\\u\{202e\}/i);
  });
});
