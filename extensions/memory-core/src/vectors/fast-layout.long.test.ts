import { sameAnswers } from "../test/layouts.ts";

sameAnswers([
  [64, 3000],
  [768, 1000],
]);
