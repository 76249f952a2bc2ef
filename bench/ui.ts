import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { type Browser, type Page, chromium } from "playwright-core";
import { memslot, withNotes } from "./support/contestants.ts";
import { accessCode } from "./support/corpus.ts";
import { measure } from "./support/measure.ts";
import { median, percentile, printTable } from "./support/table.ts";

const rounds = 5;
const timeoutMs = 60_000;
/** Typed letter by letter. They begin with different letters, as an answer that the page has is not requested again. */
const words = ["zephyr12", "access", "code", "project", "harbour"];
const betweenKeysMs = 150;
/** The check of all files, after which the keys are measured. */
const settleMs = 10_000;

/** A page with the text of each answer, and nothing else. */
const barePage = `<!doctype html><input type="search"><p></p><script>
const show = async (q) => { document.querySelector("p").textContent = (await (await fetch("/api/search?q=" + q)).json()).text; };
document.querySelector("input").oninput = (event) => show(event.target.value);
show("first");
</script>`;

/** Records in the page when the answer to a query is painted after the last key. */
const watchAnswers = `(() => {
  const { fetch } = window;
  window.painted = new Map();
  window.fetch = async (...given) => {
    const response = await fetch(...given);
    const { pathname, searchParams } = new URL(String(given[0]), location.origin);
    const json = response.json.bind(response);
    response.json = async () => {
      const answer = await json();
      const noted = () => pathname === "/api/search" && painted.set(searchParams.get("q"), performance.now());
      setTimeout(() => requestAnimationFrame(() => setTimeout(noted)));
      return answer;
    };
    return response;
  };
  addEventListener("keydown", () => (window.keyAt = performance.now()), true);
})()`;

/**
 * `memslot ui` in Chromium: from the address to the first results of a server that has just started, and from a key to its
 * painted results. Beside it, in turn, a bare server whose page shows one line for each answer.
 */
export async function benchUi(files: number): Promise<void> {
  const executablePath = process.env["MEMSLOT_CHROMIUM"] ?? "/usr/bin/chromium";
  const bare = createServer((request, response) => {
    const isPage = request.url === "/search";
    response.setHeader("content-type", isPage ? "text/html" : "application/json");
    response.end(isPage ? barePage : JSON.stringify({ text: `answer to ${request.url}` }));
  });
  bare.listen(0, "127.0.0.1");
  await once(bare, "listening");
  const bareAddress = `http://127.0.0.1:${(bare.address() as AddressInfo).port}/search`;
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const figures = {
    ui: { first: [] as number[], keys: [] as number[] },
    bare: { first: [] as number[], keys: [] as number[] },
  };
  try {
    await withNotes(files, async ({ folder, workspace }) => {
      const { index, environment } = memslot(folder, workspace, { provider: "none" });
      measure(index, environment, 15 * 60_000);
      const [program = ""] = index;
      for (let round = 0; round < rounds; round++) {
        const server = spawn(process.execPath, [program, "ui", "--json", "--workspace", workspace], {
          env: environment,
          stdio: ["ignore", "pipe", "inherit"],
        });
        try {
          const { origin, hash } = new URL(await urlOf(server));
          const isLast = round === rounds - 1;
          const probe = Math.min(1234, files - 1);
          const ui = `${origin}/search?q=zephyr${probe}${hash}`;
          await open(browser, bareAddress, "answer", figures.bare, isLast);
          await open(browser, ui, accessCode(probe), figures.ui, isLast);
        } finally {
          server.kill();
          await once(server, "exit");
        }
      }
    });
  } finally {
    await browser.close();
    bare.close();
  }
  const row = (name: string, of: (figures: { first: number[]; keys: number[] }) => number): string[] => {
    const [own, other] = [of(figures.ui), of(figures.bare)];
    return [name, `${Math.round(own)} ms`, `${Math.round(other)} ms`, `${(own / other).toFixed(1)}x`];
  };
  printTable(
    `memslot ui, ${files} notes, in Chromium`,
    ["time", "memslot ui", "bare page", "ratio"],
    [
      row("address to first results, median", ({ first }) => median(first)),
      row("key to painted results, median", ({ keys }) => median(keys)),
      row("key to painted results, p95", ({ keys }) => percentile(keys, 0.95)),
    ],
  );
}

async function urlOf(server: ChildProcess): Promise<string> {
  if (server.stdout === null) throw new Error("memslot ui has no output");
  const lines = createInterface(server.stdout);
  const [line] = (await once(lines, "line", { signal: AbortSignal.timeout(timeoutMs) })) as [string];
  return (JSON.parse(line) as { url: string }).url;
}

async function open(
  browser: Browser,
  address: string,
  text: string,
  { first, keys }: { first: number[]; keys: number[] },
  withKeys: boolean,
): Promise<void> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const started = performance.now();
  await page.goto(address, { timeout: timeoutMs });
  await page.getByText(text).first().waitFor({ timeout: timeoutMs });
  first.push(performance.now() - started);
  if (withKeys) keys.push(...(await typeWords(page)));
  await context.close();
}

async function typeWords(page: Page): Promise<number[]> {
  await page.waitForTimeout(settleMs);
  await page.evaluate(watchAnswers);
  const times: number[] = [];
  for (const word of words) {
    await page.locator("input[type=search]").fill("");
    for (let length = 1; length <= word.length; length++) {
      await page.waitForTimeout(betweenKeysMs);
      await page.locator("input[type=search]").press(word.charAt(length - 1));
      const answer = `painted.get(${JSON.stringify(word.slice(0, length))})`;
      const time = await page.waitForFunction(`${answer} && { ms: ${answer} - keyAt }`, undefined, {
        timeout: timeoutMs,
      });
      times.push(((await time.jsonValue()) as { ms: number }).ms);
    }
  }
  return times;
}
