import { expect, test } from "vitest";
import { memslotOnPath } from "./memslot-command.ts";
import { createPlace } from "./place.ts";

// A command on the path is a script of the shell here.
test.skipIf(process.platform === "win32")(
  "mcp-client.ts starts memslot mcp, searches, and reads around the best result",
  async () => {
    // Between both lines is more than a snippet holds.
    const filler = `- ${"Nothing of note was said in the meeting. ".repeat(5)}\n`.repeat(5);
    const note = `# 2026-03-02\n\n- The staging database listens on port 5544.\n${filler}- The cat came back.\n`;
    const place = createPlace({ "memory/2026-03-02.md": note });

    const { stdout, stderr, exitCode } = await place.run("mcp-client.ts", [place.notes, "port of staging"], {
      PATH: memslotOnPath(place),
    });

    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    // Read only: the tool that writes is not offered.
    expect(stdout).toContain("tools: memory_search, memory_get\n");
    const [search = "", ...read] = stdout.split("The cat came back.");
    expect(search).toMatch(/^memory\/2026-03-02\.md#L1-L\d\n/mu);
    expect(search.match(/listens on port 5544/gu)).toHaveLength(2);
    expect(read).toHaveLength(1);
  },
);
