import assert from "node:assert/strict";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MemoryError } from "@memslot/core";
import { linesOf } from "../lab/expect.ts";
import type { MemoryCheck } from "../lab/lab.ts";
import { openWith } from "../lab/notes.ts";

/** Which paths can be read. */
export const readPathChecks: readonly MemoryCheck[] = [
  {
    name: "read: gives the file as it is now, not as it was indexed",
    async run(lab) {
      const { memory } = await openWith(lab, { "memory/a.md": "old\n" });
      await lab.write("memory/a.md", "new\n");
      assert.deepEqual(linesOf(await memory.readFile({ relPath: "memory/a.md" })), ["new"]);
    },
  },
  {
    name: "read: a missing file is not_found",
    async run(lab) {
      const { memory } = await openWith(lab, { "memory/a.md": "here\n" });
      for (const relPath of ["memory/none.md", "memory/no/such/folder.md", "USER.md"]) {
        const { status, text, path } = await memory.readFile({ relPath });
        assert.deepEqual({ status, text, path }, { status: "not_found", text: "", path: relPath });
      }
    },
  },
  {
    name: "read: refuses paths outside the memory files",
    async run(lab) {
      const { memory } = await openWith(lab, { "memory/a.md": "here\n" });
      await lab.write("package.json", "{}");
      await lab.write("src/readme.md", "not memory\n");
      await lab.write("memory/data.txt", "not Markdown\n");
      const secret = join(lab.outsideDir, "secret.md");
      await writeFile(secret, "secret\n");
      await symlink(secret, join(lab.workspaceDir, "memory/link.md"));
      await symlink(lab.outsideDir, join(lab.workspaceDir, "memory/folder"), "dir");
      const refused = [
        "../outside/secret.md",
        "memory/../../outside/secret.md",
        "memory/../package.json",
        secret,
        "/etc/passwd",
        "~/notes.md",
        "~root/x.md",
        "memory/link.md",
        "memory/folder/secret.md",
        "src/readme.md",
        "package.json",
        "memory/data.txt",
        "memory",
        "memory/",
        ".",
        "..",
        "..\\outside\\secret.md",
        "C:\\notes.md",
        "file:///etc/passwd",
        "memory/a.md/../../../outside/secret.md",
        "%2e%2e/outside/secret.md",
      ];
      for (const relPath of refused) {
        const outcome = await memory.readFile({ relPath }).then(
          (result) => JSON.stringify(result),
          (error: unknown) => error,
        );
        assert.ok(MemoryError.is(outcome, "PATH_NOT_ALLOWED"), `${relPath} gave ${String(outcome)}`);
      }
    },
  },
];
