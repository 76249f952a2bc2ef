import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { SentenceCode } from "@memslot/core";
import { sentence } from "@memslot/core/host";
import library from "../page/words/library-zh.json" with { type: "json" };
import zh from "../page/words/zh.json" with { type: "json" };
import data from "./data/views.json" with { type: "json" };
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";

buildPage();
useBrowser();

/** By address: something that the view shows of the notes. */
const shown = data.shown as Readonly<Record<string, string>>;

describe.skipIf(!hasBrowser)("each view", () => {
  test("opens without an error and shows what the notes have", async () => {
    const ui = await startUi({ notes: data.notes });
    const { page, complaints } = await openAt(ui, "/");
    for (const [place, text] of Object.entries(shown)) {
      await page.goto(ui.origin + place);
      await page.locator("main").getByText(text).first().waitFor();
      expect([place, complaints.lines]).toEqual([place, []]);
    }
  });

  test("is opened by its key, and the palette opens a note", async () => {
    const ui = await startUi({ notes: data.notes });
    const { page } = await openAt(ui, "/");
    await page.getByRole("heading", { level: 1 }).waitFor();
    // The search takes the focus, and then a figure is text.
    for (const [key, place] of [
      ["3", "/notes"],
      ["1", "/"],
      ["2", "/search"],
    ] as const) {
      await page.keyboard.press(key);
      await page.waitForURL(ui.origin + place);
    }
    await page.keyboard.press("Control+k");
    await page.keyboard.type("heat");
    await page.getByRole("option", { name: /^Heat pump/u }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/notes\//u);
    expect(new URL(page.url()).pathname).toBe("/notes/memory/house/pump.md");
  });

  test("opens where stored drafts, stored questions and the day in the address cannot be read", async () => {
    const ui = await startUi({ notes: data.notes });
    const { page, complaints } = await openAt(ui, "/search");
    for (const text of ["{", "3", "[null]"]) {
      for (const name of [`draft ${ui.workspaceDir} MEMORY.md`, "questions"])
        await page.evaluate(`localStorage.setItem("memslot-${name}", ${JSON.stringify(text)})`);
      for (const place of ["/notes/MEMORY.md", "/search", "/time?day=2026-13-01"]) {
        await page.goto(ui.origin + place);
        await page.locator("h1").first().waitFor({ state: "attached" });
      }
      expect(complaints.lines).toEqual([]);
    }
  });

  test("counts in words of the language, and sentences of the library are in it", async () => {
    const ui = await startUi({ notes: data.notes, memorySearch: { provider: "gemini" } });
    const { page } = await openAt(ui, "/search?q=Oslo");
    await page.locator(".result").waitFor();
    expect(await page.getByText("1 result", { exact: true }).count()).toBe(1);
    await page.evaluate("localStorage.setItem('memslot-language', 'zh')");
    await page.goto(`${ui.origin}/search?q=ferry&tab=why&target=elsewhere.md`);
    await page.getByText("elsewhere.md 未被搜索").first().waitFor();
    await page.getByText("加入 memorySearch.extraPaths。").waitFor();
    await page.goto(`${ui.origin}/search?q=ferry+Paris`);
    await page.getByText('没有匹配 · 这些结果都不包含 "Paris"').waitFor();
    writeFileSync(path.join(ui.workspaceDir, "memory/bytes.md"), Buffer.alloc(4000, 1));
    await ui.host.memory.sync({ reason: "test" });
    await page.goto(`${ui.origin}/health`);
    await page.getByText("结果质量下降：1 个笔记或文件夹未被搜索：memory/bytes.md").waitFor();
    await page.getByText("不是文本，或编码未知").waitFor();
    await page.getByText('嵌入提供方 "gemini" 未安装').first().waitFor();
    const { findings = [] } = (await ui.host.memory.check()) ?? {};
    expect(findings.flatMap(({ name }) => (`health.found.${name}` in zh ? [] : [name]))).toEqual(["space"]);
    // In Chinese no sentence of the library is left in English.
    await expect.poll(() => page.locator(".loading").count(), { timeout: 30_000 }).toBe(0);
    for (const place of data.sentences) {
      await page.goto(ui.origin + place);
      await page.locator("main :is(.ladder, .warn, .answer-head, .cards)").first().waitFor();
      const text = await page.locator("main").innerText();
      expect([place, text.match(/(?:\b[a-z]+[ ,;:]+){4}.*/gu)]).toEqual([place, null]);
    }
    await page.goto(`${ui.origin}/notes/MEMORY.md`);
    await page.getByRole("button", { name: "重命名" }).click();
    await page.getByLabel("相对于工作区的路径").fill("memory/house/pump.md");
    await page.keyboard.press("Enter");
    await page.getByText("memory/house/pump.md 已存在").waitFor();
  });
});

test("Chinese names no parameter that the English sentence does not have", () => {
  const strange = Object.entries(library).flatMap(([code, chinese]) => {
    const known = new Set(data.chineseParams);
    const asked = { get: (_: object, name: string) => (known.add(name), "") };
    sentence(code as SentenceCode, new Proxy({}, asked));
    return [...chinese.matchAll(/\{(\w+)\}/gu)].flatMap(([, name = ""]) => (known.has(name) ? [] : `${code}: ${name}`));
  });
  expect(strange).toEqual([]);
});
