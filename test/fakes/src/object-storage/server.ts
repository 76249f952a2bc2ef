import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { readCall, type ObjectCall, accessKeyOf } from "./call.ts";
import { createObjectTable, type ObjectTable } from "./objects.ts";
import type { ObjectRequest, ObjectStorage, ObjectStorageOptions } from "./options.ts";
import { type ObjectAnswer, emptyAnswer, errorAnswer } from "./answer.ts";
import { listObjects, readObject } from "./read.ts";
import { createObjectWriter } from "./write.ts";

const defaultMaxBytes = 256 * 1024 * 1024;
const maxLogLength = 20_000;

/**
 * A fake: an object storage in memory, on 127.0.0.1, that speaks as much of S3 as LanceDB needs: conditional writes,
 * ranges, ListObjectsV2, uploads in parts, copies, deletions by the list. Signatures are not checked.
 */
export async function startObjectStorage(options: ObjectStorageOptions = {}): Promise<ObjectStorage> {
  const objects = createObjectTable(options.maxBytes ?? defaultMaxBytes);
  const answerOf = createRoutes(objects, options);
  const closing = new AbortController();
  const log: ObjectRequest[] = [];
  const methods: Record<string, number> = {};
  const counts = { requests: 0, conditionalWrites: 0, refusedWrites: 0, inFlight: 0, maxInFlight: 0 };
  const hanging = new Set<ServerResponse>();
  let state: "up" | "refuse" | "hang" = "up";

  function record(request: IncomingMessage): ObjectRequest {
    const { method = "", url = "", headers } = request;
    const isWrite = method === "PUT" || method === "POST";
    const name = (["if-none-match", "if-match"] as const).find((each) => headers[each] !== undefined);
    const condition = isWrite && name !== undefined ? `${name}: ${headers[name]}` : undefined;
    const entry: ObjectRequest = { method, path: url, condition, at: Date.now() };
    log.push(entry);
    if (log.length > maxLogLength) log.splice(0, maxLogLength / 10);
    counts.requests++;
    methods[method] = (methods[method] ?? 0) + 1;
    if (condition !== undefined) counts.conditionalWrites++;
    return entry;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    counts.maxInFlight = Math.max(counts.maxInFlight, ++counts.inFlight);
    response.on("close", () => {
      counts.inFlight--;
      hanging.delete(response);
    });
    const entry = record(request);
    const stateAtCall = state;
    const call = await readCall(request);
    if (options.latencyMs) await sleep(options.latencyMs, undefined, { signal: closing.signal });
    if (stateAtCall === "hang" && state === "hang") return void hanging.add(response);
    if (stateAtCall !== "up" || state !== "up") return void response.destroy();
    const { status, headers, body } = answerOf(call);
    entry.status = status;
    if (status === 412) counts.refusedWrites++;
    response.writeHead(status, { ...headers, "content-length": body.length });
    response.end(call.method === "HEAD" ? undefined : body);
  }

  const server = createServer((request, response) => {
    // A client that goes away in mid-request, or a server that is closing, leaves nobody to answer.
    serve(request, response).catch(() => response.destroy());
  });
  // Longer than any test: a client must not meet a connection that is just being given up.
  server.keepAliveTimeout = 65_000;
  server.on("connection", (socket) => {
    if (state === "refuse") socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
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
      requests: counts.requests,
      methods: { ...methods },
      conditionalWrites: counts.conditionalWrites,
      refusedWrites: counts.refusedWrites,
      objects: objects.count(),
      bytes: objects.bytes(),
      maxInFlight: counts.maxInFlight,
    }),
    keys: (bucket, prefix) => objects.paths(`${bucket}/${prefix}`, "").map((path) => path.slice(bucket.length + 1)),
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
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Answers requests in the words of S3: what LanceDB asks for, and no more. */
function createRoutes(objects: ObjectTable, options: ObjectStorageOptions): (call: ObjectCall) => ObjectAnswer {
  const writer = createObjectWriter(objects, options.conditionalWrites ?? "kept");
  return (call) => {
    const { method, key, query, headers } = call;
    if (options.accessKeyId !== undefined && accessKeyOf(headers) !== options.accessKeyId)
      return errorAnswer(403, "InvalidAccessKeyId");
    if (options.buckets !== undefined && !options.buckets.includes(call.bucket))
      return errorAnswer(404, "NoSuchBucket");
    if (key === "") return bucketAnswer(call);
    if (method === "GET" || method === "HEAD") return readObject(call, objects);
    if (method === "DELETE") return query.has("uploadId") ? emptyAnswer(204) : writer.delete(call);
    if (method === "POST" && query.has("uploads")) return writer.startUpload(call);
    if (method === "POST" && query.has("uploadId")) return writer.finishUpload(call);
    if (method !== "PUT") return errorAnswer(405, "MethodNotAllowed");
    if (query.has("partNumber")) return writer.putPart(call);
    return headers["x-amz-copy-source"] === undefined ? writer.put(call) : writer.copy(call);
  };

  function bucketAnswer(call: ObjectCall): ObjectAnswer {
    if (call.method === "GET") return listObjects(call, objects);
    if (call.method === "HEAD") return emptyAnswer(200);
    if (call.method === "POST" && call.query.has("delete")) return writer.deleteMany(call);
    return errorAnswer(405, "MethodNotAllowed");
  }
}
