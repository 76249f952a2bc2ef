import { type ObjectAnswer, element, emptyAnswer, errorAnswer, escaped, unescaped, xmlAnswer } from "./answer.ts";
import { type ObjectCall, conditionOf } from "./call.ts";
import type { ObjectStorageOptions } from "./options.ts";
import { etagOf, type ObjectTable, type StoredObject, type WriteOutcome } from "./objects.ts";

type ConditionSupport = NonNullable<ObjectStorageOptions["conditionalWrites"]>;

/** Writes, copies and deletions. */
export interface ObjectWriter {
  put(call: ObjectCall): ObjectAnswer;
  copy(call: ObjectCall): ObjectAnswer;
  delete(call: ObjectCall): ObjectAnswer;
  deleteMany(call: ObjectCall): ObjectAnswer;
  startUpload(call: ObjectCall): ObjectAnswer;
  putPart(call: ObjectCall): ObjectAnswer;
  finishUpload(call: ObjectCall): ObjectAnswer;
}

export function createObjectWriter(objects: ObjectTable, conditions: ConditionSupport): ObjectWriter {
  /** Parts of uploads that are under way, by number. */
  const uploads = new Map<string, Map<number, Buffer>>();
  let uploadCount = 0;

  function write(call: ObjectCall, bytes: Buffer): WriteOutcome {
    const condition = conditions === "ignored" ? {} : conditionOf(call.headers);
    if (conditions === "unsupported" && (condition.ifNoneMatch || condition.ifMatch !== undefined))
      return { refused: "unsupported" };
    return objects.put(`${call.bucket}/${call.key}`, bytes, condition);
  }

  function uploadOf(call: ObjectCall): Map<number, Buffer> | undefined {
    return uploads.get(call.query.get("uploadId") ?? "");
  }

  return {
    put: (call) => answerTo(write(call, call.body), ({ etag }) => emptyAnswer(200, { etag })),
    copy(call) {
      const source = decodeURIComponent(String(call.headers["x-amz-copy-source"])).replace(/^\//, "");
      const object = objects.get(source);
      if (object === undefined) return errorAnswer(404, "NoSuchKey");
      return answerTo(write(call, object.bytes), ({ etag }) =>
        xmlAnswer(200, element("CopyObjectResult", element("ETag", escaped(etag)))),
      );
    },
    delete({ bucket, key }) {
      objects.delete(`${bucket}/${key}`);
      return emptyAnswer(204);
    },
    deleteMany({ bucket, body }) {
      const keys = [...body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = ""]) => unescaped(key));
      for (const key of keys) objects.delete(`${bucket}/${key}`);
      const deleted = keys.map((key) => element("Deleted", element("Key", escaped(key))));
      return xmlAnswer(200, element("DeleteResult", deleted.join("")));
    },
    startUpload({ bucket, key }) {
      const id = `upload-${++uploadCount}`;
      uploads.set(id, new Map());
      const parts = [element("Bucket", escaped(bucket)), element("Key", escaped(key)), element("UploadId", id)];
      return xmlAnswer(200, element("InitiateMultipartUploadResult", parts.join("")));
    },
    putPart(call) {
      const upload = uploadOf(call);
      if (upload === undefined) return errorAnswer(404, "NoSuchUpload");
      upload.set(Number(call.query.get("partNumber")), call.body);
      return emptyAnswer(200, { etag: etagOf(call.body) });
    },
    finishUpload(call) {
      const upload = uploadOf(call);
      if (upload === undefined) return errorAnswer(404, "NoSuchUpload");
      const parts = [...upload].toSorted(([a], [b]) => a - b).map(([, bytes]) => bytes);
      const outcome = write(call, Buffer.concat(parts));
      if ("written" in outcome) uploads.delete(call.query.get("uploadId") ?? "");
      return answerTo(outcome, ({ etag }) => {
        const facts = element("Key", escaped(call.key)) + element("ETag", escaped(etag));
        return xmlAnswer(200, element("CompleteMultipartUploadResult", facts));
      });
    },
  };
}

function answerTo(outcome: WriteOutcome, written: (object: StoredObject) => ObjectAnswer): ObjectAnswer {
  if ("written" in outcome) return written(outcome.written);
  if (outcome.refused === "missing") return errorAnswer(404, "NoSuchKey");
  if (outcome.refused === "unsupported") return errorAnswer(501, "NotImplemented");
  if (outcome.refused === "full") return errorAnswer(400, "EntityTooLarge");
  return errorAnswer(412, "PreconditionFailed");
}
