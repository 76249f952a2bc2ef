import { describe, expect, test } from "vitest";
import { type Memory, createMemory, isAbort } from "../index.ts";
import { type ShareOptions, shareInstance } from "./instances.ts";
import { type FakeManager, fakeManager, gate, hang, settings, settle } from "../../test/support/fakes.ts";

let keys = 0;

function memoryOf(manager: FakeManager): Memory {
  const options = { agentId: "main", workspaceDir: "/notes", backend: "fake", settings: settings() };
  return createMemory(manager, { ...options, deadlines: { closeMs: 50 } });
}

/** Opens of one instance: the same key each time, unless told otherwise. */
function shared(own: Parameters<typeof fakeManager>[0] = {}): {
  open: (options?: Partial<ShareOptions>) => Promise<Memory>;
  managers: FakeManager[];
} {
  keys += 1;
  const key = { facts: { test: keys, settings: { a: 1, b: { c: 2 } } }, objects: [] };
  const managers: FakeManager[] = [];
  const open = async (): Promise<Memory> => {
    const manager = fakeManager(own);
    managers.push(manager);
    await settle();
    return memoryOf(manager);
  };
  return {
    open: (options = {}) =>
      shareInstance({ key, open, notify: () => {}, signal: undefined, closeMs: 1000, ...options }),
    managers,
  };
}

describe("an instance", () => {
  test("is opened once for 20 concurrent opens, and closed once by the last of them", async () => {
    const { open, managers } = shared();
    const handles = await Promise.all(Array.from({ length: 20 }, () => open()));
    expect(managers).toHaveLength(1);
    expect(new Set(handles).size).toBe(20);
    for (const handle of handles.slice(1)) await handle.close();
    expect(managers[0]?.closed).toBe(0);
    await expect(handles[0]?.search("q")).resolves.toEqual([]);
    await handles[0]?.close();
    expect(managers[0]?.closed).toBe(1);
  });

  test("is opened anew after its last handle was closed", async () => {
    const { open, managers } = shared();
    await (await open()).close();
    await (await open()).close();
    expect(managers.map(({ closed }) => closed)).toEqual([1, 1]);
  });

  test("is opened anew only when the one before it has closed", async () => {
    const closing = gate();
    const { open, managers } = shared({ close: () => closing.opened });
    const first = await open();
    const ended = first.close();
    await settle();
    const second = open();
    await settle();
    expect(managers).toHaveLength(1);
    closing.open();
    await ended;
    await (await second).close();
    expect(managers).toHaveLength(2);
  });

  test("is another one for another key, another order of keys is the same", async () => {
    const { open, managers } = shared();
    const facts = (more: object): ShareOptions["key"] => ({ facts: { ...more, test: `${keys}x` }, objects: [] });
    const handles = await Promise.all([
      open({ key: facts({ a: 1, b: { c: 1, d: 2 } }) }),
      open({ key: facts({ b: { d: 2, c: 1 }, a: 1 }) }),
      open({ key: facts({ a: 1, b: { c: 1, d: 3 } }) }),
    ]);
    expect(managers).toHaveLength(2);
    await Promise.all(handles.map((handle) => handle.close()));
  });

  test("is another one for another object, however alike", async () => {
    const { open, managers } = shared();
    const [one, other] = [{ id: "x" }, { id: "x" }];
    const key = (object: object): ShareOptions["key"] => ({ facts: `${keys}y`, objects: [object] });
    const handles = await Promise.all([open({ key: key(one) }), open({ key: key(one) }), open({ key: key(other) })]);
    expect(managers).toHaveLength(2);
    await handles[2]?.close();
    const again = await open({ key: key(one) });
    expect(managers).toHaveLength(2);
    await Promise.all([again, handles[0], handles[1]].map((handle) => handle?.close()));
    expect(managers.map(({ closed }) => closed)).toEqual([1, 1]);
  });
});

describe("a failed open", () => {
  test("fails for all that waited, is forgotten, and the next call tries again", async () => {
    const { open, managers } = shared();
    let tries = 0;
    const failing = async (): Promise<Memory> => {
      tries += 1;
      await settle();
      throw new Error("disk full");
    };
    const outcomes = await Promise.allSettled([open({ open: failing }), open({ open: failing })]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(tries).toBe(1);
    const memory = await open();
    expect(managers).toHaveLength(1);
    await memory.close();
  });

  test("is a rejection also when it is thrown at once", async () => {
    const { open } = shared();
    const failing = (): never => {
      throw new Error("at once");
    };
    await expect(open({ open: failing })).rejects.toThrow("at once");
    await (await open()).close();
  });
});

describe("the abort of an open", () => {
  test("detaches its caller and leaves the instance to the others", async () => {
    const { open, managers } = shared();
    const controller = new AbortController();
    const leaving = open({ signal: controller.signal }).catch((error: unknown) => error);
    const staying = open();
    controller.abort();
    expect(isAbort(await leaving)).toBe(true);
    const memory = await staying;
    expect(managers.map(({ closed }) => closed)).toEqual([0]);
    await memory.close();
    expect(managers.map(({ closed }) => closed)).toEqual([1]);
  });

  test("by the last caller aborts the opening, and what opens all the same is closed", async () => {
    const { open } = shared();
    const manager = fakeManager();
    const opening = gate<Memory>();
    let inner: AbortSignal | undefined;
    const controller = new AbortController();
    const slow = (signal: AbortSignal): Promise<Memory> => {
      inner = signal;
      return opening.opened;
    };
    const leaving = open({ open: slow, signal: controller.signal }).catch((error: unknown) => error);
    await settle();
    controller.abort();
    expect(isAbort(await leaving)).toBe(true);
    expect(inner?.aborted).toBe(true);
    opening.open(memoryOf(manager));
    await settle();
    expect(manager.closed).toBe(1);
  });
});

describe("a handle", () => {
  test("that is closed refuses calls with CLOSED while others go on", async () => {
    const { open, managers } = shared();
    const [closed, other] = await Promise.all([open(), open()]);
    await closed.close();
    await closed.close();
    for (const call of [
      closed.search("q"),
      closed.readFile({ relPath: "a.md" }),
      closed.sync(),
      closed.probeEmbeddingAvailability(),
      closed.probeVectorAvailability(),
    ]) {
      await expect(call).rejects.toMatchObject({ code: "CLOSED" });
    }
    expect(closed.status().backend).toBe("fake");
    await expect(other.search("q")).resolves.toEqual([]);
    expect(managers[0]?.closed).toBe(0);
    await other.close();
  });

  test("that is closed ends its own running calls and not those of others", async () => {
    const running: AbortSignal[] = [];
    const answer = gate<[]>();
    const { open } = shared({
      search: (_query, { signal }) => {
        running.push(signal);
        return answer.opened;
      },
    });
    const [closing, other] = await Promise.all([open(), open()]);
    const ended = closing.search("q").catch((error: unknown) => error);
    const kept = other.search("q");
    await settle();
    await closing.close();
    expect(await ended).toMatchObject({ code: "CLOSED" });
    expect(running.map(({ aborted }) => aborted)).toEqual([true, false]);
    answer.open([]);
    await expect(kept).resolves.toEqual([]);
    await other.close();
  });

  test("closed at once after it was opened does not close what another open is about to get", async () => {
    const { open, managers } = shared();
    const first = open().then((memory) => memory.close());
    const second = await open();
    await first;
    await expect(second.search("q")).resolves.toEqual([]);
    expect(managers).toHaveLength(1);
    await second.close();
  });

  test("joins the sync of another handle", async () => {
    let syncs = 0;
    const ending = gate();
    const { open } = shared({
      sync: async () => {
        syncs += 1;
        await ending.opened;
        return undefined;
      },
    });
    const handles = await Promise.all([open(), open()]);
    const both = handles.map((handle) => handle.sync());
    await settle();
    ending.open();
    await Promise.all(both);
    expect(syncs).toBe(1);
    await Promise.all(handles.map((handle) => handle.close()));
  });

  test("passes arguments and aborts on", async () => {
    const { open } = shared({
      search: hang,
      readFile: async ({ relPath, from, lines }) => ({
        status: "ok",
        text: `${relPath} ${from} ${lines}`,
        path: relPath,
      }),
    });
    const memory = await open();
    await expect(memory.readFile({ relPath: "a.md", from: 2, lines: 3 })).resolves.toMatchObject({ text: "a.md 2 3" });
    await expect(memory.search("q", null as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(memory.search("q", { signal: 5 as never })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(memory.readFile(undefined as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    const controller = new AbortController();
    const aborted = memory.search("q", { signal: controller.signal }).catch((error: unknown) => error);
    controller.abort();
    expect(isAbort(await aborted)).toBe(true);
    await memory.close();
  });

  test("gives the error of an instance that fails to close", async () => {
    const { open } = shared({ close: async () => Promise.reject(new Error("disk gone")) });
    await expect((await open()).close()).rejects.toThrow("disk gone");
    await expect(open()).resolves.toBeDefined();
  });
});

describe("what an instance tells", () => {
  test("reaches each listener once for each text, also one that came later", async () => {
    const told: string[] = [];
    const { open } = shared();
    let tell: (line: string) => void = () => {};
    const opening: ShareOptions["open"] = async (_signal, notify) => {
      tell = notify;
      notify("no vectors");
      notify("no vectors");
      return memoryOf(fakeManager());
    };
    const first = (line: string): number => told.push(`first: ${line}`);
    const second = (line: string): number => told.push(`second: ${line}`);
    const handles = [
      await open({ open: opening, notify: first }),
      await open({ open: opening, notify: first }),
      await open({ open: opening, notify: second }),
    ];
    tell("index rebuilt");
    await handles[2]?.close();
    tell("again");
    expect(told).toEqual([
      "first: no vectors",
      "second: no vectors",
      "first: index rebuilt",
      "second: index rebuilt",
      "first: again",
    ]);
    await Promise.all(handles.map((handle) => handle.close()));
  });
});
