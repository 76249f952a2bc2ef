import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { withConfigTable } from "./support/config-table.ts";

describe("docs/configuration.md", () => {
  test("lists every key as the code knows it (pnpm generate makes it so)", () => {
    const page = readFileSync(path.join(import.meta.dirname, "../docs/configuration.md"), "utf8");
    expect(page).toBe(withConfigTable(page));
  });
});
