import { describe, expect, test } from "vitest";
import { createPlace } from "./place.ts";

describe("memory-in-ten-lines.ts", () => {
  const files = { "MEMORY.md": "# Memory\n\n- The staging database listens on port 5544.\n" };

  test("prints the line with its citation", async () => {
    const place = createPlace(files);
    const { stdout, exitCode } = await place.run("memory-in-ten-lines.ts", [place.notes, "port of staging"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^MEMORY\.md#L1-L3 \(0\.\d\d\)\n/u);
    expect(stdout).toContain("port 5544");
  });

  test("says why where it finds nothing", async () => {
    const place = createPlace(files);
    const { stdout, stderr, exitCode } = await place.run("memory-in-ten-lines.ts", [place.notes, "zebra"]);
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 0 });
    expect(stderr).toContain("no memory file holds any word of the query");
  });
});

describe("custom-embedding-provider", () => {
  test("finds by meaning what no word of the question stands in", async () => {
    const place = createPlace({
      "memory/vehicle.md": "# Vehicle\n\nBought for 9,000 euro in March.\n",
      "memory/physician.md": "# Physician\n\nOpen on Mondays.\n",
      "memory/garden.md": "# Garden\n\nTomatoes go out after the last frost.\n",
    });
    const { stdout, exitCode } = await place.run("custom-embedding-provider/search-by-meaning.ts", [
      place.notes,
      "automobile",
    ]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("hybrid, ok\nvectors of thesaurus, words-and-meanings-1\n");
    expect(stdout).toMatch(/by words \S+\n# Vehicle/u);
    expect(/^(memory\/\S+): by meaning (0\.\d+), by words (0\.\d+)$/mu.exec(stdout)?.slice(1)).toEqual([
      "memory/vehicle.md#L1-L3",
      expect.stringMatching(/^0\.[4-9]/u),
      "0.00",
    ]);
  });

  test("keeps every promise of an embedding provider, by its own test", async () => {
    const place = createPlace({});
    const flags = ["--test", "--test-reporter=tap"];
    const { stdout, exitCode } = await place.run("custom-embedding-provider/conformance.test.ts", [], {}, flags);
    expect({ exitCode, failed: /^# fail \d+$/mu.exec(stdout)?.[0] }).toEqual({ exitCode: 0, failed: "# fail 0" });
    expect(stdout).toMatch(/vectors: a question is nearest to the text that it quotes/u);
  });
});
