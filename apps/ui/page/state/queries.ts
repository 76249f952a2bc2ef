import { type Signal, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { AskError, askNewer, session } from "./api-client.ts";

/** The answer to a request. Without `data` and `error` it is unknown: show a skeleton, never "none". */
export interface Answer<T> {
  /** Stays while a newer answer is requested, and while the server fails or is away. */
  data: T | undefined;
  /** Only if there is no data to show. While the server is away, the shell reports that. */
  error: AskError | undefined;
  /** A request is under way or will be repeated. */
  loading: boolean;
}

interface Query {
  readonly path: string;
  readonly answer: Signal<Answer<unknown>>;
  /** Mounted components that show it. */
  users: number;
  /** Requested once more when it is shown, or after the running request. */
  isStale: boolean;
  finishedAt: number;
  tag?: string | undefined;
  running?: AbortController | undefined;
  failures: number;
  timer?: ReturnType<typeof setTimeout> | undefined;
}

/** Unused answers that are kept for Back and for other views. */
const mostUnused = 60;
/** A younger answer is shown again without a request. Events report changes meanwhile. */
const freshMs = 10_000;
/** A query that a moving view takes up again at once is not aborted. */
const abortAfterMs = 30;
const retryMs = { first: 1000, most: 30_000 };
const deadlineMs = 60_000;
/** The list of all notes keeps the server busy: it is requested when other answers are shown. */
const lastPath = "/api/notes";
const lastAfterMs = 100;

const queries = new Map<string, Query>();

/**
 * The answer to a GET request, shared by all views and kept between them. It is requested again after a change of the
 * index, after a reconnection, and with growing pauses after a failure of the server. `undefined`: no request.
 * `keep`: shows the answer to the path before until this one has its own.
 */
export function useQuery<T>(path: string | undefined, { keep = false } = {}): Answer<T> {
  const before = useRef<T | undefined>(undefined);
  useEffect(() => (path === undefined ? undefined : show(path)), [path]);
  if (path === undefined) return { data: (before.current = undefined), error: undefined, loading: false };
  const { data, error, loading } = answerTo(path).value as Answer<T>;
  if (data !== undefined || error !== undefined) before.current = data;
  return { data: data ?? (keep ? before.current : undefined), error, loading };
}

/** The answer at a path. The request begins with the first call: before a component is painted, or ahead of its view. */
export function answerTo(path: string): Signal<Answer<unknown>> {
  return queryAt(path).answer;
}

/** Shows data that came with the answer to another request, until this path is requested again. */
export function setAnswer(path: string, data: unknown): void {
  const query = queryAt(path);
  query.running?.abort();
  query.tag = undefined;
  query.answer.value = { data, error: undefined, loading: false };
}

/** Requests shown answers again, and the others when they are shown. `path`: only answers whose path begins so. */
export function refetch(path = "/api/"): void {
  for (const query of queries.values())
    if (query.path.startsWith(path)) {
      query.isStale = true;
      if (query.users > 0) request(query);
    }
}

function request(query: Query): void {
  if (query.path === lastPath) setTimeout(requestLast, lastAfterMs);
  else void run(query);
}

function requestLast(): void {
  const last = queries.get(lastPath);
  const isBusy = queries.values().some(({ running }) => running !== undefined);
  if (!isBusy && last?.isStale === true && last.timer === undefined) void run(last);
}

function queryAt(path: string): Query {
  const known = queries.get(path);
  if (known !== undefined) return known;
  const answer = signal<Answer<unknown>>({ data: undefined, error: undefined, loading: true });
  const query: Query = { path, answer, users: 0, isStale: true, finishedAt: 0, failures: 0 };
  queries.set(path, query);
  request(query);
  return query;
}

/** Keeps an answer up to date until the returned function is called. */
export function show(path: string): () => void {
  const query = queryAt(path);
  // The last used ones are the last to be forgotten.
  queries.delete(path);
  queries.set(path, query);
  query.users += 1;
  if (query.running === undefined && Date.now() - query.finishedAt > freshMs) query.isStale = true;
  if (query.isStale) request(query);
  return () => {
    query.users -= 1;
    setTimeout(() => {
      if (query.users === 0) query.running?.abort();
      const unused = [...queries.values()].filter(({ users }) => users === 0);
      for (const { path: old } of unused.slice(0, -mostUnused)) queries.delete(old);
    }, abortAfterMs);
  };
}

async function run(query: Query): Promise<void> {
  if (query.running !== undefined) return;
  clearTimeout(query.timer);
  const running = new AbortController();
  Object.assign(query, { running, isStale: false, timer: undefined });
  const { answer } = query;
  if (!answer.peek().loading) answer.value = { ...answer.peek(), loading: true };
  const late = setTimeout(() => running.abort(new AskError(504, "TIMEOUT")), deadlineMs);
  try {
    const { data = answer.peek().data, tag = query.tag } = await askNewer(query.path, {
      tag: query.tag,
      signal: running.signal,
    });
    // The server ends and answers nothing.
    if (data === undefined) throw new AskError(0, "OFFLINE");
    Object.assign(query, { tag, failures: 0, finishedAt: Date.now() });
    answer.value = { data, error: undefined, loading: false };
  } catch (error) {
    answer.value = afterFailure(query, error);
  }
  clearTimeout(late);
  query.running = undefined;
  if (query.isStale && query.users > 0 && query.timer === undefined) void run(query);
  setTimeout(requestLast, lastAfterMs);
}

function afterFailure(query: Query, error: unknown): Answer<unknown> {
  const { data } = query.answer.peek();
  query.isStale = true;
  if (!(error instanceof AskError)) return { data, error: undefined, loading: data === undefined }; // Aborted.
  const isLasting = error.status >= 400 && error.status < 500;
  // Data that no longer exists must not stay in view.
  if (isLasting) {
    Object.assign(query, { isStale: false, finishedAt: Date.now(), tag: undefined });
    return { data: undefined, error, loading: false };
  }
  const pause = Math.min(retryMs.most, retryMs.first * 2 ** query.failures++);
  query.timer = setTimeout(() => {
    query.timer = undefined;
    if (query.users > 0) void run(query);
  }, pause);
  return { data, error: data === undefined && error.status > 0 ? error : undefined, loading: true };
}

let wasAway = false;
effect(() => {
  const isOpen = session.value === "open";
  if (isOpen && wasAway) refetch();
  wasAway = !isOpen;
});
