import { writeFileSync } from "node:fs";
import path from "node:path";
import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { eventually } from "@memslot/test-tools/wait";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";
import data from "./data/views.json" with { type: "json" };

const notes: Record<string, string> = data.searchNotes;

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("the search", () => {
  test("answers while one types, with the lines, their numbers and what the score is made of", async () => {
    const { page, complaints } = await openAt(await startUi({ notes }), "/search");
    await page.getByRole("combobox", { name: "Ask your notes" }).fill("ferry");
    const first = page.locator(".result").first();
    await first.getByRole("link", { name: "Ferry" }).waitFor();
    await first.getByText("memory/2026-03-05.md:1").waitFor();
    expect(await first.getByText("names and headings").isVisible()).toBe(false);
    await first.getByText("Explain").click();
    await first.getByText("names and headings").waitFor();
    expect(await first.locator(".markdown mark").first().textContent()).toBe("ferry");
    expect(page.url()).toContain("q=ferry");
    await page.getByRole("combobox", { name: "Ask your notes" }).fill("database port");
    await page.getByText("MEMORY.md:3", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("MEMORY.md:3", { exact: true }).waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("sends what is half typed to no provider: 27 letters are one embedding request, after a pause or Enter", async () => {
    const api = await startEmbeddingApi();
    onTestFinished(() => api.close());
    const memorySearch = { provider: "openai", remote: { baseUrl: `${api.url}/v1` } };
    const ui = await startUi({ notes, env: { OPENAI_API_KEY: "sk-test" }, memorySearch });
    const { page } = await openAt(ui, "/search");
    const question = "when does the ferry leave??";
    expect(question).toHaveLength(27);
    await page.getByText("path:folder").waitFor();
    api.reset();
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.getByRole("combobox", { name: "Ask your notes" }).focus();
    for (const letter of question) {
      await page.keyboard.press(letter);
      await page.clock.runFor(60);
    }
    await page.getByText("memory/2026-03-05.md:1", { exact: true }).waitFor();
    await page.clock.runFor(200);
    expect(api.stats().embeddingRequests).toBe(0);
    await page.clock.runFor(300);
    const inputs = (): unknown[] => api.log.map(({ body }) => (JSON.parse(body) as { input: unknown }).input);
    await eventually(() => api.log.length > 0);
    expect(inputs()).toEqual([[question]]);
    await page.getByRole("combobox", { name: "Ask your notes" }).fill("pump");
    await page.clock.runFor(60);
    await page.locator(".result").getByRole("link", { name: "Heat pump" }).waitFor();
    expect(api.stats().embeddingRequests).toBe(1);
    await page.keyboard.press("Enter");
    await page.clock.runFor(60);
    await eventually(() => api.log.length > 1);
    expect(inputs()).toEqual([[question], ["pump"]]);
  });

  test("keeps each letter that is typed before the page has drawn the one before", async () => {
    const { page } = await openAt(await startUi({ notes }), "/search");
    const field = page.getByRole("combobox", { name: "Ask your notes" });
    await field.focus();
    await page.evaluate(`(async () => {
      for (const letter of "ferry") {
        document.execCommand("insertText", false, letter);
        await new Promise((rendered) => queueMicrotask(() => queueMicrotask(rendered)));
        // The main thread is busy for longer than the pause between two searches: no frame is drawn meanwhile.
        for (const from = performance.now(); performance.now() < from + 60; );
      }
    })()`);
    await page.getByText("memory/2026-03-05.md:1", { exact: true }).waitFor();
    expect(await field.inputValue()).toBe("ferry");
    expect(page.url()).toContain("q=ferry");
  });

  test("a card has the lines around the best match below its sections, and the preview marks the words", async () => {
    const lines = Array.from({ length: 9 }, (_, index) => `Line ${index} of the harbour.`);
    lines[4] = "The harbour ferry leaves at nine.";
    const trips = `# Trips\n\n## Norway\n\n### Boats\n\n${lines.join("\n\n")}\n`;
    const link = "[odd](//[x) and [100%](100%.md) ferries.\n";
    const ui = await startUi({ notes: { ...notes, "memory/trips.md": trips, "memory/odd.md": link } });
    const { page, complaints } = await openAt(ui, "/search?q=harbour+ferry");
    const card = page.locator(".result").filter({ hasText: "memory/trips.md:" });
    await card.getByText("Norway › Boats").waitFor();
    await card.getByText("memory/trips.md:15").waitFor();
    expect(await card.locator(".markdown").textContent()).not.toContain("Line 0");
    const preview = page.getByRole("complementary", { name: "Preview" });
    await preview.locator("mark", { hasText: "ferry" }).first().waitFor();
    await preview.getByText("Line 0").waitFor();
    await page.goto(`${ui.origin}/search?q=ferries`);
    await page.locator(".result").getByText("odd", { exact: true }).first().waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("shows what a group would see", async () => {
    const { page } = await openAt(await startUi({ notes }), "/search?q=ferry");
    await page.getByText("1 result", { exact: true }).waitFor();
    await page.getByRole("button", { name: "As a group" }).click();
    await page.getByText("No results").waitFor();
    expect(await page.getByText("memory/2026-03-05.md").count()).toBe(0);
    await page.getByRole("button", { name: "As a group", pressed: true }).click();
    await page.getByText("1 result", { exact: true }).waitFor();
  });

  test.each(data.missing as [string, string, string, string][])(
    "says why something is not here: %s",
    async (_, asked, target, step) => {
      const { page } = await openAt(await startUi({ notes }), `/search?q=${encodeURIComponent(asked)}&tab=why`);
      await page.getByLabel("A file, path:line, or words of a line").fill(target);
      await page.getByRole("button", { name: "Explain" }).click();
      await page.locator("li.failed strong", { hasText: step }).waitFor();
      expect(await page.locator("li.failed").count()).toBe(1);
      expect(page.url()).toContain("target=");
    },
  );

  test.each(["memory/2026-03-05.md:3", "The ferry to Oslo leaves at nine."])("says where it is: %s", async (target) => {
    const ui = await startUi({ notes });
    const { page } = await openAt(ui, `/search?q=ferry&tab=why&target=${encodeURIComponent(target)}`);
    await page.getByText("This one: 1.").waitFor();
    expect(await page.locator("li.failed").count()).toBe(0);
  });

  test("says what was cut by the number of results, and shows it", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`memory/n${index}.md`, `The ferry, note ${index}.\n`]),
    );
    const ui = await startUi({ notes: { ...notes, ...many } });
    const { page } = await openAt(ui, "/search?q=ferry&tab=why&max=1&target=memory/n9.md");
    await page.getByText("The one ranked above it: ").waitFor();
    expect(await page.locator("li.failed").count()).toBe(1);
    await page.getByRole("button", { name: "Apply" }).click();
    await page.locator("li.failed").waitFor({ state: "detached" });
    expect(Number(new URL(page.url()).searchParams.get("max"))).toBeGreaterThan(1);
  });

  test("shows what an agent gets", async () => {
    const { page } = await openAt(await startUi({ notes }), "/search?q=the+ferry+pump");
    await page.getByRole("tab", { name: "Agent view" }).click();
    await page.getByText(/about \d+ tokens/u).waitFor();
    const answer: unknown = JSON.parse((await page.locator("pre").textContent()) ?? "");
    expect(answer).toMatchObject({ results: expect.any(Array) as unknown });
  });

  test("finds what was saved while a sync runs", async () => {
    const ui = await startUi({ notes });
    const { page } = await openAt(ui, "/search");
    for (let index = 0; index < 200; index++)
      writeFileSync(
        path.join(ui.workspaceDir, `memory/m${index}.md`),
        `# Note ${index}\n\n${"some words here\n".repeat(50)}`,
      );
    writeFileSync(path.join(ui.workspaceDir, "memory/new.md"), "The zeppelin lands at dawn.\n");
    const synced = ui.host.memory.sync({ reason: "test", force: true });
    await page.getByRole("combobox", { name: "Ask your notes" }).fill("zeppelin");
    await page.getByText("memory/new.md:1", { exact: true }).waitFor();
    await synced;
    expect(await page.locator(".result").count()).toBe(1);
  });
});
