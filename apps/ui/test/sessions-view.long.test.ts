import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { compactSession, createMemoryFlush } from "@memslot/agent-kit";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { openSession, startUi, type UiServer } from "./support/ui-server.ts";

const patient = { timeout: 30_000 };
const notes = { "MEMORY.md": "# Facts\n\nThe ferry to Oslo leaves at nine.\n" };

/** A conversation of which the beginning was dropped: no model was there, so a digest of it is noted. */
async function compactedSession(ui: UiServer): Promise<void> {
  const session = await openSession(ui, "agent:main:main");
  await session.append({ role: "user", text: "When does the ferry leave? My boat is called Heron." });
  const call = { id: "c1", name: "memory_search", arguments: JSON.stringify({ query: "ferry Oslo" }) };
  await session.append({ role: "assistant", text: "", toolCalls: [call] });
  const results = [{ path: "MEMORY.md", startLine: 3, endLine: 3, snippet: "The ferry to Oslo leaves at nine." }];
  await session.append({
    role: "tool",
    toolCallId: "c1",
    toolName: "memory_search",
    text: JSON.stringify({ results }),
  });
  await session.append({ role: "assistant", text: "At nine." }, { role: "user", text: "And back?" });
  const { memory, agent, config } = ui.host;
  const flush = await createMemoryFlush({ memory, agent, stateDir: config.stateDir, session });
  await compactSession({ session, keepTokens: 1, flush });
  await flush.settled();
}

function writeTranscript({ host }: UiServer, name: string, texts: readonly string[]): void {
  const folder = path.join(host.config.stateDir, "agents/main/sessions");
  mkdirSync(folder, { recursive: true });
  const head = { type: "session", version: 3, id: name, timestamp: "2026-03-05T09:00:00.000Z" };
  const lines = texts.map((text, index) => {
    const timestamp = new Date(Date.UTC(2026, 2, 5, 9, 0, index)).toISOString();
    const message = { role: index % 2 === 0 ? "user" : "assistant", content: [{ type: "text", text }] };
    return { type: "message", id: `m-${index}`, timestamp, message };
  });
  writeFileSync(
    path.join(folder, `${name}.jsonl`),
    [head, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""),
  );
}

/** Whether an element is within the visible part of a box. */
async function isInside(page: Page, element: string, box: string): Promise<boolean> {
  const [inner, outer] = [await page.locator(element).boundingBox(), await page.locator(box).boundingBox()];
  return inner !== null && outer !== null && inner.y >= outer.y - 1 && inner.y < outer.y + outer.height;
}

buildPage();
useBrowser();

/** Opens a note that a row of the list cites. */
const citation = /^memory\/\d{4}-\d{2}-\d{2}\.md#L\d+/u;

describe.skipIf(!hasBrowser)("the sessions", () => {
  test("show a conversation, its queries to the memory, its compacted messages and where those are", async () => {
    const ui = await startUi({ notes });
    await compactedSession(ui);
    const { page, complaints } = await openAt(ui, "/sessions");
    const row = page.getByRole("link", { name: /^When does the ferry leave\? My boat is called Heron\./u });
    await row.click();
    expect(await row.getAttribute("title")).toBe("agent:main:main");
    await page.getByText("Compactions (1)").click();
    await page.getByText(/messages left the context/u).waitFor();
    await page.getByText("Memory queries (1)").click();
    await page.getByText("At nine.", { exact: true }).first().waitFor();
    await page.getByRole("link", { name: "MEMORY.md:3" }).click();
    await page.getByText("The ferry to Oslo leaves at nine.").first().waitFor();
    expect(new URL(page.url()).pathname).toBe("/notes/MEMORY.md");
    await page.goBack();
    // The tabs and the lists below them by keys alone.
    await page.getByRole("tab", { name: "Conversations 1" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.getByText(/^waiting, digest saved · .+ · 4 messages/u).waitFor();
    expect(await page.getByRole("tab", { selected: true }).textContent()).toBe("Compacted 1");
    await page.keyboard.press("End");
    await page.getByRole("list", { name: "Journal" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(/file=journal/u);
    const said = page.locator(".transcript [role=listitem]");
    await said.filter({ hasText: "My boat is called Heron" }).waitFor();
    expect(await said.count()).toBeGreaterThan(1);
    await page.getByRole("tab", { name: /^Compacted/u }).click();
    await page.getByRole("link", { name: citation }).first().click();
    const digest = page.getByText(/Digest of dropped messages/u);
    await digest.first().waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("find words in 5,000 messages by keys, with the visible ones alone in the document", async () => {
    const ui = await startUi({ notes });
    const texts = Array.from({ length: 5000 }, (_, at) => `Said as number ${at}.\n`.repeat(1 + ((at * at) % 7)));
    writeTranscript(ui, "long", texts);
    const { page, complaints } = await openAt(ui, "/sessions?file=sessions/long.jsonl");
    const said = page.locator(".transcript [role=listitem]");
    await said.first().waitFor();
    await page.keyboard.press("Control+f");
    await page.keyboard.type("NUMBER 49");
    await page.getByText("1 of 111", { exact: true }).waitFor();
    const current = page.locator(".transcript [aria-current]");
    for (const [key, status, number] of [
      ["Enter", "2 of 111", 490],
      ["Shift+Enter", "1 of 111", 49],
      ["Shift+Enter", "111 of 111", 4999],
    ] as const) {
      await page.keyboard.press(key);
      await page.getByText(status, { exact: true }).waitFor();
      await current.filter({ hasText: `Said as number ${number}.` }).waitFor();
      await expect.poll(() => isInside(page, ".transcript [aria-current]", ".transcript"), patient).toBe(true);
    }
    expect(await current.locator("mark").first().textContent()).toBe("number 49");
    expect(await said.count()).toBeLessThan(60);
    // Firefox does not clear the field by itself.
    await page.getByRole("searchbox", { name: "Find in conversation" }).dispatchEvent("keydown", { key: "Escape" });
    await current.waitFor({ state: "detached" });
    await page.locator(".transcript").focus();
    await page.keyboard.press("Home");
    await said.filter({ hasText: "Said as number 0." }).waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("list thousands of conversations with a filter, and on a phone one after the other with Back", async () => {
    const ui = await startUi({ notes });
    for (let at = 0; at < 1500; at++) writeTranscript(ui, `s-${at}`, [`Question ${at}`, "Answer", "", "x"]);
    const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
    const { page, complaints } = await openAt(ui, "/sessions", phone);
    const list = page.getByRole("list", { name: "Conversations" });
    await list.getByRole("link").first().waitFor();
    expect(await list.getByRole("link").count()).toBeLessThan(60);
    await list.evaluate((box) => box.scrollTo(0, 40_000));
    await expect
      .poll(() => list.getByRole("listitem").nth(15).getAttribute("aria-posinset"), patient)
      .toMatch(/^7\d\d$/u);
    const link = list.getByRole("link").nth(15);
    const name = (await link.locator(".line").textContent()) ?? "";
    await link.click();
    await page.locator(".transcript").getByText("Answer").waitFor();
    expect(await list.isVisible()).toBe(false);
    await page.locator("a.back").click();
    await expect.poll(() => isInside(page, `a.title .line:text-is("${name}")`, ".list .virtual"), patient).toBe(true);
    await page.getByRole("searchbox", { name: "Filter conversations" }).fill("question 149");
    await expect.poll(() => list.getByRole("link").count(), patient).toBe(11);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator(".transcript").getByText("Answer").waitFor();
    expect(page.url()).toContain("filter=question+149");
    expect(complaints.lines).toEqual([]);
  });

  test("read a conversation of many megabytes in parts", async () => {
    const ui = await startUi({ notes });
    writeTranscript(
      ui,
      "large",
      Array.from({ length: 1200 }, (_, at) => `Said as number ${at}. ${"x".repeat(4_500)}`),
    );
    const { page } = await openAt(ui, "/sessions?file=sessions/large.jsonl");
    await page.getByRole("button", { name: "Later" }).click();
    await page.getByRole("button", { name: "Later", disabled: true }).waitFor();
    await page.getByRole("searchbox", { name: "Find in conversation" }).fill("number 1199");
    await page.getByText("1 of 1", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Earlier" }).click();
    await page.getByText("No match", { exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Earlier", disabled: true }).count()).toBe(1);
  });

  test("take what was said for text, and open nothing that is not a transcript", async () => {
    const ui = await startUi({ notes });
    writeTranscript(ui, "tags", ["<img src=x>"]);
    const { page, complaints } = await openAt(ui, "/sessions?file=sessions/tags.jsonl");
    await page.getByRole("searchbox", { name: "Find in conversation" }).fill("<img");
    await page.locator("mark").first().waitFor();
    for (const [file, status] of [
      ["../../notes/MEMORY.md", 403],
      ["sessions/../../../x.jsonl", 403],
      ["sessions/none.jsonl", 404],
    ] as const) {
      const asked = `/api/sessions/read?path=${encodeURIComponent(file)}`;
      const answered = await page.evaluate(async (place) => {
        const headers = { authorization: `Bearer ${localStorage.getItem("memslot-token")}` };
        return (await fetch(place, { headers })).status;
      }, asked);
      expect([file, answered]).toEqual([file, status]);
    }
    await page.goto(`${ui.origin}/sessions?file=${encodeURIComponent("../x.jsonl")}`);
    const refusal = page.getByText(/is not a transcript/u);
    await refusal.first().waitFor();
    expect(complaints.lines).toEqual([]);
  });
});
