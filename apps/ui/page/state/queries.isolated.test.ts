import { expect, onTestFinished, test, vi } from "vitest";

type Asked = { path: string; tag: string | null; answer: (status: number, body?: unknown, tag?: string) => void };

/** The query layer of a page whose server the test plays. */
async function start() {
  const asked: Asked[] = [];
  const documentElement = { dataset: {}, lang: "" };
  vi.stubGlobal("document", { documentElement });
  vi.stubGlobal("fetch", async (path: string, { headers, signal }: { headers: Headers; signal?: AbortSignal }) => {
    return await new Promise<Response>((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error));
      asked.push({
        path,
        tag: headers.get("if-none-match"),
        answer(status, body, tag) {
          if (status === 0) return reject(new TypeError("Failed to fetch"));
          const sent = body === undefined ? null : JSON.stringify(body);
          resolve(new Response(sent, { status, headers: tag === undefined ? {} : { etag: tag } }));
        },
      });
    });
  });
  vi.useFakeTimers();
  vi.resetModules();
  const client = await import("./api-client.ts");
  const { answerTo, refetch, show } = await import("./queries.ts");
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
  return { asked, ...client, answerTo, refetch, show, settle };
}

test("equal requests are one, and an answer stays in view while a newer one is requested", async () => {
  const { asked, answerTo, show, refetch, settle } = await start();
  const answer = answerTo("/api/home");
  const hide = [show("/api/home"), show("/api/home")];
  expect(answer.value).toEqual({ data: undefined, error: undefined, loading: true });
  asked[0]?.answer(200, { files: 1 }, '"one"');
  await settle();
  expect([answer.value.data, answer.value.loading]).toEqual([{ files: 1 }, false]);
  const before = answer.value.data;
  refetch();
  refetch();
  await settle();
  expect([asked.length, asked[1]?.tag, answer.value]).toEqual([
    2,
    '"one"',
    { data: before, error: undefined, loading: true },
  ]);
  asked[1]?.answer(304);
  await settle();
  // The second change came while the request was under way.
  expect(asked.length).toBe(3);
  asked[2]?.answer(200, { files: 2 }, '"two"');
  await settle();
  expect(answer.value).toEqual({ data: { files: 2 }, error: undefined, loading: false });
  for (const each of hide) each();
  refetch();
  await settle();
  expect(asked.length).toBe(3);
  // Back: the old answer at once, and a new one after it.
  show("/api/home");
  expect(answerTo("/api/home").value.data).toEqual({ files: 2 });
  expect(asked.length).toBe(4);
});

test("a server that is away leaves the answers in view, is tried again, and its return refetches all that is shown", async () => {
  const { asked, answerTo, show, refetch, session, settle } = await start();
  session.value = "open";
  show("/api/home");
  show("/api/health");
  asked[0]?.answer(200, { files: 1 });
  asked[1]?.answer(0);
  await settle();
  expect(session.value).toBe("offline");
  const unknown = { data: undefined, error: undefined, loading: true };
  expect([answerTo("/api/home").value.data, answerTo("/api/health").value]).toEqual([{ files: 1 }, unknown]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(asked.map(({ path }) => path)).toEqual(["/api/home", "/api/health", "/api/health"]);
  asked[2]?.answer(0);
  await settle();
  session.value = "open";
  await settle();
  expect(asked.slice(3).map(({ path }) => path)).toEqual(["/api/home", "/api/health"]);
  asked[3]?.answer(500, { error: { code: "INTERNAL", message: "" } });
  asked[4]?.answer(500, { error: { code: "INTERNAL", message: "" } });
  await settle();
  // Known data stays in view. Without it the failure is shown; the request is repeated in both cases.
  expect([answerTo("/api/home").value.error, answerTo("/api/home").value.data]).toEqual([undefined, { files: 1 }]);
  expect(answerTo("/api/health").value.error?.code).toBe("INTERNAL");
  refetch("/api/health");
  asked[5]?.answer(404, { error: { code: "NOT_FOUND", message: "gone" } });
  await settle();
  expect(answerTo("/api/health").value).toMatchObject({ data: undefined, error: { status: 404 }, loading: false });
});

test("a request that nothing shows any more is aborted, and one without an answer ends", async () => {
  const { asked, answerTo, show, session } = await start();
  session.value = "open";
  const hide = show("/api/search?q=a");
  hide();
  await vi.advanceTimersByTimeAsync(100);
  expect(answerTo("/api/search?q=a").value.loading).toBe(true);
  show("/api/search?q=a");
  expect(asked.length).toBe(2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(answerTo("/api/search?q=a").value.error?.code).toBe("TIMEOUT");
  expect(session.value).toBe("open");
});

test("the list of all notes is requested after the answers beside it", async () => {
  const { asked, show } = await start();
  for (const path of ["/api/notes", "/api/search?q=a"]) show(path);
  await vi.advanceTimersByTimeAsync(1000);
  expect(asked.map(({ path }) => path)).toEqual(["/api/search?q=a"]);
  asked[0]?.answer(200, {});
  await vi.advanceTimersByTimeAsync(1000);
  expect(asked.map(({ path }) => path)).toEqual(["/api/search?q=a", "/api/notes"]);
});
