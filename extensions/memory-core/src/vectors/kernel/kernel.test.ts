import { expect, test } from "vitest";
import { randomFrom, vectorsOf } from "../../../test/support/vectors.ts";
import { writeSigns } from "../codes/bit-thresholds.ts";
import {
  bitWidth,
  blockBytes,
  blockRows,
  checksumOf,
  codeWidth,
  encodeQuestion,
  encodeVector,
  packRows,
  productOf,
} from "../codes/code-vector.ts";
import { openKernel } from "./kernel.ts";
import { webAssembly } from "./web-assembly.ts";

const at = { question: 0, out: 65_536, bits: 131_072, thresholds: 40_000, block: 262_144 };

function memoryOf(bytes: number): { memory: Uint8Array; kernel: ReturnType<typeof openKernel> } {
  const pages = Math.ceil(bytes / 65_536);
  const shared = new (webAssembly().Memory)({ initial: pages, maximum: pages, shared: true });
  return { memory: new Uint8Array(shared.buffer), kernel: openKernel(shared) };
}

test.each([1, 8, 16, 17, 100, 768, 4096])(
  "in %i dimensions products, signs, differences and checksums are those of plain JavaScript, to the last bit",
  (dimensions) => {
    const width = codeWidth(dimensions);
    const [question, ...vectors] = vectorsOf("clustered", dimensions, blockRows + 1, randomFrom(dimensions));
    // The largest sum that there can be, and none.
    vectors[0] = question?.map(() => 1) ?? expect.fail();
    vectors[1] = new Float32Array(dimensions);
    const rows = vectors.map((vector) => encodeVector(vector));
    const block = packRows(rows);
    const { memory, kernel } = memoryOf(at.block + blockBytes(width));
    memory.set(block, at.block);
    for (const asked of [question ?? expect.fail(), Float32Array.from({ length: dimensions }, () => 1)]) {
      const { numbers, unit } = encodeQuestion(asked);
      memory.set(new Uint8Array(numbers.buffer), at.question);
      kernel.products(at.block, at.question, at.block + blockRows * width, at.out, blockRows, width);
      const out = new Float32Array(memory.buffer, at.out, blockRows);
      expect([...out]).toEqual(rows.map((row) => productOf(row, numbers)));
      const one = (row: number): number =>
        kernel.product(at.block + row * width, at.question, at.block + blockRows * width + 4 * row, width);
      expect(rows.map((_, row) => one(row))).toEqual([...out]);
      const length = Math.hypot(...asked);
      for (const [index, vector] of vectors.entries()) {
        const cosine = vector.reduce((sum, value, place) => sum + value * (asked[place] ?? 0), 0);
        const exact = cosine === 0 ? 0 : cosine / (length * Math.hypot(...vector));
        expect((out[index] ?? 0) * unit).toBeCloseTo(exact, 1.5);
      }
    }
    expect(kernel.checksum(at.block, block.byteLength)).toBe(checksumOf(new Uint8Array(block)));
    const bits = bitWidth(width);
    const thresholds = Int8Array.from({ length: width }, (_, index) => (index % 7) - 3);
    memory.set(new Uint8Array(thresholds.buffer), at.thresholds);
    kernel.signs(at.block, at.thresholds, at.bits, blockRows, width, bits);
    const expected = rows.map((row) => {
      const signs = new Uint8Array(bits);
      writeSigns(new Int8Array(row.buffer, 0, width), thresholds, signs);
      return signs;
    });
    expect(Buffer.concat(expected).equals(memory.slice(at.bits, at.bits + blockRows * bits))).toBe(true);
    memory.set(expected[7] ?? expect.fail(), at.question);
    kernel.differences(at.bits, at.question, at.out, blockRows, bits);
    const differing = expected.map((signs) =>
      signs.reduce((sum, byte, place) => {
        const changed = byte ^ (expected[7]?.[place] ?? 0);
        return sum + changed.toString(2).replaceAll("0", "").length;
      }, 0),
    );
    expect([...new Int32Array(memory.buffer, at.out, blockRows)]).toEqual(differing);
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
