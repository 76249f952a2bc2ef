import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import path from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { changeNote, startUi } from "./support/ui-server.ts";
import data from "./data/views.json" with { type: "json" };

const notes: Record<string, string> = data.searchNotes;
const pump = "memory/house/pump.md";

buildPage();
useBrowser();

/** The text or the name of the focused element. */
const focused = (page: Page): Promise<string> =>
  page.evaluate("(({ ariaLabel, textContent }) => (ariaLabel || textContent).trim())(document.activeElement)");

/** Moves the focus until it is on something of this name. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let presses = 0; presses < 60 && !(await focused(page)).match(name); presses++) await page.keyboard.press("Tab");
  expect(await focused(page)).toMatch(name);
}

describe.skipIf(!hasBrowser)("without a pointer", () => {
  test("a note is found, opened and changed, an agent's change is undone, and a view opens by its name", async () => {
    const ui = await startUi({ notes });
    await changeNote(ui, { path: "MEMORY.md", old: "port 5544", text: "port 6000" });
    const { page, complaints } = await openAt(ui, "/");
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.keyboard.press("/");
    const field = page.getByRole("combobox", { name: "Ask your notes" });
    await expect.poll(() => focused(page)).toBe("Ask your notes");
    await page.keyboard.type("tag:ho");
    await page.getByRole("option", { name: /^house 1/u }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expect.poll(() => field.inputValue()).toBe("tag:house ");
    await page.locator(".result").getByRole("link", { name: "Heat pump" }).waitFor();
    await page.getByRole("complementary", { name: "Preview" }).getByText("The pump hums at night.").waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/notes\/memory\/house\/pump\.md/u);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    await page.goBack();
    await expect.poll(() => focused(page)).toBe("Heat pump");
    await page.keyboard.press("Escape");
    await expect.poll(() => focused(page)).toBe("Ask your notes");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("e");
    await page.getByLabel("Text of the note").getByText("The pump hums at night.").waitFor();
    await expect.poll(() => page.url()).toMatch(/\/notes\/memory\/house\/pump\.md\?line=4$/u);
    await page.keyboard.press("Control+End");
    await page.keyboard.type("Call the installer.");
    await page.keyboard.press("Control+s");
    await page.locator(".rendered").getByText("Call the installer.").waitFor();
    expect(readFileSync(path.join(ui.workspaceDir, pump), "utf8")).toBe(`${notes[pump]}Call the installer.`);
    await page.keyboard.press("4");
    await page.getByText("memory_edit").waitFor();
    await tabTo(page, /^Undo/u);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Undo: MEMORY.md" }).waitFor();
    await tabTo(page, "Undo: MEMORY.md");
    await page.keyboard.press("Enter");
    await page.getByText("Undone: MEMORY.md").waitFor();
    expect(readFileSync(path.join(ui.workspaceDir, "MEMORY.md"), "utf8")).toBe(notes["MEMORY.md"]);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("map");
    await page.getByRole("option", { name: /^Map/u }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("3 of 3 passages").waitFor();
    expect(complaints.lines).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("two tabs", () => {
  test("keep what they show and a draft while the server is away, then show each change, and merge it into the draft", async () => {
    const ui = await startUi({ notes });
    const { page, context } = await openAt(ui, "/notes/MEMORY.md");
    const other = await context.newPage();
    await other.goto(`${ui.origin}/search?q=staging`);
    await other.locator(".result").first().waitFor();
    await page.locator(".rendered").getByText("port 5544").waitFor();
    await page.keyboard.press("e");
    const field = page.getByLabel("Text of the note");
    await field.getByText("# Facts").click();
    await page.keyboard.press("End");
    await page.keyboard.type(" of ours");
    await ui.stop();
    for (const tab of [page, other]) await tab.getByRole("alert").getByText("Disconnected").waitFor();
    expect(await field.getByText("# Facts of ours").count()).toBe(1);
    expect(await other.locator(".result").count()).toBeGreaterThan(0);
    const file = path.join(ui.workspaceDir, "MEMORY.md");
    writeFileSync(file, "# Facts\n\nThe staging database moved to port 6000.\n");
    await ui.restart();
    await other.locator(".result").getByText("6000").first().waitFor();
    for (const tab of [page, other])
      await tab.getByRole("alert").getByText("Disconnected").waitFor({ state: "detached" });
    await page.getByRole("alert", { name: "This note changed on disk" }).waitFor();
    await page.getByRole("button", { name: "Merge" }).click();
    await field.getByText("port 6000").waitFor();
    await page.keyboard.press("Control+s");
    await page.locator(".rendered").getByText("Facts of ours").waitFor();
    expect(readFileSync(file, "utf8")).toBe("# Facts of ours\n\nThe staging database moved to port 6000.\n");
    await other.goto(`${ui.origin}/notes/MEMORY.md`);
    await other.locator(".rendered").getByText("Facts of ours").waitFor();
  });
});

describe.skipIf(!hasBrowser)("a slow provider", () => {
  test("a typed question is answered by its words meanwhile, and other views open", async () => {
    const asked: string[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const ui = await startUi({
      notes,
      embeddings: {
        id: "fake",
        model: "slow",
        async embedQuery(text) {
          asked.push(text);
          await held;
          return [text.length, 1, 2];
        },
        embedBatch: async (texts) => texts.map((text) => [text.length, 1, 2]),
      },
    });
    const { page, context } = await openAt(ui, "/search");
    await page.getByRole("combobox", { name: "Ask your notes" }).fill("when does the ferry leave?");
    await page.locator(".result").getByText("Oslo").first().waitFor();
    await expect.poll(() => asked.length, { timeout: 30_000 }).toBeGreaterThan(0);
    const other = await context.newPage();
    const shown = { "/": "Recent notes", "/health": "Notes and index", "/map": "3 of 3" };
    for (const [place, text] of Object.entries(shown)) {
      await other.goto(ui.origin + place);
      await other.locator("main").getByText(text).first().waitFor();
    }
    release();
    await page.locator("[aria-busy=false] .result").first().waitFor();
    expect([...new Set(asked)]).toEqual(["when does the ferry leave?"]);
  });
});

describe.skipIf(!hasBrowser)("with 8,000 notes", () => {
  const words = ["harbour", "boiler", "bread", "ferry", "cello", "garden", "ladder", "kettle", "window", "river"];
  const day = (note: number): string => new Date(Date.UTC(2026, 0, 1 + (note % 330))).toISOString().slice(0, 10);

  /** Each note has two passages. */
  function manyNotes(): Record<string, string> {
    const section = (note: number, part: number): string => {
      const text = Array.from({ length: 34 }, (_, at) => words[(note * 7 + part * 3 + at * at) % words.length]);
      return `## Section ${part}\n\nPlace ${note}x${part}: ${text.join(" ")}.\n`;
    };
    return Object.fromEntries(
      Array.from({ length: 8_000 }, (_, note) => [
        note % 10 === 0 ? `memory/${day(note)}-${note}.md` : `memory/d${note % 40}/n${note}.md`,
        `${section(note, 0)}\n${section(note, 1)}`,
      ]),
    );
  }

  test("each view opens with small answers and the visible rows of a list, a query finds one note, and the map has all passages", async () => {
    const ui = await startUi({ notes: manyNotes(), memorySearch: { chunking: { tokens: 64, overlap: 0 } } });
    const { page, complaints } = await openAt(ui, "/search");
    const large: [string, number][] = [];
    page.on("response", async (response) => {
      const { pathname } = new URL(response.url());
      if (!pathname.startsWith("/api/") || /events|map/u.test(pathname)) return;
      const { length } = await response.body().catch(() => Buffer.alloc(0));
      if (length > 300_000) large.push([pathname, length]);
    });
    await page.getByRole("combobox", { name: "Ask your notes" }).pressSequentially("777x1");
    await expect.poll(() => page.locator(".result mark").first().textContent(), { timeout: 20_000 }).toBe("777x1");
    await page
      .getByText(/^memory\/d17\/n777\.md/u)
      .first()
      .waitFor();
    for (const place of ["/", "/search", "/notes", "/changes", "/time", "/time?day=2026-03-05", "/health"]) {
      await page.goto(ui.origin + place);
      await page.locator("main :is(h1, h2, h3, p)").first().waitFor({ state: "attached" });
      await expect.poll(() => page.locator(".loading").count(), { timeout: 30_000 }).toBe(0);
      const elements = await page.evaluate<number>("document.querySelectorAll('*').length");
      expect([place, elements < 3_000]).toEqual([place, true]);
    }
    await page.goto(`${ui.origin}/notes`);
    await page.getByLabel("Filter, or path#L12-L14").fill("n7999");
    await page.locator("[role=treeitem][title*='/n7999.md']").click();
    await page.getByText("Place 7999x1").waitFor();
    await page.getByLabel("Filter, or path#L12-L14").fill("");
    // Its neighbours are there again.
    await page.locator("[role=treeitem][title*='/n7959.md']").waitFor();
    expect(await page.getByRole("treeitem").count()).toBeLessThan(200);
    await page.goto(`${ui.origin}/map`);
    const count = new Intl.NumberFormat("en").format(ui.host.memory.status().chunks ?? 0);
    await page.getByText(`${count} of ${count} passages`).waitFor();
    const groups = page.getByRole("list", { name: "Groups" });
    await groups.locator("summary").first().click();
    await groups.getByRole("link").first().waitFor();
    expect([large, complaints.lines]).toEqual([[], []]);
  });
});

/** The size of a file as it is sent, and the address of the files that its header names. */
async function sent(address: URL): Promise<{ bytes: number; ahead: string[] }> {
  return await new Promise((resolve, reject) => {
    const asked = request(address, { headers: { "accept-encoding": "gzip" }, agent: false }, (answer) => {
      let bytes = 0;
      answer.on("data", (part: Buffer) => (bytes += part.length));
      const ahead = Array.from(String(answer.headers["link"] ?? "").matchAll(/<([^>]+)>/gu), ([, file]) => file ?? "");
      answer.on("end", () => resolve({ bytes, ahead }));
    });
    asked.on("error", reject);
    asked.end();
  });
}

describe.skipIf(!hasBrowser)("answers of the page", () => {
  test.each(["/", "/search", "/notes", "/changes", "/health"])(
    "the files of %s are all named by the first response, and its scripts and styles are at most 60 kB",
    async (place) => {
      const ui = await startUi({ notes });
      const first = new URL(place, ui.origin);
      const html = await (await fetch(first)).text();
      const own = Array.from(html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/gu), ([, file]) => file ?? "");
      const named = [...own, ...(await sent(first)).ahead];
      const { page, requests } = await openAt(ui, place);
      await page.getByRole("heading").first().waitFor();
      await page.locator(".loading").first().waitFor({ state: "detached" });
      // The renderer of Markdown follows the text of a note, which is shown meanwhile.
      const files = requests.map((url) => new URL(url).pathname).filter((file) => /\.(?:js|css)$/u.test(file));
      const loaded = files.filter((file) => !file.includes("/render-markdown-"));
      expect([...new Set(loaded)].toSorted()).toEqual([...new Set(named)].toSorted());
      const sizes = await Promise.all([...new Set(named)].map((file) => sent(new URL(file, ui.origin))));
      const bytes = sizes.reduce((sum, each) => sum + each.bytes, 0);
      expect(bytes).toBeLessThan(60_000);
    },
  );
});
