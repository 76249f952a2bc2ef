import { type ObjectAnswer, element, emptyAnswer, errorAnswer, escaped, xmlAnswer } from "./answer.ts";
import type { ObjectCall } from "./call.ts";
import type { ObjectTable, StoredObject } from "./objects.ts";

/** GET and HEAD of an object, whole or a range of it. */
export function readObject(call: ObjectCall, objects: ObjectTable): ObjectAnswer {
  const object = objects.get(`${call.bucket}/${call.key}`);
  if (object === undefined) return errorAnswer(404, "NoSuchKey");
  const { "if-match": ifMatch, "if-none-match": ifNoneMatch, range } = call.headers;
  if (ifMatch !== undefined && ifMatch !== object.etag) return errorAnswer(412, "PreconditionFailed");
  if (ifNoneMatch !== undefined && ifNoneMatch === object.etag) return emptyAnswer(304, factsOf(object));
  if (range === undefined) return { status: 200, headers: factsOf(object), body: object.bytes };
  return rangeOf(object, range);
}

/** `bytes=from-to`, `bytes=from-` or `bytes=-last`; both ends are inclusive. */
function rangeOf(object: StoredObject, range: string): ObjectAnswer {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(range) ?? [];
  const size = object.bytes.length;
  const first = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if ((from === "" && to === "") || first > last) return errorAnswer(416, "InvalidRange");
  const headers = { ...factsOf(object), "content-range": `bytes ${first}-${last}/${size}` };
  return { status: 206, headers, body: object.bytes.subarray(first, last + 1) };
}

function factsOf({ etag, modified }: StoredObject): Record<string, string> {
  return {
    etag,
    "last-modified": modified.toUTCString(),
    "accept-ranges": "bytes",
    "content-type": "application/octet-stream",
  };
}

/** ListObjectsV2: a page of the keys of a bucket, with what stands before a delimiter put together. */
export function listObjects({ bucket, query }: ObjectCall, objects: ObjectTable): ObjectAnswer {
  const prefix = query.get("prefix") ?? "";
  const delimiter = query.get("delimiter") ?? "";
  const token = query.get("continuation-token") ?? "";
  const after = token === "" ? (query.get("start-after") ?? "") : token;
  const limit = Math.min(1000, Number(query.get("max-keys") ?? 1000));
  const contents: string[] = [];
  const groups = new Set<string>();
  let last = "";
  let isTruncated = false;
  for (const path of objects.paths(`${bucket}/${prefix}`, after === "" ? "" : `${bucket}/${after}`)) {
    const key = path.slice(bucket.length + 1);
    const end = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
    const group = end < 0 ? undefined : key.slice(0, end + delimiter.length);
    if (group !== undefined && (groups.has(group) || token.startsWith(group))) {
      last = key;
      continue;
    }
    if (contents.length + groups.size >= limit) {
      isTruncated = true;
      break;
    }
    last = key;
    if (group !== undefined) groups.add(group);
    else contents.push(contentOf(key, objects.get(path)));
  }
  const parts = [
    element("Name", escaped(bucket)),
    element("Prefix", escaped(prefix)),
    element("KeyCount", String(contents.length + groups.size)),
    element("MaxKeys", String(limit)),
    element("IsTruncated", String(isTruncated)),
    isTruncated ? element("NextContinuationToken", escaped(last)) : "",
    ...contents,
    ...[...groups].map((group) => element("CommonPrefixes", element("Prefix", escaped(group)))),
  ];
  return xmlAnswer(200, element("ListBucketResult", parts.join("")));
}

function contentOf(key: string, object: StoredObject | undefined): string {
  if (object === undefined) return "";
  const facts = [
    element("Key", escaped(key)),
    element("LastModified", object.modified.toISOString()),
    element("ETag", escaped(object.etag)),
    element("Size", String(object.bytes.length)),
    element("StorageClass", "STANDARD"),
  ];
  return element("Contents", facts.join(""));
}
