import { structuredPatch } from "diff";
import { type Agent, type Connection, redactLines } from "@memslot/indexing/host";
import { type AgentPlace, type ConnectedFile, filesOf } from "./agent-files.ts";
import type { Receipt, ReceiptFile, Receipts } from "./receipts.ts";
import { UnusableFile } from "./text-edit.ts";
import { type TargetFile, readTarget, sha256Of } from "./target-file.ts";

export interface FileChange {
  readonly path: string;
  readonly what: ConnectedFile["what"];
  readonly file: TargetFile;
  /** The text that `--remove` restores. */
  readonly base: string | undefined;
  readonly after: string | undefined;
  readonly earlier: ReceiptFile | undefined;
  /** True if the connection stays and no longer includes this file. */
  readonly isLeft?: true;
}

/** A file that is left unchanged, with the reason. */
interface Refusal {
  readonly path: string;
  readonly reason: string;
  readonly line?: number | undefined;
}

export interface Plan {
  readonly changes: readonly FileChange[];
  readonly refusals: readonly Refusal[];
}

/** Plans a connection and writes nothing. `earlier`: the receipt of the same connection. Removes the hooks of an earlier connection if the new one has none. */
export async function planConnect(
  agent: Agent,
  place: AgentPlace,
  connection: Connection,
  receipts: Receipts,
  earlier: Receipt | undefined,
): Promise<Plan> {
  const files = filesOf(agent, place, connection);
  const withHooks = filesOf(agent, place, { ...connection, hook: connection.hook ?? earlier?.hook });
  const plan = await planEach(files, async (each, file) => {
    const before = earlier?.files.find(({ target }) => target === file.target);
    // Text that other programs have added since stays; our own part does not belong to the base.
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
  const taken = await planRemove(gone, receipts, earlier);
  return {
    changes: [...plan.changes, ...taken.changes.map((change) => ({ ...change, isLeft: true as const }))],
    refusals: [...plan.refusals, ...taken.refusals],
  };
}

async function baseOf(
  { edit }: ConnectedFile,
  file: TargetFile,
  before: ReceiptFile | undefined,
  receipts: Receipts,
): Promise<string | undefined> {
  if (before === undefined || file.text === undefined) return file.text;
  if (sha256Of(file.text) !== before.after) return edit.remove(file.text);
  return before.backup === undefined ? undefined : await receipts.backup(before.backup);
}

/** Plans the removal of a connection: restores the earlier file if no other program has changed it since. */
export async function planRemove(
  files: readonly ConnectedFile[],
  receipts: Receipts,
  earlier: Receipt | undefined,
): Promise<Plan> {
  const shared = receipts
    .all()
    .filter((other) => earlier === undefined || !isSame(other, earlier))
    .flatMap((other) => other.files.map(({ target }) => target));
  return await planEach(files, async (each, file) => {
    const before = earlier?.files.find(({ target }) => target === file.target);
    const change = { path: each.path, what: each.what, file, base: undefined, earlier: before };
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
  files: readonly ConnectedFile[],
  plan: (each: ConnectedFile, file: TargetFile) => Promise<FileChange>,
): Promise<Plan> {
  const changes: FileChange[] = [];
  const refusals: Refusal[] = [];
  for (const each of files) {
    try {
      const change = await plan(each, await readTarget(each.path));
      // Two paths may be one file, through a link.
      const same = changes.find(({ file }) => file.target === change.file.target);
      if (same === undefined) changes.push(change);
      else if (same.after !== change.after)
        throw new UnusableFile(`it is the same file as ${same.path}, and its content differs`);
    } catch (error) {
      if (!(error instanceof UnusableFile)) throw error;
      refusals.push({ path: each.path, reason: error.message, line: error.line });
    }
  }
  return { changes, refusals };
}

/** The changed lines with three lines of context, as `diff -u` prints them. Secrets are redacted. */
export function diffOf({ file, after }: Pick<FileChange, "file" | "after">): string[] {
  const { hunks } = structuredPatch("", "", lines(file.text), lines(after), undefined, undefined, { context: 3 });
  return hunks.flatMap((hunk) => [
    `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
    ...redactLines(hunk.lines).map(shortened),
  ]);
}

const maxLength = 400;

/** Some agents keep all settings on one line. Runs after redaction, as half a secret is not recognised. */
function shortened(line: string): string {
  return line.length <= maxLength ? line : `${line.slice(0, maxLength)}…`;
}

function lines(text: string | undefined): string {
  return (text ?? "").replace(/^\uFEFF/u, "").replaceAll("\r\n", "\n");
}
