import { AxeBuilder } from "@axe-core/playwright";
import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { changeNote, openSession, startUi } from "./support/ui-server.ts";
import data from "./data/views.json" with { type: "json" };

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("every view", () => {
  test.each(data.looks as ["light" | "dark", string, number][])(
    "can be used by everybody: %s, %s, %s pixels",
    async (colorScheme, locale, width) => {
      const ui = await startUi({ notes: data.notes });
      const hasTouch = width < 700;
      const look = { colorScheme, locale, viewport: { width, height: 740 }, hasTouch, isMobile: hasTouch };
      const { page, complaints } = await openAt(ui, "/", look);
      for (const place of data.addresses) {
        await page.goto(ui.origin + place);
        await page.locator("main :is(h1, h2, h3, p, pre)").first().waitFor({ state: "attached" });
        await expect.poll(() => page.locator(".loading").count(), { timeout: 30_000 }).toBe(0);
        const { violations } = await new AxeBuilder({ page }).analyze();
        const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
        expect(serious.map(({ id, nodes }) => [place, id, nodes.map(({ html }) => html)])).toEqual([]);
        // Nothing is wider than the window, and a finger finds each control.
        expect([place, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([place, width]);
        if (hasTouch) expect([place, await page.evaluate(data.smallTargets.join("\n"))]).toEqual([place, []]);
      }
      expect(complaints.lines).toEqual([]);
    },
  );

  test("says what to do where there is nothing", async () => {
    const ui = await startUi({ notes: {} });
    const { page, complaints } = await openAt(ui, "/");
    for (const [place, text] of Object.entries(data.empty)) {
      await page.goto(ui.origin + place);
      await page.locator("main").getByText(text).first().waitFor();
      const drawn = await page.locator("main").locator("canvas, [role=grid], [role=treeitem]").count();
      expect([place, drawn]).toEqual([place, 0]);
    }
    expect(complaints.lines).toEqual([]);
  });

  test("changes nothing where the page only looks", async () => {
    const ui = await startUi({ notes: data.notes, readOnly: true });
    await changeNote(ui, { path: "MEMORY.md", old: "port 5544", text: "port 6000" });
    const { page } = await openAt(ui, "/");
    for (const [place, { shown, buttons }] of Object.entries(data.readOnly)) {
      await page.goto(ui.origin + place);
      await page.locator("main").getByText(shown).first().waitFor();
      for (const name of buttons) {
        const enabled = await page.getByRole("button", { name, disabled: false }).count();
        expect([place, name, enabled]).toEqual([place, name, 0]);
      }
    }
    const field = page.getByLabel("Text of the note");
    await field.press("x");
    expect(await field.textContent()).not.toContain("x---");
  });

  test("takes what notes and conversations hold for text, and fetches nothing for it", async () => {
    const bad = `${data.hostile.join("\n\n")}\n\nzeppelin, the end`;
    const front = '---\ntags: ["<b>x</b>"]\n---\n';
    const names = ["memory/bad.md", "memory/<img src=x onerror=hit>.md"];
    const ui = await startUi({
      notes: Object.fromEntries(names.map((name) => [name, `${front}# ${data.hostile[0]}\n\n${bad}\n`])),
    });
    const session = await openSession(ui, "agent:main:main");
    await session.append({ role: "user", text: bad }, { role: "assistant", text: `${bad}\n# no heading` });
    await changeNote(ui, { path: "memory/bad.md", old: "zeppelin, the end", text: data.hostile[1] ?? "" });
    const { page, complaints, requests } = await openAt(ui, "/");
    for (const place of ["/", "/search?q=zeppelin", "/notes/memory/bad.md", "/changes", "/time", "/sessions", "/map"]) {
      await page.goto(ui.origin + place);
      await page.locator("main :is(h1, h2, h3, p)").first().waitFor({ state: "attached" });
      await expect.poll(() => page.locator(".loading").count(), { timeout: 30_000 }).toBe(0);
      if (place === "/sessions") await page.locator("main a[href*='file=']").first().click();
      if (place === "/sessions") await page.getByText("# no heading").first().waitFor();
      const foreign = "script, img:not([src^='/']), iframe, style, meta, form, [onerror], [onload], b";
      expect([place, await page.locator("main").locator(foreign).count()]).toEqual([place, 0]);
      const links = await page.locator("main a").evaluateAll((all: { href: string }[]) => all.map(({ href }) => href));
      expect(links.filter((href) => href !== "" && !/^(?:https?|vscode):/u.test(href))).toEqual([]);
      for (const link of await page.locator(".rendered a:not([href])").all()) await link.click();
    }
    expect(await page.evaluate("window.hit")).toBe(undefined);
    expect(requests.filter((address) => !address.startsWith(ui.origin))).toEqual([]);
    expect(complaints.lines).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("provider keys in every view", () => {
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
    const ui = await startUi({ notes: data.notes, env: { ...env, OPENAI_BASE_URL: baseUrl }, memorySearch });
    expect(api.log.map(({ headers }) => headers["authorization"])).toContain(`Bearer ${key}`);
    const { page, context } = await openAt(ui, "/");
    const bodies: Promise<readonly [url: string, body: string]>[] = [];
    context.on("response", (response) => {
      // The stream of events has no end.
      if (response.url().includes("/api/") && !response.url().endsWith("/api/events"))
        bodies.push(
          response.text().then(
            (text) => [response.url(), text] as const,
            // Of a view that was left meanwhile.
            () => [response.url(), ""] as const,
          ),
        );
    });
    for (const place of data.addresses) {
      await page.goto(ui.origin + place);
      await page.locator("main :is(h1, h2, h3, p, pre)").first().waitFor({ state: "attached" });
      await expect.poll(() => page.locator(".loading").count(), { timeout: 30_000 }).toBe(0);
      expect([place, (await page.content()).includes(key)]).toEqual([place, false]);
    }
    await page.goto(`${ui.origin}/health`);
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await page.getByText(/^\d+ checks? passed|problem/u).waitFor();
    const told = await Promise.all(bodies);
    expect(told.filter(([, body]) => body !== "").length).toBeGreaterThan(data.addresses.length);
    expect(told.filter(([, body]) => body.includes(key)).map(([url]) => url)).toEqual([]);
    const authorization = `Bearer ${await page.evaluate<string>("localStorage.getItem('memslot-token')")}`;
    const events = await fetch(`${ui.origin}/api/events`, { headers: { authorization } });
    const { value } = (await events.body?.getReader().read()) ?? {};
    expect(new TextDecoder().decode(value)).toMatch(/^data: (?!.*sk-test)/u);
  });
});
