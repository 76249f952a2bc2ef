// A reporter of vitest for `test.mjs`: the JSON report names no errors that were thrown outside of a test, as by a rejected
// promise or by a worker that ended. They are written to the file MEMSLOT_TEST_ERRORS as `[{ file, text }]`.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { inspect } from "node:util";

// oxlint-disable-next-line import/no-default-export -- vitest loads a reporter as a default export
export default class UnhandledErrors {
  onTestRunEnd(_modules, errors) {
    if (errors.length === 0) return;
    const found = errors.map((error) => ({
      file: error.VITEST_TEST_PATH && path.relative(process.cwd(), error.VITEST_TEST_PATH),
      text: [error, ...(error.cause ? [error.cause] : [])].map(firstLines).join("\ncaused by "),
    }));
    writeFileSync(process.env.MEMSLOT_TEST_ERRORS, JSON.stringify(found));
  }
}

function firstLines(error) {
  return (error.stack ?? inspect(error)).split("\n", 12).join("\n");
}
