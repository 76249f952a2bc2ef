import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { WriteCondition } from "./objects.ts";

/** A request to the object storage, taken apart. */
export interface ObjectCall {
  method: string;
  bucket: string;
  /** Empty for a request to the bucket itself. */
  key: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export async function readCall(request: IncomingMessage): Promise<ObjectCall> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  const path = decodeURIComponent(url.pathname).slice(1);
  const slash = path.indexOf("/");
  return {
    method: request.method ?? "",
    bucket: slash < 0 ? path : path.slice(0, slash),
    key: slash < 0 ? "" : path.slice(slash + 1),
    query: url.searchParams,
    headers: request.headers,
    body: withoutChunks(Buffer.concat(parts), request.headers),
  };
}

export function conditionOf(headers: IncomingHttpHeaders): WriteCondition {
  return { ifNoneMatch: headers["if-none-match"] === "*", ifMatch: headers["if-match"] };
}

/** The key id that a request is signed with; its signature is not looked at. */
export function accessKeyOf(headers: IncomingHttpHeaders): string | undefined {
  return /Credential=([^/,\s]+)\//.exec(headers.authorization ?? "")?.[1];
}

/** The content of a body that is sent in signed pieces: `SIZE;signature CRLF bytes CRLF …`, the size in hexadecimal. */
function withoutChunks(body: Buffer, headers: IncomingHttpHeaders): Buffer {
  const isChunked =
    (headers["content-encoding"] ?? "").includes("aws-chunked") ||
    String(headers["x-amz-content-sha256"] ?? "").startsWith("STREAMING-");
  if (!isChunked) return body;
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = body.indexOf("\r\n", at);
    const size = lineEnd < 0 ? 0 : Number.parseInt(body.subarray(at, lineEnd).toString(), 16);
    if (!(size > 0)) return Buffer.concat(pieces);
    pieces.push(body.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
