import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { ObjectStorageOptions } from "./index.ts";

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

interface ObjectAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

interface StoredObject {
  bytes: Buffer;
  /** With the quotation marks. */
  etag: string;
  modified: Date;
}

/** Objects in memory, and the answers of S3 about them: what LanceDB asks for, and no more. */
export function answerer({ accessKeyId, buckets, conditionalWrites = "kept" }: ObjectStorageOptions): {
  answer(call: ObjectCall): ObjectAnswer;
  keys(bucket: string, prefix: string): string[];
} {
  const objects = new Map<string, StoredObject>();
  /** Parts of uploads that are under way, by number. */
  const uploads = new Map<string, Map<number, Buffer>>();
  const keys = (bucket: string, prefix: string): string[] =>
    [...objects.keys()]
      .filter((path) => path.startsWith(`${bucket}/${prefix}`))
      .map((path) => path.slice(bucket.length + 1))
      .toSorted();

  /** One step: no request sees half of it. */
  function write(call: ObjectCall, bytes: Buffer, written: (etag: string) => ObjectAnswer): ObjectAnswer {
    const { "if-none-match": ifNoneMatch, "if-match": ifMatch } = call.headers;
    const path = `${call.bucket}/${call.key}`;
    const current = objects.get(path);
    if (conditionalWrites === "unsupported" && (ifNoneMatch ?? ifMatch) !== undefined)
      return errorAnswer(501, "NotImplemented");
    if (conditionalWrites === "kept") {
      if (ifNoneMatch === "*" && current) return errorAnswer(412, "PreconditionFailed");
      if (ifMatch !== undefined && !current) return errorAnswer(404, "NoSuchKey");
      if (ifMatch !== undefined && current?.etag !== ifMatch) return errorAnswer(412, "PreconditionFailed");
    }
    const etag = etagOf(bytes);
    objects.set(path, { bytes, etag, modified: new Date() });
    return written(etag);
  }

  function put(call: ObjectCall): ObjectAnswer {
    const { query, headers, body } = call;
    const part = query.get("partNumber");
    if (part !== null) {
      uploads.get(query.get("uploadId") ?? "")?.set(Number(part), body);
      return emptyAnswer(200, { etag: etagOf(body) });
    }
    const from = headers["x-amz-copy-source"];
    if (from === undefined) return write(call, body, (etag) => emptyAnswer(200, { etag }));
    const source = objects.get(decodeURIComponent(String(from)).replace(/^\//, ""));
    if (source === undefined) return errorAnswer(404, "NoSuchKey");
    return write(call, source.bytes, (etag) => xmlAnswer({ CopyObjectResult: { ETag: etag } }));
  }

  function post(call: ObjectCall): ObjectAnswer {
    const { bucket: Bucket, key: Key, query } = call;
    if (query.has("uploads")) {
      const UploadId = `upload-${uploads.size}`;
      uploads.set(UploadId, new Map());
      return xmlAnswer({ InitiateMultipartUploadResult: { Bucket, Key, UploadId } });
    }
    const parts = [...(uploads.get(query.get("uploadId") ?? "") ?? [])].toSorted(([a], [b]) => a - b);
    const whole = Buffer.concat(parts.map(([, bytes]) => bytes));
    return write(call, whole, (ETag) => xmlAnswer({ CompleteMultipartUploadResult: { Key, ETag } }));
  }

  function remove(bucket: string, removed: readonly string[]): ObjectAnswer {
    for (const key of removed) objects.delete(`${bucket}/${key}`);
    return xmlAnswer({ DeleteResult: { Deleted: removed.map((Key) => ({ Key })) } });
  }

  /** ListObjectsV2: a page of the keys of a bucket, with a group for what is before a delimiter. */
  function list({ bucket, query }: ObjectCall): ObjectAnswer {
    const [prefix, delimiter] = [query.get("prefix") ?? "", query.get("delimiter") ?? ""];
    const token = query.get("continuation-token") ?? "";
    const after = token || (query.get("start-after") ?? "");
    const limit = Math.min(1000, Number(query.get("max-keys") ?? 1000));
    const Contents: object[] = [];
    const groups = new Set<string>();
    let last = "";
    let isTruncated = false;
    for (const key of keys(bucket, prefix).filter((each) => each > after)) {
      const end = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
      const group = end < 0 ? undefined : key.slice(0, end + delimiter.length);
      const isKnown = group !== undefined && (groups.has(group) || token.startsWith(group));
      if (!isKnown && Contents.length + groups.size >= limit) {
        isTruncated = true;
        break;
      }
      last = key;
      if (isKnown) continue;
      const object = objects.get(`${bucket}/${key}`);
      if (group !== undefined) groups.add(group);
      else if (object)
        Contents.push({
          Key: key,
          LastModified: object.modified.toISOString(),
          ETag: object.etag,
          Size: object.bytes.length,
          StorageClass: "STANDARD",
        });
    }
    return xmlAnswer({
      ListBucketResult: {
        Name: bucket,
        Prefix: prefix,
        KeyCount: Contents.length + groups.size,
        MaxKeys: limit,
        IsTruncated: isTruncated,
        NextContinuationToken: isTruncated ? last : [],
        Contents,
        CommonPrefixes: Array.from(groups, (Prefix) => ({ Prefix })),
      },
    });
  }

  function answer(call: ObjectCall): ObjectAnswer {
    const { method, bucket, key, query, headers, body } = call;
    const signedWith = /Credential=([^/,\s]+)\//.exec(headers.authorization ?? "")?.[1];
    if (accessKeyId !== undefined && signedWith !== accessKeyId) return errorAnswer(403, "InvalidAccessKeyId");
    if (buckets !== undefined && !buckets.includes(bucket)) return errorAnswer(404, "NoSuchBucket");
    if (key === "" && method === "GET") return list(call);
    if (key === "" && method === "HEAD") return emptyAnswer(200);
    if (key === "" && method === "POST" && query.has("delete"))
      return remove(
        bucket,
        Array.from(body.toString().matchAll(/<Key>([^<]*)<\/Key>/g), ([, each = ""]) => unescaped(each)),
      );
    if (key === "") return errorAnswer(405, "MethodNotAllowed");
    if (method === "GET" || method === "HEAD") return readObject(call, objects.get(`${bucket}/${key}`));
    if (method === "POST") return post(call);
    if (method === "PUT") return put(call);
    if (!query.has("uploadId")) remove(bucket, [key]);
    return emptyAnswer(204);
  }

  return { answer, keys };
}

/** An object, whole or a range of it: `bytes=from-to`, `bytes=from-` or `bytes=-last`; both ends are inclusive. */
function readObject({ headers }: ObjectCall, object: StoredObject | undefined): ObjectAnswer {
  if (object === undefined) return errorAnswer(404, "NoSuchKey");
  const { bytes, etag, modified } = object;
  const facts = { etag, "last-modified": modified.toUTCString(), "accept-ranges": "bytes" };
  if (![undefined, etag].includes(headers["if-match"])) return errorAnswer(412, "PreconditionFailed");
  if (headers["if-none-match"] === etag) return emptyAnswer(304, facts);
  if (headers.range === undefined) return { status: 200, headers: facts, body: bytes };
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(headers.range) ?? [];
  const size = bytes.length;
  const first = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if ((from === "" && to === "") || first > last) return errorAnswer(416, "InvalidRange");
  const range = { ...facts, "content-range": `bytes ${first}-${last}/${size}` };
  return { status: 206, headers: range, body: bytes.subarray(first, last + 1) };
}

function etagOf(bytes: Buffer): string {
  return `"${createHash("md5").update(bytes).digest("hex")}"`;
}

function emptyAnswer(status: number, headers: Record<string, string> = {}): ObjectAnswer {
  return { status, headers, body: Buffer.alloc(0) };
}

function errorAnswer(status: number, Code: string): ObjectAnswer {
  return { ...xmlAnswer({ Error: { Code, Message: Code } }), status };
}

function xmlAnswer(content: object): ObjectAnswer {
  const body = Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>${xmlOf(content)}`);
  return { status: 200, headers: { "content-type": "application/xml" }, body };
}

const entities: readonly [string, string][] = [
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&apos;"],
];

/** An object as elements by name; a list is the same element several times. */
function xmlOf(content: unknown): string {
  if (typeof content !== "object" || content === null)
    return entities.reduce((text, [character, entity]) => text.replaceAll(character, entity), String(content));
  return Object.entries(content)
    .flatMap(([name, value]) => [value].flat().map((each: unknown) => `<${name}>${xmlOf(each)}</${name}>`))
    .join("");
}

function unescaped(text: string): string {
  return entities.reduceRight((whole, [character, entity]) => whole.replaceAll(entity, character), text);
}
