import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer as readBody } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { answerer, type ObjectCall } from "./s3-answers.ts";

export interface ObjectStorageOptions {
  /** `ignored`: a write ignores `If-None-Match` and `If-Match`. `unsupported`: it is answered with 501. Default: `kept`. */
  conditionalWrites?: "kept" | "ignored" | "unsupported" | undefined;
  /** Milliseconds before each answer. */
  latencyMs?: number | undefined;
  /** Requests that are signed with another one get 403. Absent: all are accepted. */
  accessKeyId?: string | undefined;
  /** The existing buckets. Absent: each one exists. */
  buckets?: readonly string[] | undefined;
}

/** A request, and how it was answered. */
interface ObjectRequest {
  method: string;
  /** With the query, as it was sent. */
  path: string;
  /** `if-none-match` or `if-match` of a write, with its value. */
  condition?: string | undefined;
  /** Absent for one without an answer. */
  status?: number | undefined;
}

export interface ObjectStorage {
  /** `http://127.0.0.1:PORT`. A bucket is the first part of the path. */
  readonly url: string;
  /** All requests, oldest first. */
  readonly log: readonly ObjectRequest[];
  /** The storage options of LanceDB for `s3://any-bucket`. */
  storageOptions(): Record<string, string>;
  /** Counts of requests, of writes with a condition, and of those that got 412. */
  stats(): { requests: number; conditionalWrites: number; refusedWrites: number };
  /** The keys of a bucket that begin so, in order. */
  keys(bucket: string, prefix: string): string[];
  /** From now on no request is answered: `refuse` breaks each connection, `hang` lets it wait. */
  down(how: "refuse" | "hang"): void;
  /** Answers again. Waiting requests are broken off. */
  up(): void;
  stop(): Promise<void>;
}

/**
 * A fake: an object storage in memory, on 127.0.0.1, with the part of S3 that LanceDB needs: conditional writes, ranges,
 * ListObjectsV2, uploads in parts, copies, deletions by list. Signatures are not checked.
 */
export async function startObjectStorage(options: ObjectStorageOptions = {}): Promise<ObjectStorage> {
  const { answer, keys } = answerer(options);
  const closing = new AbortController();
  const log: ObjectRequest[] = [];
  const hanging = new Set<ServerResponse>();
  let state: "up" | "refuse" | "hang" = "up";

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("close", () => void hanging.delete(response));
    const { method = "", url: path = "", headers } = request;
    const name = (["if-none-match", "if-match"] as const).find((each) => headers[each] !== undefined);
    const isConditional = ["PUT", "POST"].includes(method) && name !== undefined;
    const entry: ObjectRequest = { method, path, condition: isConditional ? `${name}: ${headers[name]}` : undefined };
    log.push(entry);
    const stateAtCall = state;
    const call = await readCall(request);
    if (options.latencyMs) await sleep(options.latencyMs, undefined, { signal: closing.signal });
    if (stateAtCall === "hang" && state === "hang") return void hanging.add(response);
    if (stateAtCall !== "up" || state !== "up") return void response.destroy();
    const given = answer(call);
    entry.status = given.status;
    response.writeHead(given.status, { ...given.headers, "content-length": given.body.length });
    response.end(method === "HEAD" ? undefined : given.body);
  }

  // A client that leaves in mid-request, or a server that is closing: no client waits for the answer.
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  // Longer than any test: a client must not meet a connection that is being closed.
  server.keepAliveTimeout = 65_000;
  server.on("connection", (socket) => state === "refuse" && socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    log,
    storageOptions: () => ({
      endpoint: url,
      allow_http: "true",
      region: "us-east-1",
      access_key_id: options.accessKeyId ?? "test-key",
      secret_access_key: "test-secret",
    }),
    stats: () => ({
      requests: log.length,
      conditionalWrites: log.filter(({ condition }) => condition !== undefined).length,
      refusedWrites: log.filter(({ status }) => status === 412).length,
    }),
    keys,
    down(how) {
      state = how;
      if (how === "refuse") server.closeAllConnections();
    },
    up() {
      state = "up";
      for (const response of hanging) response.destroy();
    },
    async stop() {
      closing.abort();
      server.closeAllConnections();
      await new Promise<unknown>((resolve) => server.close(resolve));
    },
  };
}

async function readCall(request: IncomingMessage): Promise<ObjectCall> {
  const { method = "", headers } = request;
  const body = await readBody(request);
  const { pathname, searchParams: query } = new URL(request.url ?? "/", "http://127.0.0.1");
  const [, bucket = "", key = ""] = /^([^/]*)\/?(.*)$/s.exec(decodeURIComponent(pathname).slice(1)) ?? [];
  const isSigned =
    (headers["content-encoding"] ?? "").includes("aws-chunked") ||
    String(headers["x-amz-content-sha256"]).startsWith("STREAMING-");
  return { method, bucket, key, query, headers, body: isSigned ? withoutChunks(body) : body };
}

/** The content of a body in signed pieces: `SIZE;signature CRLF bytes CRLF …`, the size in hexadecimal. */
function withoutChunks(body: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = body.indexOf("\r\n", at);
    const size = lineEnd < 0 ? 0 : Number.parseInt(body.subarray(at, lineEnd).toString(), 16);
    if (!(size > 0)) return Buffer.concat(pieces);
    pieces.push(body.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
