import { AxeBuilder } from "@axe-core/playwright";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";

const notes = {
  "MEMORY.md": "# Facts\n\nThe staging database listens on port 5544. See [[pump]].\n",
  "memory/2026-03-05.md": "# Ferry\n\nThe ferry to Oslo leaves at nine.\n",
  "memory/house/pump.md": "---\ntags: [house]\n---\n# Heat pump\n\n- [ ] listen\n\n| a | b |\n| - | -: |\n| 1 | 2 |\n",
  "elsewhere.md": "The ferry of nobody.\n",
};

const places = [
  "/search",
  "/search?q=ferry",
  "/search?q=ferry&tab=why&target=elsewhere.md",
  "/search?q=ferry&tab=compare",
  "/search?q=ferry&tab=agent",
  "/notes",
  "/notes/memory/house/pump.md",
  "/notes/memory/house/pump.md?as=text",
  "/time?day=2026-03-05",
  "/map?q=ferry",
  "/map?by=age",
  "/sessions",
  "/sessions?file=sessions/a.jsonl",
  "/health",
  "/nowhere",
];

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("every view", () => {
  test.each([
    ["light", "en-GB", 1200],
    ["dark", "zh-CN", 360],
    ["light", "zh-CN", 360],
    ["dark", "en-GB", 1200],
  ] as const)("can be used by everybody: %s, %s, %s pixels", async (colorScheme, locale, width) => {
    const ui = await startUi({ notes });
    const { page, complaints } = await openAt(ui, "/", { colorScheme, locale, viewport: { width, height: 800 } });
    for (const place of places) {
      await page.goto(ui.origin + place);
      await page.locator("main h1, main h2, main pre").first().waitFor({ state: "attached" });
      await page.locator(".loading").waitFor({ state: "detached" });
      const { violations } = await new AxeBuilder({ page }).analyze();
      const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      expect(serious.map(({ id, nodes }) => [place, id, nodes.map(({ html }) => html)])).toEqual([]);
      // Nothing is wider than the window.
      expect([place, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([place, width]);
    }
    expect(complaints.lines).toEqual([]);
  });
});
