import { EmbeddingError } from "@memslot/core";
import { answerLines, limitAnswer, smallAnswerBytes, vectorAnswerBytes } from "@memslot/core/providers";
import { describe, expect, test } from "vitest";

/** A body without an end, that counts what was taken of it. */
function endless(part: Uint8Array): { body: ReadableStream<Uint8Array>; given: () => number; isClosed: () => boolean } {
  let given = 0;
  let isClosed = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        given += part.length;
        controller.enqueue(part);
      },
      cancel: () => void (isClosed = true),
    },
    { highWaterMark: 0 },
  );
  return { body, given: () => given, isClosed: () => isClosed };
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("an answer that is too long", () => {
  test.each([1000, 65_536])("is read to the limit and by no more than some parts of %i bytes beyond", async (size) => {
    const { body, given, isClosed } = endless(new Uint8Array(size));
    const answer = await limitAnswer(new Response(body), { who: "box:80", limitBytes: 1_000_000 });
    const error = await failureOf(answer.text());
    expect(EmbeddingError.is(error, "transient")).toBe(true);
    expect(error).toMatchObject({ hasCost: true, message: expect.stringMatching(/^box:80 sends more than 1\.0 MB/) });
    expect(given()).toBeGreaterThan(1_000_000);
    expect(given()).toBeLessThanOrEqual(1_000_000 + 4 * size);
    expect(isClosed()).toBe(true);
  });

  test("by what it announces is not read at all", async () => {
    const { body, given, isClosed } = endless(new Uint8Array(10));
    const response = new Response(body, { headers: { "content-length": "1000001" } });
    const error = await failureOf(limitAnswer(response, { who: "box", limitBytes: 1_000_000 }));
    expect(EmbeddingError.is(error, "transient")).toBe(true);
    expect([given(), isClosed()]).toEqual([0, true]);
  });

  test("because a line of it has no end is not read on", async () => {
    const { body, given } = endless(new TextEncoder().encode("x".repeat(10_000)));
    const lines = answerLines(body, { who: "box", dimensions: 8 });
    expect(EmbeddingError.is(await failureOf(lines.next()), "transient")).toBe(true);
    expect(given()).toBeLessThan(2 * smallAnswerBytes);
  });
});

test("an answer within the limit comes as it is, status and headers too", async () => {
  const response = new Response("words", { status: 429, headers: { "retry-after": "3", "content-length": "5" } });
  const answer = await limitAnswer(response, { who: "box", limitBytes: 5 });
  expect([answer.status, answer.headers.get("retry-after"), await answer.text()]).toEqual([429, "3", "words"]);
  expect((await limitAnswer(new Response(null, { status: 204 }), { who: "box", limitBytes: 0 })).status).toBe(204);
});

test("there is room for every vector that was asked for, with all its digits", () => {
  const vector = Array.from({ length: 3072 }, (_, index) => -Math.PI / (index + 1) / 1e9);
  const data = Array.from({ length: 100 }, (_, index) => ({ object: "embedding", index, embedding: vector }));
  const bytes = JSON.stringify({ data }, undefined, 1).length;
  expect(vectorAnswerBytes({ texts: 100, dimensions: 3072 })).toBeGreaterThan(bytes);
  expect(vectorAnswerBytes({ texts: 1, dimensions: undefined })).toBeLessThan(2 * smallAnswerBytes);
});

test("the lines of a file are whole, wherever the network cuts them", async () => {
  const bytes = new TextEncoder().encode('{"a":"🙂"}\n{"b":"ü"}\n\n{"c":1}');
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.slice(index * size, (index + 1) * size),
    );
    const lines: string[] = [];
    const about = { who: "box", dimensions: 2 };
    for await (const line of answerLines(ReadableStream.from(parts), about)) lines.push(line);
    expect(lines).toEqual(['{"a":"🙂"}', '{"b":"ü"}', '{"c":1}']);
  }
});
