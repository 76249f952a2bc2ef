import { expect, test } from "vitest";
import { randomFrom, vectorsOf } from "../../../test/support/vectors.ts";
import { kernelAgrees } from "../../test/agreement.ts";
import { blockBytes, blockRows, checksumOf, encodeVector, packRows } from "../codes/code-vector.ts";

test.each([1, 8, 16, 17, 100, 768])(
  "in %i dimensions products, signs, differences and checksums are those of plain JavaScript, to the last bit",
  (dimensions) => {
    expect(kernelAgrees(dimensions)).toBe(blockRows);
  },
);

test("a checksum tells any change of a byte, and two rows that have changed places", () => {
  const rows = vectorsOf("random", 16, blockRows, randomFrom(2)).map((vector) => encodeVector(vector));
  const sum = checksumOf(new Uint8Array(packRows(rows)));
  expect(
    checksumOf(new Uint8Array(packRows(rows.toSpliced(3, 2, rows[4] ?? expect.fail(), rows[3] ?? expect.fail())))),
  ).not.toBe(sum);
  for (let byte = 0; byte < blockBytes(16); byte += 11) {
    const bytes = new Uint8Array(packRows(rows));
    bytes[byte] = (bytes[byte] ?? 0) ^ 0x10;
    expect(checksumOf(bytes)).not.toBe(sum);
  }
});
