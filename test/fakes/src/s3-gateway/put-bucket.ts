import { createHmac } from "node:crypto";

const callMs = 60_000;

/** Makes a bucket. Signed as S3 was first: a line of it is enough for a request without a body. */
export async function putBucket(
  url: string,
  bucket: string,
  { accessKeyId, secretAccessKey }: { accessKeyId: string; secretAccessKey: string },
): Promise<void> {
  const date = new Date().toUTCString();
  const signature = createHmac("sha1", secretAccessKey).update(`PUT\n\n\n${date}\n/${bucket}`).digest("base64");
  const response = await fetch(`${url}/${bucket}`, {
    method: "PUT",
    headers: { date, authorization: `AWS ${accessKeyId}:${signature}` },
    signal: AbortSignal.timeout(callMs),
  });
  if (!response.ok) throw new Error(`the bucket ${bucket} was not made: ${response.status} ${await response.text()}`);
}
