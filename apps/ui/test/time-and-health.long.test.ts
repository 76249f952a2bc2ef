import { writeFileSync } from "node:fs";
import path from "node:path";
import { EmbeddingError } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { signIn, startUi } from "./support/ui-server.ts";
import data from "./data/views.json" with { type: "json" };

const notes = data.timeNotes;

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("the calendar", () => {
  test("shows how much there is of a day, opens it, and goes on by keys", async () => {
    const { page, complaints } = await openAt(await startUi({ notes }), "/time");
    await page.getByText("March 2026").waitFor();
    await page.getByRole("button", { name: /^2026-03-05: 1 notes/u }).click();
    await page.getByRole("link", { name: "Ferry" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.getByRole("link", { name: /2026-03-12/u }).waitFor();
    expect(page.url()).toContain("day=2026-03-12");
    await page.keyboard.press("PageDown");
    await page.getByText("April 2026").waitFor();
    await page.getByText("Nothing on this day").waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("makes a question of a period", async () => {
    const { page } = await openAt(await startUi({ notes }), "/time");
    await page.getByLabel("From").fill("2026-03-01");
    await page.getByLabel("To", { exact: true }).fill("2026-03-10");
    await page.getByRole("link", { name: /after:2026-03-01 before:2026-03-11/u }).click();
    await page.getByText(/^memory\/2026-03-05\.md:\d/u).waitFor();
    expect(await page.locator(".result").count()).toBe(1);
  });

  test("says how notes get a day where none has one", async () => {
    const { page } = await openAt(await startUi({ notes: { "MEMORY.md": "x\n" } }), "/time");
    await page.getByText("No dated notes yet").waitFor();
    expect(await page.getByRole("grid").count()).toBe(0);
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
    await page.getByText("Synced: 1 new.").waitFor();
    await page.getByText("4 files · 4 passages").waitFor();
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await page.getByText(/^\d+ checks passed/u).waitFor();
    await page.getByRole("button", { name: "Rebuild index" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Rebuild index" }).click();
    await page.getByText(/^Synced: /u).waitFor();
    await page.getByRole("button", { name: "Compact index" }).click();
    await page.getByText(/given back\.$/u).waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("lets nothing be changed where the page only looks", async () => {
    const { page } = await openAt(await startUi({ notes, readOnly: true }), "/health");
    await page.getByRole("button", { name: "Rebuild index" }).waitFor();
    for (const name of ["Rebuild index", "Repair", "Compact index"])
      expect(await page.getByRole("button", { name }).isDisabled()).toBe(true);
    expect(await page.getByRole("button", { name: "Sync now" }).isEnabled()).toBe(true);
    const status = await page.evaluate(async () => {
      const authorization = `Bearer ${localStorage.getItem("memslot-token")}`;
      const headers = { "content-type": "application/json", authorization };
      return (await fetch("/api/health/force", { method: "POST", headers, body: "{}" })).status;
    });
    expect(status).toBe(403);
  });

  test("names a file that cannot be indexed", async () => {
    const ui = await startUi({ notes });
    writeFileSync(path.join(ui.workspaceDir, "memory/bytes.md"), Buffer.alloc(4000, 1));
    await ui.host.memory.sync({ reason: "test" });
    // By now it is no news to a sync.
    await ui.host.memory.sync({ reason: "test" });
    const { page } = await openAt(ui, "/health");
    await page.getByText("1 note or folder is not searched: memory/bytes.md").waitFor();
    const told = page.getByRole("listitem").filter({ hasText: "memory/bytes.md" });
    expect(await told.textContent()).toContain("is not text");
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
    await page.getByText(/memory\/kitten\.md:1-1 .*no kittens here/u).waitFor();
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
    expect(await history.getByRole("row").filter({ hasText: "the page" }).count()).toBe(1);
    await page.getByRole("button", { name: "Retry refused texts" }).waitFor({ state: "detached" });
    expect(complaints.lines).toEqual([]);
  });
});

describe("provider keys", () => {
  test("are in no answer", async () => {
    const key = "sk-test-0123456789abcdefghijklmnop";
    const ui = await startUi({
      notes,
      memorySearch: {
        provider: "openai",
        remote: { apiKey: key, baseUrl: "http://127.0.0.1:9/v1", headers: { "x-key": key } },
      },
    });
    const headers = await signIn(ui);
    const places = data.requests;
    for (const place of places) {
      const answer = await fetch(`${ui.origin}/api/${place}`, { headers });
      expect([place, answer.status, (await answer.text()).includes(key)]).toEqual([place, 200, false]);
    }
    for (const action of ["check", "sync"]) {
      const answer = await fetch(`${ui.origin}/api/health/${action}`, { method: "POST", headers, body: "{}" });
      expect([action, (await answer.text()).includes(key)]).toEqual([action, false]);
    }
    const events = await fetch(`${ui.origin}/api/events`, { headers });
    const { value } = (await events.body?.getReader().read()) ?? {};
    const told = new TextDecoder().decode(value);
    expect([told.startsWith("data: "), told.includes(key)]).toEqual([true, false]);
  });
});
