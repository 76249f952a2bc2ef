import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import data from "../data/browser.json" with { type: "json" };

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = process.env["MEMSLOT_CHROMIUM"] ?? places.find((place) => existsSync(place));

/** False: these tests are skipped, with a line that says what is missing. */
export const hasBrowser: boolean = executablePath !== undefined;
if (!hasBrowser)
  process.stderr.write(
    "no Chromium, so no test drives the page: `apt-get install chromium`, or name one in MEMSLOT_CHROMIUM\n",
  );

let browser: Browser | undefined;

/** Once in a file, outside of its tests: a browser for all of them. */
export function useBrowser(): void {
  beforeAll(async () => {
    if (executablePath === undefined) return;
    const args = data.args;
    browser = await chromium.launch({ executablePath, args });
  });
  afterAll(async () => browser?.close());
}

/** What the browser said that a page should not make it say: errors of scripts, and what its policy has refused. */
export interface Complaints {
  readonly lines: string[];
}

/** A browser window with nothing in it that was there before. */
export async function openWindow(
  options: Parameters<Browser["newContext"]>[0] = {},
): Promise<{ context: BrowserContext; page: Page; complaints: Complaints }> {
  if (browser === undefined) throw new Error("useBrowser() was not called");
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, locale: "en-GB", ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const lines: string[] = [];
  page.on("pageerror", (error) => void lines.push(error.message));
  page.on("console", (message) => {
    // A request that was refused on purpose is told by the browser, too.
    if (message.type() === "error" && !/status of 4\d\d|ERR_CONNECTION/u.test(message.text()))
      lines.push(message.text());
  });
  return { context, page, complaints: { lines } };
}

/** A window that the page is open in, at one of its addresses, logged in. */
export async function openAt(
  ui: { url: string; origin: string },
  place: string,
  options: Parameters<Browser["newContext"]>[0] = {},
): Promise<Awaited<ReturnType<typeof openWindow>> & { requests: string[] }> {
  const opened = await openWindow(options);
  const requests: string[] = [];
  opened.page.on("request", (request) => void requests.push(request.url()));
  await opened.page.goto(`${ui.origin}${place}${new URL(ui.url).hash}`);
  await opened.page.getByRole("navigation").first().waitFor();
  return { ...opened, requests };
}

export interface Pixels {
  width: number;
  height: number;
  /** Red, green, blue of each. */
  rgb: Buffer;
}

/** Decodes a PNG in the browser. */
export async function pixelsOf(page: Page, png: Buffer): Promise<Pixels> {
  const read = `(${data.readPixels.join("\n")})("${png.toString("base64")}")`;
  const { rgb, ...size } = await page.evaluate<{ width: number; height: number; rgb: string }>(read);
  return { ...size, rgb: Buffer.from(rgb, "base64") };
}
