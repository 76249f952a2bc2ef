;; What compares a question with the codes of vectors, many at a time. `pnpm generate` makes `kernel-bytes.ts` of it.
;; Rows lie one behind the other. Their length is a multiple of 16 bytes, their number one of 4.
(module
  (import "env" "memory" (memory 1 65536 shared))

  ;; Sums of products of whole numbers of one byte with those of a question of two bytes each, times the factor of the row.
  ;; rows: i8[count][width], question: i16[width], factors and out: f32[count]
  (func (export "products")
    (param $rows i32) (param $question i32) (param $factors i32) (param $out i32) (param $count i32) (param $width i32)
    (local $row i32) (local $at i32) (local $one i32) (local $two i32) (local $three i32) (local $four i32)
    (local $asked v128) (local $sum1 v128) (local $sum2 v128) (local $sum3 v128) (local $sum4 v128)
    (loop $four_rows
      (local.set $one (i32.add (local.get $rows) (i32.mul (local.get $row) (local.get $width))))
      (local.set $two (i32.add (local.get $one) (local.get $width)))
      (local.set $three (i32.add (local.get $two) (local.get $width)))
      (local.set $four (i32.add (local.get $three) (local.get $width)))
      (local.set $sum1 (v128.const i32x4 0 0 0 0))
      (local.set $sum2 (v128.const i32x4 0 0 0 0))
      (local.set $sum3 (v128.const i32x4 0 0 0 0))
      (local.set $sum4 (v128.const i32x4 0 0 0 0))
      (local.set $at (i32.const 0))
      (loop $eight_numbers
        (local.set $asked (v128.load (i32.add (local.get $question) (i32.shl (local.get $at) (i32.const 1)))))
        (local.set $sum1 (i32x4.add (local.get $sum1) (i32x4.dot_i16x8_s (local.get $asked)
          (v128.load8x8_s (i32.add (local.get $one) (local.get $at))))))
        (local.set $sum2 (i32x4.add (local.get $sum2) (i32x4.dot_i16x8_s (local.get $asked)
          (v128.load8x8_s (i32.add (local.get $two) (local.get $at))))))
        (local.set $sum3 (i32x4.add (local.get $sum3) (i32x4.dot_i16x8_s (local.get $asked)
          (v128.load8x8_s (i32.add (local.get $three) (local.get $at))))))
        (local.set $sum4 (i32x4.add (local.get $sum4) (i32x4.dot_i16x8_s (local.get $asked)
          (v128.load8x8_s (i32.add (local.get $four) (local.get $at))))))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br_if $eight_numbers (i32.lt_u (local.get $at) (local.get $width))))
      (call $scale (local.get $sum1) (local.get $row) (local.get $factors) (local.get $out))
      (call $scale (local.get $sum2) (i32.add (local.get $row) (i32.const 1)) (local.get $factors) (local.get $out))
      (call $scale (local.get $sum3) (i32.add (local.get $row) (i32.const 2)) (local.get $factors) (local.get $out))
      (call $scale (local.get $sum4) (i32.add (local.get $row) (i32.const 3)) (local.get $factors) (local.get $out))
      (local.set $row (i32.add (local.get $row) (i32.const 4)))
      (br_if $four_rows (i32.lt_u (local.get $row) (local.get $count)))))

  ;; The same of one row: its sum of products, times its factor.
  (func (export "product") (param $row i32) (param $question i32) (param $factor i32) (param $width i32) (result f32)
    (local $at i32) (local $sum1 v128) (local $sum2 v128)
    (loop $sixteen_numbers
      (local.set $sum1 (i32x4.add (local.get $sum1) (i32x4.dot_i16x8_s
        (v128.load (i32.add (local.get $question) (i32.shl (local.get $at) (i32.const 1))))
        (v128.load8x8_s (i32.add (local.get $row) (local.get $at))))))
      (local.set $sum2 (i32x4.add (local.get $sum2) (i32x4.dot_i16x8_s
        (v128.load offset=16 (i32.add (local.get $question) (i32.shl (local.get $at) (i32.const 1))))
        (v128.load8x8_s offset=8 (i32.add (local.get $row) (local.get $at))))))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $sixteen_numbers (i32.lt_u (local.get $at) (local.get $width))))
    (f32.mul
      (f32.load (local.get $factor))
      (f32.convert_i32_s (call $together (i32x4.add (local.get $sum1) (local.get $sum2))))))

  (func $together (param $sums v128) (result i32)
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $sums)) (i32x4.extract_lane 1 (local.get $sums)))
      (i32.add (i32x4.extract_lane 2 (local.get $sums)) (i32x4.extract_lane 3 (local.get $sums)))))

  ;; out[row] = the four sums together, times factors[row]
  (func $scale (param $sums v128) (param $row i32) (param $factors i32) (param $out i32)
    (local $byte i32)
    (local.set $byte (i32.shl (local.get $row) (i32.const 2)))
    (f32.store (i32.add (local.get $out) (local.get $byte))
      (f32.mul
        (f32.load (i32.add (local.get $factors) (local.get $byte)))
        (f32.convert_i32_s (call $together (local.get $sums))))))

  ;; Bits that differ from those of a question (Hamming). Rows of 65,535 bytes at most: sums of a lane have two bytes.
  ;; rows: bits[count][8 * width], question: bits[8 * width], out: i32[count]
  (func (export "differences")
    (param $rows i32) (param $question i32) (param $out i32) (param $count i32) (param $width i32)
    (local $end i32) (local $at i32) (local $two i32) (local $three i32) (local $four i32)
    (local $asked v128) (local $sum1 v128) (local $sum2 v128) (local $sum3 v128) (local $sum4 v128)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (loop $four_rows
      (local.set $two (i32.add (local.get $rows) (local.get $width)))
      (local.set $three (i32.add (local.get $two) (local.get $width)))
      (local.set $four (i32.add (local.get $three) (local.get $width)))
      (local.set $sum1 (v128.const i32x4 0 0 0 0))
      (local.set $sum2 (v128.const i32x4 0 0 0 0))
      (local.set $sum3 (v128.const i32x4 0 0 0 0))
      (local.set $sum4 (v128.const i32x4 0 0 0 0))
      (local.set $at (i32.const 0))
      (loop $sixteen_bytes
        (local.set $asked (v128.load (i32.add (local.get $question) (local.get $at))))
        (local.set $sum1 (i16x8.add (local.get $sum1) (i16x8.extadd_pairwise_i8x16_u (i8x16.popcnt
          (v128.xor (local.get $asked) (v128.load (i32.add (local.get $rows) (local.get $at))))))))
        (local.set $sum2 (i16x8.add (local.get $sum2) (i16x8.extadd_pairwise_i8x16_u (i8x16.popcnt
          (v128.xor (local.get $asked) (v128.load (i32.add (local.get $two) (local.get $at))))))))
        (local.set $sum3 (i16x8.add (local.get $sum3) (i16x8.extadd_pairwise_i8x16_u (i8x16.popcnt
          (v128.xor (local.get $asked) (v128.load (i32.add (local.get $three) (local.get $at))))))))
        (local.set $sum4 (i16x8.add (local.get $sum4) (i16x8.extadd_pairwise_i8x16_u (i8x16.popcnt
          (v128.xor (local.get $asked) (v128.load (i32.add (local.get $four) (local.get $at))))))))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br_if $sixteen_bytes (i32.lt_u (local.get $at) (local.get $width))))
      (local.set $sum1 (i32x4.extadd_pairwise_i16x8_u (local.get $sum1)))
      (local.set $sum2 (i32x4.extadd_pairwise_i16x8_u (local.get $sum2)))
      (local.set $sum3 (i32x4.extadd_pairwise_i16x8_u (local.get $sum3)))
      (local.set $sum4 (i32x4.extadd_pairwise_i16x8_u (local.get $sum4)))
      ;; Two lanes of each row, then one.
      (local.set $sum1 (i32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 8 9 10 11 24 25 26 27 (local.get $sum1) (local.get $sum2))
        (i8x16.shuffle 4 5 6 7 20 21 22 23 12 13 14 15 28 29 30 31 (local.get $sum1) (local.get $sum2))))
      (local.set $sum3 (i32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 8 9 10 11 24 25 26 27 (local.get $sum3) (local.get $sum4))
        (i8x16.shuffle 4 5 6 7 20 21 22 23 12 13 14 15 28 29 30 31 (local.get $sum3) (local.get $sum4))))
      (v128.store (local.get $out) (i32x4.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $sum1) (local.get $sum3))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $sum1) (local.get $sum3))))
      (local.set $out (i32.add (local.get $out) (i32.const 16)))
      (local.set $rows (i32.add (local.get $four) (local.get $width)))
      (br_if $four_rows (i32.lt_u (local.get $out) (local.get $end)))))

  ;; The bit of a number is set where it is greater than the threshold of its place.
  ;; rows: i8[count][width], thresholds: i8[width], out: bits[count][8 * out_width], all zero before
  (func (export "signs")
    (param $rows i32) (param $thresholds i32) (param $out i32) (param $count i32) (param $width i32) (param $out_width i32)
    (local $row i32) (local $at i32)
    (loop $each_row
      (local.set $at (i32.const 0))
      (loop $sixteen_numbers
        (i32.store16 (i32.add (local.get $out) (i32.shr_u (local.get $at) (i32.const 3)))
          (i8x16.bitmask (i8x16.gt_s
            (v128.load (i32.add (local.get $rows) (local.get $at)))
            (v128.load (i32.add (local.get $thresholds) (local.get $at))))))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br_if $sixteen_numbers (i32.lt_u (local.get $at) (local.get $width))))
      (local.set $rows (i32.add (local.get $rows) (local.get $width)))
      (local.set $out (i32.add (local.get $out) (local.get $out_width)))
      (local.set $row (i32.add (local.get $row) (i32.const 1)))
      (br_if $each_row (i32.lt_u (local.get $row) (local.get $count)))))

  ;; Fletcher's sums of whole numbers of four bytes, in four lanes, one lane of 32 bits made of them at the end.
  (func (export "checksum") (param $at i32) (param $bytes i32) (result i32)
    (local $end i32) (local $plain v128) (local $running v128)
    (local.set $end (i32.add (local.get $at) (local.get $bytes)))
    (loop $sixteen_bytes
      (local.set $plain (i32x4.add (local.get $plain) (v128.load (local.get $at))))
      (local.set $running (i32x4.add (local.get $running) (local.get $plain)))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $sixteen_bytes (i32.lt_u (local.get $at) (local.get $end))))
    ;; Turned, so that a change of one bit does not cancel out.
    (local.set $running (v128.xor (local.get $running) (v128.or
      (i32x4.shl (local.get $plain) (i32.const 13))
      (i32x4.shr_u (local.get $plain) (i32.const 19)))))
    (i32.xor
      (i32.xor (i32x4.extract_lane 0 (local.get $running)) (i32.rotl (i32x4.extract_lane 1 (local.get $running)) (i32.const 8)))
      (i32.xor
        (i32.rotl (i32x4.extract_lane 2 (local.get $running)) (i32.const 16))
        (i32.rotl (i32x4.extract_lane 3 (local.get $running)) (i32.const 24))))))
