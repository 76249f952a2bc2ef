import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { compactSession, createMemoryFlush } from "@memslot/agent-kit";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { openSession } from "./support/agent-work.ts";
import { startUi, type UiServer } from "./support/ui-server.ts";

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

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("the sessions", () => {
  test("show a conversation, what it asked of the memory, what it dropped and where that stands", async () => {
    const ui = await startUi({ notes });
    await compactedSession(ui);
    const { page, complaints } = await openAt(ui, "/sessions");
    await page.getByText("waiting, digest saved").waitFor();
    await page.getByRole("link", { name: /^When does the ferry leave/u }).click();
    await page.getByText("Compactions (1)").click();
    await page.getByText(/messages left the context/u).waitFor();
    await page.getByText("Memory queries (1)").click();
    await page.getByRole("link", { name: "MEMORY.md:3" }).waitFor();
    await page.getByText("At nine.", { exact: true }).first().waitFor();
    await page.getByRole("link", { name: "MEMORY.md:3" }).click();
    await page.getByText("The ferry to Oslo leaves at nine.").first().waitFor();
    expect(new URL(page.url()).pathname).toBe("/notes/MEMORY.md");
    await page.goBack();
    await page.getByRole("link", { name: "All sessions" }).click();
    const noted = page.getByRole("link", { name: /^memory\/\d{4}-\d{2}-\d{2}\.md#L\d+/u }).first();
    await noted.click();
    await page
      .getByText(/Digest of dropped messages/u)
      .first()
      .waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("show what the journal keeps", async () => {
    const ui = await startUi({ notes });
    await compactedSession(ui);
    const { page } = await openAt(ui, "/sessions");
    await page.getByText(/^Journal \(1\)/u).waitFor();
    await page.locator('a[href*="file=journal"]').first().click();
    // The list of sessions shows the same words.
    const said = page.locator(".transcript > li");
    await said.filter({ hasText: "My boat is called Heron" }).waitFor();
    expect(await said.count()).toBeGreaterThan(1);
  });

  test("read a long conversation a part at a time, to its end and back", async () => {
    const ui = await startUi({ notes });
    writeTranscript(
      ui,
      "long",
      Array.from({ length: 3000 }, (_, index) => `Said as number ${index}.`),
    );
    const { page } = await openAt(ui, "/sessions");
    await page.getByRole("link", { name: "Said as number 0." }).click();
    await page.getByText("Said as number 59.").waitFor();
    expect(await page.locator(".transcript > li").count()).toBe(60);
    await page.getByRole("button", { name: "Later" }).click();
    await page.getByText("Said as number 60.").waitFor();
    await page.getByRole("button", { name: "End" }).click();
    await page.getByText("Said as number 2999.").waitFor();
    await page.getByRole("button", { name: "Earlier" }).click();
    await page.getByText("Said as number 2939.").waitFor();
    expect(await page.locator(".transcript > li").count()).toBe(60);
    await page.getByRole("button", { name: "Start" }).click();
    // The list beside it shows the first words too.
    await page.locator(".transcript").getByText("Said as number 0.", { exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Earlier" }).isDisabled()).toBe(true);
  });

  test("take what was said for text, and open nothing that is not a transcript", async () => {
    const ui = await startUi({ notes });
    const bad = '<img src=x onerror="window.hit=1"><script>window.hit=1</script> [x](javascript:window.hit=1)';
    writeTranscript(ui, "bad", [bad, `${bad}\n# no heading`]);
    const { page, complaints, requests } = await openAt(ui, "/sessions?file=sessions/bad.jsonl");
    await page.getByText("# no heading").waitFor();
    expect(await page.locator("main img, main script, main h3").count()).toBe(0);
    expect(await page.evaluate("window.hit")).toBe(undefined);
    expect(requests.filter((address) => !address.startsWith(ui.origin))).toEqual([]);
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
    await page
      .getByText(/is not a transcript/u)
      .first()
      .waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("say where conversations come from where there are none", async () => {
    const { page } = await openAt(await startUi({ notes }), "/sessions");
    await page.getByText("No conversations yet").waitFor();
    expect(await page.locator(".transcripts").count()).toBe(0);
  });
});
