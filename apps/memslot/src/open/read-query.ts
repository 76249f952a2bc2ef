import type { CommandContext } from "../command-context.ts";
import { UsageError } from "../terminal/exit-code.ts";

/** The longest query of the contract in UTF-8, plus a line break. */
const MAX_QUERY_BYTES = 64 * 1024;
const STDIN_DEADLINE_MS = 30_000;

const whatToSearch = 'pass a query, for example: memslot memory search "the mail server"';

/** The query: `--query`, the words, or stdin. Throws `UsageError` if it is empty, too long or late. */
export async function readQuery(
  { stdin, signal }: Pick<CommandContext, "stdin" | "signal">,
  { named, words }: { named: string | undefined; words: readonly string[] },
  deadlineMs: number = STDIN_DEADLINE_MS,
): Promise<string> {
  if (named !== undefined) return named;
  const isAsked = words.length === 1 && words[0] === "-";
  if (words.length > 0 && !isAsked) return words.join(" ");
  if (!isAsked && stdin.isTTY === true) throw new UsageError(whatToSearch);
  const query = (await readAll(stdin, signal, deadlineMs)).trim();
  if (query === "") throw new UsageError(`stdin is empty: ${whatToSearch}`);
  return query;
}

function readAll(stdin: NodeJS.ReadableStream, signal: AbortSignal, deadlineMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    const stop = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      stdin.off("data", take).off("end", end);
      // An open pipe must not keep the process alive.
      stdin.pause();
    };
    const refuse = (reason: unknown): void => {
      stop();
      reject(reason);
    };
    const take = (piece: Buffer | string): void => {
      const bytes = Buffer.from(piece);
      pieces.push(bytes);
      length += bytes.length;
      if (length <= MAX_QUERY_BYTES) return;
      refuse(new UsageError(`the query on stdin is longer than ${MAX_QUERY_BYTES / 1024} KiB; use a shorter query`));
    };
    const end = (): void => {
      stop();
      resolve(Buffer.concat(pieces).toString("utf8"));
    };
    const abort = (): void => refuse(signal.reason);
    const timer = setTimeout(
      () => refuse(new UsageError(`no query on stdin within ${deadlineMs / 1000} s; ${whatToSearch}`)),
      deadlineMs,
    );
    stdin.on("data", take).once("end", end);
    // This listener stays: a later error must not end the process.
    stdin.on("error", (error) => refuse(new UsageError(`stdin cannot be read: ${error.message}`)));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  });
}
