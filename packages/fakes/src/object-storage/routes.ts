import { type ObjectAnswer, emptyAnswer, errorAnswer } from "./answer.ts";
import { type ObjectCall, accessKeyOf } from "./call.ts";
import type { ObjectTable } from "./objects.ts";
import type { ObjectStorageOptions } from "./options.ts";
import { listObjects, readObject } from "./read.ts";
import { createObjectWriter } from "./write.ts";

/** Answers requests in the words of S3: what LanceDB asks for, and no more. */
export function createRoutes(objects: ObjectTable, options: ObjectStorageOptions): (call: ObjectCall) => ObjectAnswer {
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
