import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";

const notes = { "MEMORY.md": "# Facts\n\nThe port is 5544.\n", "memory/2026-03-05.md": "# Ferry\n\nAt nine.\n" };
const key = "sk-test-0123456789abcdefghijklmnop";

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("provider keys in every view", () => {
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
    const places = ["/search?q=port", "/search?q=port&tab=why&target=MEMORY.md", "/search?q=port&tab=compare"];
    places.push("/search?q=port&tab=agent", "/notes", "/notes/MEMORY.md", "/time?day=2026-03-05", "/sessions");
    places.push("/map?q=port", "/health");
    for (const place of places) {
      await page.goto(ui.origin + place);
      await page.locator("main h1, main h2, main pre").first().waitFor({ state: "attached" });
      await page.locator(".loading").waitFor({ state: "detached" });
      expect([place, (await page.content()).includes(key)]).toEqual([place, false]);
    }
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await page.getByText(/^Checked: |things are wrong/u).waitFor();
    const told = await Promise.all(bodies);
    expect(told.filter(([, body]) => body !== "").length).toBeGreaterThan(places.length);
    expect(told.filter(([, body]) => body.includes(key)).map(([url]) => url)).toEqual([]);
  });
});
