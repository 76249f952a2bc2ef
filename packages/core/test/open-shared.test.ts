import { beforeEach, describe, expect, test } from "vitest";
import {
  type Memory,
  type MemorySearchManager,
  type OpenMemoryOptions,
  defineMemoryPlugin,
  isAbort,
} from "@memslot/core";
import { fakeManager, fakeProvider, gate, rejected, settle } from "./support/fakes.ts";
import { type Counted, type MemoryHome, counted, createMemoryHome } from "./support/open.ts";
import data from "./data/open-shared.json" with { type: "json" };

let home: MemoryHome;

beforeEach(() => {
  home = createMemoryHome();
});

type Open = (options?: Partial<OpenMemoryOptions>) => Promise<Memory>;

/** Opens of one plugin with equal settings, unless told otherwise. */
function shared(own: Partial<MemorySearchManager> = {}): Counted & { open: Open } {
  const core = counted("memory-core", own);
  return { ...core, open: (options = {}) => home.open({ plugins: [core.plugin], ...options }) };
}

describe("a manager", () => {
  test("is opened once for 20 concurrent opens, and closed once by the last of them", async () => {
    const { open, contexts, closed } = shared();
    const [last, ...others] = await Promise.all(Array.from({ length: 20 }, () => open()));
    expect([contexts.length, new Set([last, ...others]).size]).toEqual([1, 20]);
    for (const memory of others) await memory.close();
    expect(closed()).toBe(0);
    await expect(last?.search("q")).resolves.toHaveLength(1);
    await last?.close();
    expect(closed()).toBe(1);
    await (await open()).close();
    expect([contexts.length, closed()]).toEqual([2, 2]);
  });

  test("is opened again only when the one before it has closed", async () => {
    const closing = gate();
    const { open, contexts } = shared({ close: () => closing.opened });
    const ended = (await open()).close();
    await settle();
    const second = open();
    // Long enough for a workspace to be found and a plugin to be opened.
    for (let turn = 0; turn < 50; turn += 1) await settle();
    expect(contexts).toHaveLength(1);
    closing.open();
    await ended;
    await second;
    expect(contexts).toHaveLength(2);
  });

  test("is shared by equal settings, however they are written, and by none that differ", async () => {
    const { open, contexts } = shared();
    const withKeys = (memorySearch: object): Promise<Memory> =>
      open({ config: home.config({}, memorySearch as Record<string, unknown>) });
    const remote = { apiKey: "sk-1", headers: { a: "1", b: "2" } };
    await Promise.all([
      withKeys({ remote, query: { maxResults: 3 } }),
      withKeys({ query: { maxResults: 3 }, remote: { headers: { b: "2", a: "1" }, apiKey: "sk-1" } }),
    ]);
    expect(contexts).toHaveLength(1);
    await withKeys({ remote: { ...remote, apiKey: "sk-2" }, query: { maxResults: 3 } });
    expect(contexts).toHaveLength(2);
  });

  test("is not shared by agents, plugins or providers, however alike they are", async () => {
    const { open, contexts } = shared();
    const [one, other] = [fakeProvider(), fakeProvider()];
    const another = counted();
    await open();
    await open({ agentId: "second" });
    for (const embeddings of [one, other, one]) await open({ embeddings });
    await open({ plugins: [another.plugin] });
    expect(contexts.map(({ agentId }) => agentId)).toEqual(["main", "second", "main", "main"]);
    expect(another.contexts).toHaveLength(1);
  });

  test("that fails to open fails for all that waited, and the next call tries again", async () => {
    let works = false;
    const open = async () => (works ? fakeManager() : Promise.reject(new Error("disk full")));
    const plugins = [defineMemoryPlugin({ id: "memory-core", open })];
    const both = [rejected(home.open({ plugins })), rejected(home.open({ plugins }))];
    for (const error of both) expect(String(await error)).toContain("disk full");
    works = true;
    await expect(home.open({ plugins })).resolves.toBeDefined();
  });

  test("that fails to close gives its error to the last that closes it, and is opened again", async () => {
    const { open } = shared({ close: async () => Promise.reject(new Error("disk gone")) });
    const [first, last] = await Promise.all([open(), open()]);
    await expect(first.close()).resolves.toBeUndefined();
    await expect(last.close()).rejects.toThrow("disk gone");
    await expect(open()).resolves.toBeDefined();
  });

  test("reports to each listener once for each text, also to one that came later, until it closes", async () => {
    const told: string[] = [];
    const { plugin, contexts } = counted();
    const openOne = plugin.open;
    plugin.open = async (context) => {
      context.notify("no vectors");
      context.notify("no vectors");
      return openOne(context);
    };
    const listener = (name: string) => (line: string) => void told.push(`${name}: ${line}`);
    const first = listener("first");
    await home.open({ plugins: [plugin], notify: first });
    await home.open({ plugins: [plugin], notify: first });
    const second = await home.open({ plugins: [plugin], notify: listener("second") });
    contexts[0]?.notify("index rebuilt");
    await second.close();
    contexts[0]?.notify("again");
    expect(told).toEqual(data.heard);
  });
});

describe("the abort of an open", () => {
  /** A plugin that opens when it is told to, and the signal that it was given. */
  function slow() {
    const [reached, opening] = [gate<AbortSignal>(), gate<MemorySearchManager>()];
    const plugin = defineMemoryPlugin({
      id: "memory-core",
      open: ({ signal }) => {
        reached.open(signal);
        return opening.opened;
      },
    });
    return { plugins: [plugin], reached: reached.opened, finish: opening.open };
  }

  test("detaches its caller and leaves the manager to the others", async () => {
    const { plugins, reached, finish } = slow();
    const controller = new AbortController();
    const staying = home.open({ plugins });
    const inner = await reached;
    const leaving = rejected(home.open({ plugins, signal: controller.signal }));
    // Long enough for the second call to join the first.
    for (let turn = 0; turn < 50; turn += 1) await settle();
    controller.abort();
    expect(isAbort(await leaving)).toBe(true);
    expect(inner.aborted).toBe(false);
    const manager = fakeManager();
    finish(manager);
    await expect((await staying).search("q")).resolves.toEqual([]);
    expect(manager.closed).toBe(0);
  });

  test("by the last caller aborts the opening, and what opens all the same is closed", async () => {
    const { plugins, reached, finish } = slow();
    const controller = new AbortController();
    const leaving = rejected(home.open({ plugins, signal: controller.signal }));
    const inner = await reached;
    controller.abort();
    expect(isAbort(await leaving)).toBe(true);
    expect(inner.aborted).toBe(true);
    const manager = fakeManager();
    finish(manager);
    await settle();
    expect(manager.closed).toBe(1);
  });
});

describe("a memory that shares its manager", () => {
  test("refuses calls with CLOSED once it is closed, while others go on", async () => {
    const { open, closed } = shared();
    const [one, other] = await Promise.all([open(), open()]);
    await one.close();
    await one.close();
    for (const call of [one.search("q"), one.sync()]) expect(await rejected(call)).toMatchObject({ code: "CLOSED" });
    expect(one.status().backend).toBe("memory-core");
    await expect(other.search("q")).resolves.toHaveLength(1);
    expect(closed()).toBe(0);
  });

  test("ends its own running calls when it is closed, and not those of others", async () => {
    const running: AbortSignal[] = [];
    const answer = gate<[]>();
    const { open } = shared({
      search: (_query, { signal }) => {
        running.push(signal);
        return answer.opened;
      },
    });
    const [closing, other] = await Promise.all([open(), open()]);
    const ended = rejected(closing.search("q"));
    const kept = other.search("q");
    await settle();
    await closing.close();
    expect(await ended).toMatchObject({ code: "CLOSED" });
    expect(running.map(({ aborted }) => aborted)).toEqual([true, false]);
    answer.open([]);
    await expect(kept).resolves.toEqual([]);
  });

  test("does not close, when it is closed at once, what another open is about to get", async () => {
    const { open, contexts } = shared();
    const first = open().then((memory) => memory.close());
    const second = await open();
    await first;
    await expect(second.search("q")).resolves.toHaveLength(1);
    expect(contexts.length).toBeLessThanOrEqual(2);
  });

  test("passes arguments and aborts on", async () => {
    const readFile: MemorySearchManager["readFile"] = async ({ relPath, from, lines }) => ({
      status: "ok",
      text: `${relPath} ${from} ${lines}`,
      path: relPath,
    });
    const search: MemorySearchManager["search"] = (_query, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    const memory = await shared({ search, readFile }).open();
    await expect(memory.readFile({ relPath: "a.md", from: 2, lines: 3 })).resolves.toMatchObject({ text: "a.md 2 3" });
    const options = [null, { signal: 5 }] as never[];
    for (const wrong of options.map((given) => memory.search("q", given)))
      expect(await rejected(wrong)).toMatchObject({ code: "INVALID_ARGUMENT" });
    const controller = new AbortController();
    const aborted = rejected(memory.search("q", { signal: controller.signal }));
    controller.abort();
    expect(isAbort(await aborted)).toBe(true);
  });
});
