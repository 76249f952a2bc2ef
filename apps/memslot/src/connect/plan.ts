import type { Client, ClientFile, ClientPlace, Connection } from "./client.ts";
import { UnusableFile } from "./edits/text-form.ts";
import type { Receipt, ReceiptFile, Receipts } from "./receipt.ts";
import { type TargetFile, readTarget, sha256Of } from "./target-file.ts";

/** One file as it is and as it is to be. Texts are undefined where there is no file. */
export interface FileChange {
  readonly path: string;
  readonly what: ClientFile["what"];
  readonly file: TargetFile;
  /** What `--remove` gives back. */
  readonly base: string | undefined;
  readonly after: string | undefined;
  readonly earlier: ReceiptFile | undefined;
  /** True where a connection that stays has nothing in it any more. */
  readonly isLeft?: true;
}

/** A file that is left alone, and why. */
interface Refusal {
  readonly path: string;
  readonly reason: string;
  readonly line?: number | undefined;
}

export interface Plan {
  readonly changes: readonly FileChange[];
  readonly refusals: readonly Refusal[];
}

/** What connecting a client would change. Nothing is written. Hooks of an earlier time go where none are wanted now. */
export async function planConnect(
  client: Client,
  place: ClientPlace,
  connection: Connection,
  { receipts, earlier }: { receipts: Receipts; earlier: Receipt | undefined },
): Promise<Plan> {
  const files = client.files(place, connection);
  const withHooks = client.files(place, { ...connection, hook: connection.hook ?? earlier?.hook });
  const plan = await planEach(files, async (each, file) => {
    const before = earlier?.files.find(({ target }) => target === file.target);
    // What others have added since stays, and our own part is not part of what was there.
    const wasTouched = before !== undefined && sha256Of(file.text) !== before.after;
    const whole = withHooks.find((other) => other.path === each.path) ?? each;
    const base = await baseOf(whole, file, before, receipts);
    const isSameKind = (earlier?.hook === undefined) === (connection.hook === undefined);
    const stays = wasTouched && isSameKind && file.text !== undefined && each.edit.put(file.text) === file.text;
    const after = stays ? file.text : each.edit.put(base ?? "");
    return { path: each.path, what: each.what, file, base, after, earlier: before };
  });
  const gone = withHooks.filter(({ path }) => !files.some((each) => each.path === path));
  if (gone.length === 0) return plan;
  const taken = await planRemove({ ...client, files: () => gone }, place, connection, { receipts, earlier });
  return {
    changes: [...plan.changes, ...taken.changes.map((change) => ({ ...change, isLeft: true as const }))],
    refusals: [...plan.refusals, ...taken.refusals],
  };
}

async function baseOf(
  { edit }: ClientFile,
  file: TargetFile,
  before: ReceiptFile | undefined,
  receipts: Receipts,
): Promise<string | undefined> {
  if (before === undefined || file.text === undefined) return file.text;
  if (sha256Of(file.text) !== before.after) return edit.remove(file.text);
  return before.backup === undefined ? undefined : await receipts.backup(before.backup);
}

/** What taking a connection away would change: the file as it was, where nobody else has touched it since. */
export async function planRemove(
  client: Client,
  place: ClientPlace,
  connection: Connection,
  { receipts, earlier }: { receipts: Receipts; earlier: Receipt | undefined },
): Promise<Plan> {
  const files = client.files(place, connection);
  const shared = receipts
    .all()
    .filter((other) => earlier === undefined || !isSame(other, earlier))
    .flatMap((other) => other.files.map(({ target }) => target));
  return await planEach(files, async (each, file) => {
    const before = earlier?.files.find(({ target }) => target === file.target);
    const change = { path: each.path, what: each.what, file, base: undefined, earlier: before };
    // Another client reads the same lines from the same file.
    if (shared.includes(file.target) || file.text === undefined) return { ...change, after: file.text };
    if (before !== undefined && sha256Of(file.text) === before.after)
      return { ...change, after: before.backup === undefined ? undefined : await receipts.backup(before.backup) };
    const left = each.edit.remove(file.text);
    const isOurs = before !== undefined && before.backup === undefined;
    return { ...change, after: isOurs && left !== file.text && each.edit.isEmpty(left) ? undefined : left };
  });
}

export function isSame(a: Receipt, b: Receipt): boolean {
  return a.client === b.client && a.scope === b.scope && a.projectDir === b.projectDir;
}

async function planEach(
  files: readonly ClientFile[],
  plan: (each: ClientFile, file: TargetFile) => Promise<FileChange>,
): Promise<Plan> {
  const changes: FileChange[] = [];
  const refusals: Refusal[] = [];
  for (const each of files) {
    try {
      const change = await plan(each, await readTarget(each.path));
      // Two paths may be one file, by a link.
      const same = changes.find(({ file }) => file.target === change.file.target);
      if (same === undefined) changes.push(change);
      else if (same.after !== change.after)
        throw new UnusableFile(`it is the same file as ${same.path}, and something else belongs into that one`);
    } catch (error) {
      if (!(error instanceof UnusableFile)) throw error;
      refusals.push({ path: each.path, reason: error.message, line: error.line });
    }
  }
  return { changes, refusals };
}
