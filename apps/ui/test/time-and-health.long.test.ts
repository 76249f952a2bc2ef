import { writeFileSync } from "node:fs";
import path from "node:path";
import { localClock } from "@memslot/agent-kit";
import { EmbeddingError } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";
import data from "./data/views.json" with { type: "json" };

const notes = data.timeNotes;

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("the calendar", () => {
  test("opens today, shows the amount of each day, and goes on by keys", async () => {
    const ui = await startUi({ notes });
    const { page, complaints } = await openAt(ui, "/time", { locale: "en-US" });
    const { day: today } = localClock(ui.host.agent.userTimezone)(new Date());
    await page.getByRole("grid", { name: today.slice(0, 4) }).waitFor();
    expect(await page.getByRole("columnheader").first().textContent()).toBe("Sun");
    const chosen = page.getByRole("gridcell", { selected: true });
    expect(await chosen.getByRole("button").getAttribute("class")).toContain("today");
    await page.goto(`${ui.origin}/time?day=2026-03-05`);
    await expect
      .poll(() => chosen.getByRole("button").getAttribute("aria-label"), { timeout: 30_000 })
      .toMatch(/March 5, 2026: 3 lines$/u);
    const columns = page.locator(".days > section");
    expect(await columns.allTextContents()).toEqual([
      expect.stringContaining("Nothing on this day"),
      expect.stringContaining("The ferry leaves at nine."),
      expect.stringContaining("Nothing on this day"),
    ]);
    await chosen.getByRole("button").focus();
    for (const [key, day] of [
      ["ArrowRight", "2026-03-12"],
      ["ArrowDown", "2026-03-13"],
      ["PageDown", "2026-04-13"],
      ["ArrowLeft", "2026-04-06"],
      ["ArrowUp", "2026-04-05"],
      ["[", "2026-04-04"],
      ["]", "2026-04-05"],
    ] as const) {
      await page.keyboard.press(key);
      await page.waitForURL(`${ui.origin}/time?day=${day}`);
    }
    await page.getByRole("button", { name: "Previous year" }).click();
    await page.getByRole("grid", { name: "2025" }).waitFor();
    await page.getByRole("button", { name: "Today" }).click();
    await page.waitForURL(`${ui.origin}/time`);
    expect(complaints.lines).toEqual([]);
  });

  test("is a calendar of weeks on a phone, at the chosen day, with that day alone below it, on Monday in Europe", async () => {
    const ui = await startUi({ notes });
    const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
    const { page } = await openAt(ui, "/time?day=2026-03-05", phone);
    await page.getByText("The ferry leaves at nine.").waitFor();
    expect(await page.getByRole("columnheader").first().textContent()).toBe("Mon");
    expect(await page.locator(".days > section:visible").count()).toBe(1);
    const cell = page.getByRole("gridcell", { selected: true }).getByRole("button");
    const [own, box] = [await cell.boundingBox(), await page.getByRole("grid").boundingBox()];
    expect(own?.height).toBeGreaterThanOrEqual(44);
    expect((own?.y ?? 0) - (box?.y ?? 0)).toBeLessThan(box?.height ?? 0);
    expect((own?.y ?? 0) - (box?.y ?? 0)).toBeGreaterThan(0);
    await cell.focus();
    await page.keyboard.press("ArrowDown");
    await page.waitForURL(/day=2026-03-12/u);
  });
});

describe.skipIf(!hasBrowser)("the health", () => {
  test("is fine, changes while one looks, and syncs, checks and builds anew", async () => {
    const ui = await startUi({ notes });
    const { page, complaints } = await openAt(ui, "/health");
    await page.getByText("Everything is fine").waitFor();
    await page.getByText("3 files · 3 passages").waitFor();
    writeFileSync(path.join(ui.workspaceDir, "memory/new.md"), "new\n");
    await page.getByRole("button", { name: "Sync now" }).click();
    // The first check of all files may have been earlier.
    await page.getByText(/^Synced: /u).waitFor();
    await page.getByText("4 files · 4 passages").waitFor();
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await page.getByText(/^\d+ checks passed/u).waitFor();
    await page.locator("summary", { hasText: "Rebuild index" }).click();
    await page.getByRole("button", { name: "Rebuild index" }).click();
    await page.getByText(/^Synced: /u).waitFor();
    await page.getByRole("button", { name: "Compact index" }).click();
    await page.getByText(/given back\.$/u).waitFor();
    const findings = [{ name: "contents", ok: true, message: "2 files match", fixed: "memory/new.md is read again" }];
    await page.route("**/api/health/check", (route) => route.fulfill({ json: { check: { ok: true, findings } } }));
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await page.getByText("2 files match; memory/new.md is read again").waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("tells of the last syncs, of vectors and of money, and has a refused text tried again", async () => {
    let refuses = true;
    const vectorOf = (text: string): number[] => [text.length, 1, 2];
    const ui = await startUi({
      notes: { ...notes, "memory/kitten.md": "A kitten.\n" },
      embeddings: {
        id: "fake",
        model: "lengths",
        price: { usdPerMillionTokens: 2000, asOf: "2026-01-02", source: "a test" },
        embedQuery: async (text) => vectorOf(text),
        embedBatch: async (texts) => {
          if (refuses && texts.some((text) => text.includes("kitten")))
            throw new EmbeddingError("input", "no kittens here");
          return texts.map(vectorOf);
        },
      },
    });
    const { page, complaints } = await openAt(ui, "/health");
    await page.getByRole("row", { name: /memory\/kitten\.md:1-1 .*no kittens here/u }).waitFor();
    await page.getByText("3 vectors of 3 dimensions").waitFor();
    await page.getByText("$2,000.00 per million tokens, as of 2026-01-02.").waitFor();
    const usage = page.getByRole("row").filter({ has: page.locator("meter") });
    expect(await usage.filter({ hasText: /\$0\.\d+/u }).count()).toBe(1);
    const history = page.locator("section").filter({ hasText: "Last syncs" });
    expect(await history.getByRole("row").filter({ hasText: "test" }).textContent()).toContain("4 new");
    refuses = false;
    await page.getByRole("button", { name: "Retry refused texts" }).click();
    await page.getByText("1 passage was sent again.").waitFor();
    await page.getByText("4 vectors of 3 dimensions").waitFor();
    expect(await history.getByRole("row").filter({ hasText: "This page" }).count()).toBe(1);
    await page.getByRole("button", { name: "Retry refused texts" }).waitFor({ state: "detached" });
    expect(complaints.lines).toEqual([]);
  });
});
