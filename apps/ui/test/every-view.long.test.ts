import { AxeBuilder } from "@axe-core/playwright";
import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";
import data from "./data/views.json" with { type: "json" };

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("every view", () => {
  const { notes, addresses: places } = data;

  test.each(data.looks as ["light" | "dark", string, number][])(
    "can be used by everybody: %s, %s, %s pixels",
    async (colorScheme, locale, width) => {
      const ui = await startUi({ notes });
      const { page, complaints } = await openAt(ui, "/", { colorScheme, locale, viewport: { width, height: 800 } });
      for (const place of places) {
        await page.goto(ui.origin + place);
        await page.locator("main h1, main h2, main pre").first().waitFor({ state: "attached" });
        await expect.poll(() => page.locator(".loading").count(), { timeout: 30_000 }).toBe(0);
        const { violations } = await new AxeBuilder({ page }).analyze();
        const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
        expect(serious.map(({ id, nodes }) => [place, id, nodes.map(({ html }) => html)])).toEqual([]);
        // Nothing is wider than the window.
        expect([place, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([place, width]);
      }
      expect(complaints.lines).toEqual([]);
    },
  );
});

describe.skipIf(!hasBrowser)("provider keys in every view", () => {
  const notes = { "MEMORY.md": "# Facts\n\nThe port is 5544.\n", "memory/2026-03-05.md": "# Ferry\n\nAt nine.\n" };
  const key = "sk-test-0123456789abcdefghijklmnop";

  test.each([
    ["the environment", undefined, { OPENAI_API_KEY: key }],
    ["the configuration", { apiKey: key }, {}],
    ["a header", { headers: { authorization: `Bearer ${key}` } }, {}],
  ] as const)("are in no response, also where the provider repeats them: from %s", async (_where, remote, env) => {
    const api = await startEmbeddingApi();
    onTestFinished(() => api.close());
    api.fail({ times: 1_000, status: 401, body: { error: { message: `Incorrect API key provided: ${key}` } } });
    const baseUrl = `${api.url}/v1`;
    // A key of the environment goes nowhere but where the environment says.
    const memorySearch = { provider: "openai", ...(remote && { remote: { baseUrl, ...remote } }) };
    const ui = await startUi({ notes, env: { ...env, OPENAI_BASE_URL: baseUrl }, memorySearch });
    expect(api.log.map(({ headers }) => headers["authorization"])).toContain(`Bearer ${key}`);
    const { page, context } = await openAt(ui, "/search?q=port");
    const bodies: Promise<readonly [url: string, body: string]>[] = [];
    context.on("response", (response) => {
      // The stream of events has no end: it is looked at below.
      if (response.url().includes("/api/") && !response.url().endsWith("/api/events"))
        bodies.push(
          response.text().then(
            (text) => [response.url(), text] as const,
            // Of a view that was left meanwhile.
            () => [response.url(), ""] as const,
          ),
        );
    });
    const places = ["/search?q=port", "/search?q=port&tab=why&target=MEMORY.md"];
    places.push("/search?q=port&tab=agent", "/notes", "/notes/MEMORY.md", "/time?day=2026-03-05", "/sessions");
    places.push("/map", "/changes", "/", "/health");
    for (const place of places) {
      await page.goto(ui.origin + place);
      await page.locator("main h1, main h2, main pre").first().waitFor({ state: "attached" });
      await expect.poll(() => page.locator(".loading").count(), { timeout: 30_000 }).toBe(0);
      expect([place, (await page.content()).includes(key)]).toEqual([place, false]);
    }
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await page.getByText(/^\d+ checks? passed|problem/u).waitFor();
    const told = await Promise.all(bodies);
    expect(told.filter(([, body]) => body !== "").length).toBeGreaterThan(places.length);
    expect(told.filter(([, body]) => body.includes(key)).map(([url]) => url)).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("with 20,000 passages", () => {
  const files = 1_000;
  const parts = 20;

  /** A thousand notes of twenty sections, each a passage of its own. */
  function manyNotes(): Record<string, string> {
    const words = ["harbour", "boiler", "bread", "ferry", "cello", "garden", "ladder", "kettle", "window", "river"];
    const section = (note: number, part: number): string => {
      const text = Array.from({ length: 34 }, (_, at) => words[(note * 7 + part * 3 + at * at) % words.length]).join(
        " ",
      );
      return `## Section ${part}\n\nPlace ${note}x${part}: ${text}.\n`;
    };
    return Object.fromEntries(
      Array.from({ length: files }, (_, note) => [
        `memory/n${note}.md`,
        Array.from({ length: parts }, (_x, part) => section(note, part)).join("\n"),
      ]),
    );
  }

  test("a key press finds the one, the tree holds what is seen, and the map draws all of them", async () => {
    const ui = await startUi({ notes: manyNotes(), memorySearch: { chunking: { tokens: 64, overlap: 0 } } });
    expect(ui.host.memory.status().chunks).toBeGreaterThanOrEqual(files * parts);
    const { page, complaints } = await openAt(ui, "/search");
    await page.getByRole("combobox", { name: "Ask your notes" }).pressSequentially("777x13");
    await page
      .getByText(/^memory\/n777\.md/u)
      .first()
      .waitFor();
    // What was found for the beginning of the word may still stand there.
    await expect.poll(() => page.locator(".result mark").first().textContent(), { timeout: 20_000 }).toBe("777x13");
    await page.goto(`${ui.origin}/notes`);
    await page.getByRole("treeitem").first().waitFor();
    expect(await page.getByRole("treeitem").count()).toBeLessThan(200);
    await page.getByRole("searchbox").fill("n999");
    await page.locator('[role=treeitem][title*="memory/n999.md"]').waitFor();
    await page.goto(`${ui.origin}/map`);
    const count = new Intl.NumberFormat("en").format(ui.host.memory.status().chunks ?? 0);
    await page.getByText(`${count} of ${count} passages`).waitFor();
    const groups = page.getByRole("list", { name: "Groups" });
    await groups.getByRole("button").first().click();
    await groups.getByRole("link").first().waitFor();
    expect(complaints.lines).toEqual([]);
  });
});
