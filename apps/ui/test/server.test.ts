import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { IncomingMessage, request, ServerResponse } from "node:http";
import { Socket } from "node:net";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import type { NoteChangeRecord } from "@memslot/agent-kit";
import type { Memory } from "@memslot/core";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import { expect, onTestFinished, test, vi } from "vitest";
import type {
  ChangesAnswer,
  DayAnswer,
  HomeAnswer,
  NotesAnswer,
  SearchAnswer,
  SessionsAnswer,
  TimeAnswer,
} from "../src/api-types.ts";
import { EventHub } from "../src/server/event-hub.ts";
import { changeNote, signIn, startUi, type UiServer, type UiServerOptions } from "./support/ui-server.ts";

const notes = { "MEMORY.md": "# Facts\n\nThe staging database listens on port 5544.\n", "elsewhere.md": "Outside.\n" };

/** The server with a page of one file, which needs no build, and the headers of a page that is signed in. */
async function start(
  options: Partial<UiServerOptions> = {},
): Promise<UiServer & { headers: Record<"authorization", string> }> {
  const page = tempFolder({ "index.html": '<div id="app"></div>' });
  const ui = await startUi({ notes, page, ...options });
  const { authorization = "" } = await signIn(ui);
  return Object.assign(ui, { headers: { authorization } });
}

/** Exchanges the secret in an address, or another one, as the page does. */
function login(url: string, given?: string, headers: Record<string, string> = {}) {
  const { hash, origin } = new URL(url);
  const body = JSON.stringify({ secret: given ?? new URLSearchParams(hash.slice(1)).get("secret") });
  return ask(origin, "/api/login", { body, headers: { "content-type": "application/json", origin, ...headers } });
}

type Asked = Pick<RequestInit, "method"> & { headers?: Record<string, string>; body?: string };

/** Sends exactly these headers and this path, which `fetch` would not. */
async function ask(origin: string, place: string, { headers = {}, body, method }: Asked = {}) {
  const { hostname, port } = new URL(origin);
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const options = { hostname, port, path: place, agent: false, headers: { ...headers, ...length } };
  const sent = request({ ...options, method: method ?? (body === undefined ? "GET" : "POST") }).end(body);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const bytes = await buffer(answer);
  return { status: answer.statusCode ?? 0, body: bytes.toString("utf8"), bytes };
}

async function read<T>(origin: string, headers: Record<string, string>, place: string): Promise<T> {
  return JSON.parse((await ask(origin, place, { headers })).body) as T;
}

async function statusOf(origin: string, headers: Record<string, string>, place = "/api/facts"): Promise<number> {
  return (await ask(origin, place, { headers })).status;
}

test("answers nothing to the Host or the Origin of another site, nor to a browser without the token", async () => {
  const { origin, headers } = await start();
  const { port } = new URL(origin);
  expect(await statusOf(origin, headers)).toBe(200);
  expect(await statusOf(origin, {})).toBe(401);
  // A browser sends cookies to every port.
  expect(await statusOf(origin, { cookie: headers.authorization.replace("Bearer ", "memslot-ui=") })).toBe(401);
  expect(await statusOf(origin, { authorization: headers.authorization.slice(0, -1) })).toBe(401);
  expect(await statusOf(origin, { ...headers, host: `evil.example:${port}` })).toBe(403);
  expect(await statusOf(origin, { host: "evil.example" }, "/")).toBe(403);
  expect(await statusOf(origin, { ...headers, origin: "http://evil.example" })).toBe(403);
  for (const place of ["//", "/\\\\", "//:x", "http://", "http://[", "*", "/%"])
    expect([place, await statusOf(origin, {}, place)]).toEqual([place, 200]);
});

test("lets only the page log in, with the secret of its address, once", async () => {
  const { url } = await startUi({ notes, page: tempFolder({ "index.html": "" }) });
  expect(await login(url, "wrong")).toMatchObject({ status: 401 });
  expect(await login(url, undefined, { origin: "http://evil.example" })).toMatchObject({ status: 403 });
  expect(await login(url, undefined, { "content-type": "text/plain" })).toMatchObject({ status: 403 });
  expect(await login(url, undefined, { "sec-fetch-site": "cross-site" })).toMatchObject({ status: 403 });
  expect(await login(url)).toMatchObject({ status: 200 });
  expect(await login(url)).toMatchObject({ status: 401 });
});

test("keeps a token for a restart on its port, for 7 days, until the key is another one; no other port takes it", async () => {
  const ui = await start();
  const { headers, origin, url } = ui;
  await ui.stop();
  await ui.restart();
  expect(ui.url).not.toBe(url);
  expect(await statusOf(origin, headers)).toBe(200);
  expect((await login(url)).status).toBe(401);
  await ui.stop();
  await ui.restart(0);
  const other = new URL(ui.url).origin;
  expect([other === origin, await statusOf(other, headers)]).toEqual([false, 401]);
  const valid = { ...(await signIn(ui)), origin: other };
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 7 * 24 * 3_600_000 - 60_000 });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  expect(await statusOf(other, valid)).toBe(200);
  vi.setSystemTime(Date.now() + 120_000);
  expect(await statusOf(other, valid)).toBe(401);
  vi.useRealTimers();
  expect(await statusOf(other, valid)).toBe(200);
  for (const key of ["another key of this folder", ""]) {
    writeFileSync(ui.keyFile, key);
    expect(await statusOf(other, valid)).toBe(401);
  }
});

test("answers are compressed and have a tag, an unchanged one is not sent again, and none is stored by the browser", async () => {
  const long = "# Facts\n\n".concat("The staging database listens on port 5544.\n".repeat(200));
  const { origin, headers, workspaceDir } = await start({ notes: { "MEMORY.md": long } });
  const place = `${origin}/api/notes/file?path=MEMORY.md`;
  const first = await fetch(place, { headers });
  const tag = first.headers.get("etag") ?? "";
  expect([first.headers.get("content-encoding"), first.headers.get("cache-control")]).toEqual(["gzip", "no-store"]);
  expect(await first.json()).toMatchObject({ text: long });
  const same = await fetch(place, { headers: { ...headers, "if-none-match": tag } });
  expect([same.status, await same.text(), same.headers.get("x-content-type-options")]).toEqual([304, "", "nosniff"]);
  writeFileSync(path.join(workspaceDir, "MEMORY.md"), "Changed.\n");
  const changed = await fetch(place, { headers: { ...headers, "if-none-match": tag } });
  expect([changed.status, await changed.json()]).toMatchObject([200, { text: "Changed.\n" }]);
});

test("8,000 notes are listed in less than 300 kB, and 60 kB compressed, with their titles and days", async () => {
  const words = ["harbour", "boiler", "bread", "ferry", "cello", "garden", "ladder", "kettle"];
  const many = Array.from({ length: 8000 }, (_, at) => {
    const word = words[(at * at + 3 * at) % words.length] ?? "";
    return {
      path: `memory/f${at % 40}/n${at}-${word}.md`,
      source: "memory",
      bytes: 9,
      title: `Note ${at} about ${word}`,
    };
  });
  const { origin, headers, host } = await start({
    notes: {
      "MEMORY.md": "---\ntags: [house, day]\ndate: 2026-03-05\n---\n# Facts\n",
      "memory/a.markdown": "# Long ending\n",
      "memory/2026-03-06.md": "Nothing.\n",
    },
  });
  const list = await host.memory.listFiles({ scan: false });
  const files = [...(list?.files ?? []), ...many];
  const spy = vi
    .spyOn(host.memory, "listFiles")
    .mockResolvedValue({ leftOut: [], leftOutCount: 0, more: false, files, fileCount: files.length });
  onTestFinished(() => spy.mockRestore());
  const sizes: number[] = [];
  for (const encoding of ["identity", "gzip"]) {
    const { bytes } = await ask(origin, "/api/notes", { headers: { ...headers, "accept-encoding": encoding } });
    sizes.push(bytes.length);
    const text = encoding === "gzip" ? gunzipSync(bytes) : bytes;
    const { folders, fileCount, tags } = JSON.parse(text.toString("utf8")) as NotesAnswer;
    expect([fileCount, tags]).toEqual([8003, { house: 1, day: 1 }]);
    expect(folders?.filter(({ path: folder }) => ["", "memory/"].includes(folder))).toEqual([
      { path: "", names: "MEMORY", titles: "Facts", days: "2026-03-05" },
      { path: "memory/", names: "2026-03-06/a.markdown", titles: "\nLong ending", days: "" },
    ]);
  }
  const [plain = 0, compressed = 0] = sizes;
  expect(plain).toBeLessThan(300_000);
  expect(compressed).toBeLessThan(60_000);
});

test("changes of agents are listed for each note and taken back, with a page of 50, and not where the page only looks", async () => {
  const ui = await start();
  const { origin, headers, host, workspaceDir } = ui;
  for (let at = 0; at < 52; at++)
    await changeNote(ui, { path: "MEMORY.md", old: `${5544 + at}`, text: `${5545 + at}` });
  const first = await read<ChangesAnswer>(origin, headers, "/api/changes");
  expect([first.count, first.changes.length]).toEqual([52, 50]);
  expect(first.changes[0]?.before).toBe("The staging database listens on port 5595.\n");
  const older = await read<ChangesAnswer>(origin, headers, `/api/changes?before=${first.next}&path=MEMORY.md`);
  expect([older.changes.length, older.next]).toEqual([2, undefined]);
  expect(await read(origin, headers, "/api/changes?path=other.md")).toMatchObject({ count: 0 });
  expect(await read<HomeAnswer>(origin, headers, "/api/home")).toMatchObject({
    changeCount: 52,
    pinned: [{ path: "MEMORY.md", isCut: false }],
    recent: [{ path: "MEMORY.md" }],
  });
  const changing = { ...headers, origin, "content-type": "application/json" };
  const undo = async (id: string | undefined) =>
    await ask(origin, "/api/changes/undo", { headers: changing, body: JSON.stringify({ id }) });
  expect(await undo(first.changes[0]?.id)).toMatchObject({ status: 200 });
  expect(readFileSync(path.join(workspaceDir, "MEMORY.md"), "utf8")).toContain("port 5595");
  const again = await undo(first.changes[0]?.id);
  expect([again.status, again.body]).toEqual([400, expect.stringContaining("taken back already")]);
  Object.assign(host, { readOnly: true });
  expect(await undo(first.changes[1]?.id)).toMatchObject({ status: 403 });
  Object.assign(host, { readOnly: false });
  // Without an id, the newest change would be undone.
  expect(await undo(undefined)).toMatchObject({ status: 400 });
});

test("a page is answered from the index while all files are checked, and receives the beginning and the end of the check", async () => {
  const { origin, headers, host, workspaceDir, stop, restart } = await start();
  await stop();
  writeFileSync(path.join(workspaceDir, "MEMORY.md"), "# Facts\n\nThe ferry leaves at nine.\n");
  const { memory } = host;
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const sync = memory.sync.bind(memory);
  const spy = vi.spyOn(memory, "sync").mockImplementation(async (params) => {
    await held;
    return await sync(params);
  });
  onTestFinished(() => spy.mockRestore());
  await restart();
  const asked = vi.spyOn(memory, "ask");
  const old = await read<SearchAnswer>(origin, headers, "/api/search?q=staging");
  expect([asked.mock.calls[0]?.[1]?.fresh, old.results]).toEqual([false, []]);
  const events: string[] = [];
  for await (const part of (await fetch(`${origin}/api/events`, { headers })).body?.pipeThrough(
    new TextDecoderStream(),
  ) ?? []) {
    events.push(...part.split("\n\n").filter(Boolean));
    if (events.some((event) => event.includes('"done":true'))) break;
    if (events.length >= 2) release();
  }
  expect(events[1]).toBe('data: {"type":"sync","done":false}');
  const { results } = await read<SearchAnswer>(origin, headers, "/api/search?q=ferry");
  expect([asked.mock.calls[1]?.[1]?.fresh, results.length]).toEqual([true, 1]);
});

test("a search is prepared at once without a provider, and files are checked only when the first view has its answer", async () => {
  const { origin, headers, host, stop, restart } = await start();
  await stop();
  const { memory } = host;
  const steps: string[] = [];
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const search = memory.ask.bind(memory);
  const spies = [
    vi.spyOn(memory, "ask").mockImplementation(async (...given) => {
      const isAhead = given[1]?.keywordsOnly === true;
      steps.push(isAhead ? "prepare" : "search");
      if (isAhead) return await search(...given);
      await held;
      const answer = await search(...given);
      steps.push("answer");
      return answer;
    }),
    vi.spyOn(memory, "sync").mockImplementation(async () => {
      steps.push("check");
      return { added: 0, changed: 0, removed: 0, unchanged: 1, failed: [] };
    }),
  ];
  onTestFinished(() => spies.forEach((spy) => spy.mockRestore()));
  await restart();
  const answer = ask(origin, "/api/search?q=staging", { headers });
  await vi.waitUntil(() => steps.includes("search"));
  // Other requests come and go meanwhile.
  expect((await ask(origin, "/api/notes/file?path=MEMORY.md", { headers })).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 500));
  release();
  expect((await answer).status).toBe(200);
  await vi.waitUntil(() => steps.includes("check"), 30_000);
  expect(steps).toEqual(["prepare", "search", "answer", "check"]);
});

test("a failure that no code names reaches the terminal, and the page without its text", async () => {
  const { origin, headers, host } = await start();
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
  const listFiles = vi.spyOn(host.memory, "listFiles").mockRejectedValue(new TypeError("x is not a function"));
  onTestFinished(() => [warn, listFiles].forEach((spy) => spy.mockRestore()));
  const { status, body } = await ask(origin, "/api/notes", { headers });
  expect([status, JSON.parse(body)]).toEqual([500, { error: { code: "INTERNAL", message: "", meaning: {} } }]);
  expect(warn).toHaveBeenCalledWith("GET /api/notes failed: x is not a function");
});

test("a check of the files that ends after the server sends nothing to pages that have been closed", async () => {
  let end = (): void => undefined;
  const sync = new Promise<undefined>((resolve) => (end = () => resolve(undefined)));
  const hub = new EventHub({ status: () => ({}), sync: () => sync } as unknown as Memory);
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const onError = vi.fn<(error: Error) => void>();
  response.on("error", onError);
  hub.stream(response, () => true);
  const synced = hub.sync({ reason: "test" });
  hub.close();
  end();
  await synced;
  await new Promise((resolve) => setImmediate(resolve));
  expect(onError).not.toHaveBeenCalled();
});

test("a page that is signed out gets no more events", async () => {
  const { headers, host, keyFile, origin, workspaceDir } = await start();
  const stream = (await fetch(`${origin}/api/events`, { headers })).body?.pipeThrough(new TextDecoderStream());
  const events: string[] = [];
  for await (const part of stream ?? [])
    if (events.push(part) === 1) {
      writeFileSync(keyFile, "another key of this folder");
      writeFileSync(path.join(workspaceDir, "MEMORY.md"), "Two lines.\n\nThe second.\n");
      await host.memory.sync({ reason: "test" });
    }
  expect(events).toEqual([expect.stringContaining('"status"')]);
});

test("a question that is half typed reaches no provider", async () => {
  const asked: string[] = [];
  const vectorOf = ({ length }: string): number[] => [Math.cos(length), Math.sin(length)];
  const { headers, url } = await start({
    embeddings: {
      id: "fake",
      model: "fake",
      embedBatch: async (texts) => texts.map(vectorOf),
      embedQuery: async (text) => vectorOf(asked[asked.push(text) - 1] ?? ""),
    },
  });
  const found = async (query: string): Promise<string> =>
    (await ask(new URL(url).origin, `/api/search?${query}`, { headers })).body;
  const typed = async (): Promise<string> => await found("q=staging+datab&typing=1");
  // Files are scanned between requests only.
  await expect.poll(typed, { interval: 500, timeout: 60_000 }).toContain('"mode":"keyword","state":"ok"');
  expect(asked).toEqual([]);
  expect(await found("q=staging+database")).toContain('"mode":"hybrid"');
  expect(asked).toEqual(["staging database"]);
});

test("serves no file but those of the page", async () => {
  const { origin } = await start();
  for (const place of ["/../package.json", "/assets/../../../package.json", "/%2e%2e/package.json", "/assets/x.js"]) {
    const { body, status } = await ask(origin, place);
    expect(body).not.toContain('"name"');
    expect([200, 404]).toContain(status);
    if (status === 200) expect(body).toContain('<div id="app">');
  }
  expect((await ask(origin, "/", { method: "POST" })).status).toBe(404);
});

test("returns no file but notes, and changes none where the page is read-only", async () => {
  const { origin, headers: own, workspaceDir } = await start({ readOnly: true });
  writeFileSync(path.join(workspaceDir, "../secret.md"), "secret\n");
  const names = ["../secret.md", "/etc/passwd", "memory/../../secret.md", "memory\\..\\..\\x.md", "memory/%2e%2e/x.md"];
  for (const name of [...names, "a\0.md", ".env", "elsewhere.md"]) {
    const place = `?path=${encodeURIComponent(name)}`;
    const { status, body } = await ask(origin, `/api/notes/file${place}`, { headers: own });
    expect([400, 403, 404, 409], name).toContain(status);
    const facts = await ask(origin, `/api/notes/facts${place}`, { headers: own });
    expect(body + facts.body).not.toMatch(/secret\n|root:|Outside|passages/u);
  }
  const note = await read<{ sha256: string }>(origin, own, "/api/notes/file?path=MEMORY.md");
  const headers = { ...own, origin, "content-type": "application/json" };
  const body = JSON.stringify({ path: "MEMORY.md", to: "memory/x.md", text: "x", sha256: note.sha256 });
  expect((await ask(origin, "/api/notes/file", { method: "PUT", headers, body })).status).toBe(403);
  for (const place of ["notes/file", "notes/rename", "notes/trash", "health/force", "health/fix", "health/compact"])
    expect((await ask(origin, `/api/${place}`, { headers, body })).status, place).toBe(403);
});

test("creates, renames and removes a note through the log of changes, and never over another one", async () => {
  const { origin, headers: own, workspaceDir } = await start();
  const headers = { ...own, origin, "content-type": "application/json" };
  const post = async (place: string, given: Record<string, unknown>): Promise<[number, string]> => {
    const { status, body } = await ask(origin, `/api/notes/${place}`, { headers, body: JSON.stringify(given) });
    return [status, body];
  };
  const text = "# Pump\n\nServiced in March.\n";
  const sha256 = createHash("sha256").update(text).digest("hex");
  const [first, second] = ["memory/house/pump.md", "memory/heating.md"];
  expect(await post("file", { path: first, text })).toMatchObject([200, expect.stringContaining(sha256)]);
  for (const path of [first, "../pump.md", "memory/pump.txt", "memory/.md", "elsewhere/pump.md", ""])
    expect((await post("file", { path, text }))[0], path).toBeGreaterThanOrEqual(400);
  const taken = await post("rename", { path: first, to: "MEMORY.md", sha256 });
  expect(String(taken)).toMatch(/^400,.*MEMORY\.md already exists/u);
  for (const place of ["rename", "trash"])
    expect(await post(place, { path: first, to: second, sha256: "0".repeat(64) })).toMatchObject([
      400,
      expect.stringContaining("has changed meanwhile"),
    ]);
  expect(readFileSync(path.join(workspaceDir, first), "utf8")).toBe(text);
  expect((await post("rename", { path: first, to: second, sha256 }))[0]).toBe(200);
  expect([existsSync(path.join(workspaceDir, first)), readFileSync(path.join(workspaceDir, second), "utf8")]).toEqual([
    false,
    text,
  ]);
  const [, removed] = await post("trash", { path: second, sha256 });
  const change = JSON.parse(removed) as NoteChangeRecord;
  expect(existsSync(path.join(workspaceDir, second))).toBe(false);
  expect(readFileSync(path.join(workspaceDir, change.trash ?? ""), "utf8")).toContain("Serviced in March.");
  const restored = await ask(origin, "/api/changes/restore", { headers, body: JSON.stringify({ id: change.id }) });
  expect(restored.status).toBe(200);
  expect(readFileSync(path.join(workspaceDir, second), "utf8")).toBe(text);
  const { changes } = await read<ChangesAnswer>(origin, headers, "/api/changes");
  expect(changes.filter(({ state }) => state !== "not done").map(({ kind, path: of }) => `${kind} ${of}`)).toEqual([
    `restore ${second}`,
    `delete ${second}`,
    `delete ${first}`,
    `create ${second}`,
    `create ${first}`,
  ]);
});

test("a conversation is on the days of its first and last entry in the user's time zone, whatever the time of its file", async () => {
  const { origin, headers, host } = await start({
    notes: { ...notes, "memory/2026-03-05.md": "- 09:00 The ferry.\n" },
  });
  const folder = path.join(host.config.stateDir, "agents/main/sessions");
  const entry = (timestamp: string, role: string, text: string): string =>
    `${JSON.stringify({ type: "message", timestamp, message: { role, content: [{ type: "text", text }] } })}\n`;
  writeFiles(folder, {
    "night.jsonl":
      entry("2026-03-05T22:50:00Z", "user", "Still awake?\nReally?") +
      entry("2026-03-05T23:10:00Z", "assistant", "Yes"),
    "timeless.jsonl": `${JSON.stringify({ message: { role: "user", content: "When?" } })}\n`,
  });
  Object.assign(host, { agent: { ...host.agent, userTimezone: "Europe/Berlin" } });
  const { days } = await read<TimeAnswer>(origin, headers, "/api/time");
  expect(days.map(({ day, lines, sessions }) => [day, lines, sessions])).toEqual([
    ["2026-03-05", 1, 1],
    ["2026-03-06", 0, 1],
  ]);
  const columns = await read<DayAnswer[]>(origin, headers, "/api/time/days?from=2026-03-04");
  expect(columns.map(({ day, logs, sessions }) => [day, logs.length, sessions.map(({ title }) => title)])).toEqual([
    ["2026-03-04", 0, []],
    ["2026-03-05", 1, ["Still awake?"]],
    ["2026-03-06", 0, ["Still awake?"]],
  ]);
  for (const from of ["2026-3-5", "2026-13-01", ""])
    expect((await ask(origin, `/api/time/days?from=${from}`, { headers })).status).toBe(400);
  const { sessions } = await read<SessionsAnswer>(origin, headers, "/api/sessions");
  expect(sessions.transcripts.map(({ path: name, to }) => [name, to])).toEqual([
    ["sessions/night.jsonl", "2026-03-05T23:10:00.000Z"],
    ["sessions/timeless.jsonl", undefined],
  ]);
});
