import { writeFileSync } from "node:fs";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hasBrowser, openWindow, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi, type UiServer } from "./support/ui-server.ts";

const walruses = Object.fromEntries(
  Array.from({ length: 9 }, (_, index) => [
    `memory/walrus-${index}.md`,
    `# Sighting ${index}\n\nThe walrus sleeps${" and sleeps".repeat(index)}.\n`,
  ]),
);
const notes = {
  "MEMORY.md": "# Facts\n\nThe staging database listens on port 5544.\n",
  "memory/2026-03-05.md": "# 2026-03-05\n\nBought a lighthouse.\n\nThe staging server was moved.\n",
  "projects/plan.md": "A plan for the lighthouse.\n",
  ...walruses,
};

buildPage();
useBrowser();

/** The page at an address behind the login. */
async function openAt(ui: UiServer, address: string): Promise<{ page: Page; complaints: { lines: string[] } }> {
  const { page, complaints } = await openWindow();
  await page.goto(ui.url);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.goto(ui.origin + address);
  await page.getByRole("heading", { level: 1 }).waitFor();
  return { page, complaints };
}

describe.skipIf(!hasBrowser)("the search view", () => {
  test("finds as one types, shows lines with numbers and parts, and keeps all in the address", async () => {
    const ui = await startUi({ notes });
    const { page, complaints } = await openAt(ui, "/search");
    await page.getByText("Ask something that a note would answer").waitFor();
    const field = page.getByRole("searchbox");
    await field.pressSequentially("staging port");
    const place = page.getByRole("link", { name: /^MEMORY\.md:/u });
    await place.waitFor();
    await page.waitForURL(/q=staging\+port/u);
    const result = page.locator(".result").first();
    expect(await result.locator("mark").allTextContents()).toEqual(["staging", "port"]);
    expect(await result.locator(".number").allTextContents()).toContain("3");
    expect(await result.locator(".score-parts li").first().textContent()).toMatch(/words 0\.\d\d/u);
    expect(await place.getAttribute("href")).toMatch(/^\/notes\/MEMORY\.md\?line=\d+$/u);
    await page.reload();
    await place.waitFor();
    await field.focus();
    await page.keyboard.press("ArrowDown");
    expect(await page.evaluate("document.activeElement.textContent")).toContain("MEMORY.md:");
    expect(complaints.lines).toEqual([]);
  });

  test("filters write the query, and are read from it", async () => {
    const ui = await startUi({ notes });
    const { page, complaints } = await openAt(ui, "/search?q=staging");
    await page.getByRole("link", { name: /^MEMORY\.md:/u }).waitFor();
    await page.getByLabel("Path", { exact: true }).fill("memory/");
    await page.keyboard.press("Enter");
    await page.getByLabel("Path", { exact: true }).blur();
    await page.getByRole("link", { name: /^MEMORY\.md:/u }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: /^memory\/2026-03-05\.md:/u }).waitFor();
    expect(await page.getByRole("searchbox").inputValue()).toBe("staging path:memory/");
    await page.getByRole("searchbox").fill("staging after:2026-03");
    await page.waitForURL(/after/u);
    expect(await page.getByLabel("From", { exact: true }).inputValue()).toBe("2026-03");
    expect(await page.getByLabel("Path", { exact: true }).inputValue()).toBe("");
    expect(complaints.lines).toEqual([]);
  });

  test("says why a note is not found, and does what would show it", async () => {
    const ui = await startUi({ notes });
    const { page, complaints } = await openAt(ui, "/search?q=walrus&max=3");
    await page.locator(".result").nth(2).waitFor();
    await page.getByText("Why is something not here?").click();
    await page.getByLabel(/A note, a line of it/u).fill("memory/walrus-8.md:3");
    await page.getByRole("button", { name: "Ask" }).click();
    await page
      .getByText(/rank \d of 9, cut by the limit of 3 results/u)
      .first()
      .waitFor();
    expect(await page.locator(".rung.failed").textContent()).toContain("Answer");
    await page.getByText("Beaten by").waitFor();
    await page.getByRole("button", { name: "Do it" }).click();
    await page.getByRole("link", { name: /^memory\/walrus-8\.md:/u }).waitFor();
    await page
      .getByText(/it is in the answer/u)
      .first()
      .waitFor();
    await page.getByLabel(/A note, a line of it/u).fill("projects/plan.md");
    await page.getByRole("button", { name: "Ask" }).click();
    await page
      .getByText(/extraPaths/u)
      .first()
      .waitFor();
    expect(await page.locator(".rung.unknown").count()).toBe(9);
    expect(complaints.lines).toEqual([]);
  });

  test("compares two settings", async () => {
    const ui = await startUi({ notes });
    const { page, complaints } = await openAt(ui, "/search?q=walrus&cmax=2");
    await page.getByText(/2 with the other settings; 2 of the first 10 are the same/u).waitFor();
    expect(await page.locator("table tbody tr").count()).toBeGreaterThan(2);
    await page.getByRole("cell", { name: "× gone" }).first().waitFor();
    expect(await page.locator(".slopes line").count()).toBe(2);
    expect(complaints.lines).toEqual([]);
  });

  test("shows what an agent gets, to the letter", async () => {
    const ui = await startUi({ notes });
    const { page, complaints } = await openAt(ui, "/search?q=lighthouse&agent=1");
    const text = (await page.locator("pre.agent").textContent()) ?? "";
    const answer = JSON.parse(text) as { results: { path: string; parts?: unknown }[] };
    expect(answer.results[0]?.path).toBe("memory/2026-03-05.md");
    expect(answer.results[0]?.parts).toBeUndefined();
    await page.getByText(/About \d+ tokens/u).waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("takes a hostile note for text", async () => {
    const bad = '<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>';
    const ui = await startUi({
      notes: {
        "memory/<img src=x onerror=hacked=1>.md": `---\ntags: ["<b>x</b>"]\n---\n# ${bad}\n\nwalrus ${bad} [go](javascript:hacked=1)\n`,
      },
    });
    const { page, complaints } = await openAt(ui, "/search?q=walrus");
    await page.getByText("javascript:hacked=1").first().waitFor();
    expect(await page.locator("main img, main script, main b, a[href^='javascript']").count()).toBe(0);
    expect(await page.evaluate(() => "hacked" in globalThis)).toBe(false);
    expect(complaints.lines).toEqual([]);
  });

  test("says what to do where nothing is found, and where there are no notes", async () => {
    const ui = await startUi({ notes });
    const { page } = await openAt(ui, "/search?q=qwxyz");
    await page.getByText("no memory file holds any word of the query").waitFor();
    expect(await page.locator(".result").count()).toBe(0);
    const empty = await startUi({ notes: {} });
    const other = await openAt(empty, "/search");
    await other.page.getByText("There are no notes yet").waitFor();
    await other.page.getByRole("searchbox").fill("walrus");
    await other.page.getByText("Write a Markdown file into the workspace").waitFor();
  });

  test("answers while a sync runs, and shows the new note by itself", async () => {
    const ui = await startUi({ notes });
    const { page, complaints } = await openAt(ui, "/search?q=giraffe");
    await page.getByRole("heading", { name: "Nothing found" }).waitFor();
    writeFileSync(`${ui.workspaceDir}/memory/giraffe.md`, "A giraffe.\n");
    const synced = ui.host.memory.sync({ reason: "test", force: true });
    await page.getByRole("searchbox").fill("giraffe tall");
    await page.getByRole("link", { name: /^memory\/giraffe\.md:/u }).waitFor();
    await synced;
    expect(complaints.lines).toEqual([]);
  });

  test.each(["light", "dark"] as const)(
    "is accessible in the %s theme, and readable at 360 px",
    async (colorScheme) => {
      const ui = await startUi({ notes });
      const { page } = await openWindow({ colorScheme, viewport: { width: 360, height: 740 } });
      await page.goto(ui.url);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.goto(`${ui.origin}/search?q=walrus&max=4&cmax=2&agent=1&why=memory/walrus-8.md`);
      await page.locator(".rung.failed").waitFor();
      await page.locator("table").waitFor();
      await page.locator("pre.agent").waitFor();
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);
      const width = await page.evaluate("document.documentElement.scrollWidth");
      expect(width).toBeLessThanOrEqual(360);
    },
  );
});
