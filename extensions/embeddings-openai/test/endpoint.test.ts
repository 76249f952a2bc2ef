import { MemoryError } from "@memslot/core";
import plugin from "@memslot/embeddings-openai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { isPrivateHost, urlAdvice } from "../src/endpoint.ts";
import { type Setup, contextOf, open, stubFarEnd } from "./support/open.ts";
import data from "./data/endpoints.json" with { type: "json" };
import cases from "./data/cases.json" with { type: "json" };

afterEach(() => vi.unstubAllGlobals());

interface Row {
  name: string;
  setup: Setup;
  url: string;
  /** The value of the Authorization header. */
  authorization?: string;
  keySource?: string;
  /** More headers that are sent; null for one that is not. */
  headers?: Record<string, string | null>;
}

const proxy = "https://proxy.example.com/v1";

describe("where requests go", () => {
  test.each(data.used as Row[])("$name", async ({ setup, url, authorization, keySource, headers = {} }) => {
    const log = stubFarEnd();
    const provider = await open(setup);
    await provider.embedBatch(["a note"]);
    await provider.embedQuery("a question");
    expect(log.map((sent) => sent.url)).toEqual([url, url]);
    expect(provider.endpoint).toMatchObject({ host: new URL(url).host, keySource });
    for (const sent of log) {
      expect(sent.headers).toEqual({
        accept: "application/json",
        "content-type": "application/json",
        "user-agent": "memslot",
        ...(authorization === undefined ? {} : { authorization }),
        ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value ?? undefined])),
      });
    }
  });

  test("the fingerprint changes with address, key, model and headers, and with nothing else", async () => {
    const fingerprint = async (setup: Setup): Promise<string | undefined> => (await open(setup)).endpoint?.fingerprint;
    const remote = { baseUrl: proxy, apiKey: "sk-remote", headers: { "x-a": "1", "x-b": "2" } };
    const first = await fingerprint({ memorySearch: { remote } });
    expect(first).toMatch(/^[\da-f]{32}$/);
    const same = { ...remote, baseUrl: `${proxy}/`, headers: { "X-B": "2", "X-A": "1" } };
    expect(await fingerprint({ memorySearch: { remote: same, chunking: { tokens: 300 } } })).toBe(first);
    const others = await Promise.all([
      fingerprint({ memorySearch: { remote: { ...remote, baseUrl: "https://proxy.example.com/v2" } } }),
      fingerprint({ memorySearch: { remote: { ...remote, apiKey: "sk-other" } } }),
      fingerprint({ memorySearch: { remote: { ...remote, headers: { "x-a": "1" } } } }),
      fingerprint({ memorySearch: { remote, model: "other" } }),
    ]);
    expect(new Set([first, ...others]).size).toBe(5);
  });
});

describe("what cannot work is said when it is opened, without the key", () => {
  test.each(data.refused as [string, Setup, string][])("%s", async (_, setup, words) => {
    const error: unknown = await open(setup).catch((thrown: unknown) => thrown);
    expect(MemoryError.is(error, "CONFIG")).toBe(true);
    expect(String(error)).toMatch(new RegExp(words.replace(/^\^/, "")));
    expect(`${String(error)} ${String((error as Error).cause)}`).not.toMatch(/hidden/i);
  });
});

describe("a base URL", () => {
  const at = async (baseUrl: string): Promise<string | undefined> => {
    const log = stubFarEnd();
    await (await open({ memorySearch: { remote: { baseUrl } } })).embedQuery("a question");
    return log[0]?.url.replace(/\/embeddings/, "");
  };

  test.each(cases.baseUrls as [string, string][])("%s is used as %s", async (written, href) => {
    expect(await at(written)).toBe(href);
  });

  test.each(cases.advice as [string, string][])("the advice for %s", (written, advice) => {
    expect(urlAdvice(new URL(written), "remote.baseUrl")).toBe(advice);
  });
});

test("a host is private by its name or address", () => {
  expect(data.privateHosts.filter((host) => !isPrivateHost(host))).toEqual([]);
  expect(data.publicHosts.filter((host) => isPrivateHost(host))).toEqual([]);
});

describe("whether it can be used", () => {
  test.each(cases.available as [string, Setup, { ok: boolean; reason: string }][])("%s", async (_, setup, answer) => {
    expect(await plugin.available?.(contextOf(setup))).toEqual(answer);
  });
});

test("asking and opening send nothing", async () => {
  const log = stubFarEnd();
  const context = contextOf({ env: { OPENAI_API_KEY: "sk-1" } });
  await plugin.available?.(context);
  await plugin.open(context);
  expect(log).toEqual([]);
});
