import { type FileChange, isSame } from "./plan-connection.ts";
import type { ConnectionKey, Receipt, ReceiptFile, Receipts } from "./receipts.ts";
import { readTarget, removeFolders, sha256Of, writeTarget } from "./target-file.ts";

/** Writes the planned changes after the backups and the receipt, so that they can be undone. Restores on failure. */
export async function carryOut(
  changes: readonly FileChange[],
  receipt: Omit<Receipt, "files" | "version">,
  receipts: Receipts,
): Promise<void> {
  const files: ReceiptFile[] = [];
  const superseded: string[] = [];
  for (const change of changes) {
    const { earlier, base, file, after } = change;
    if (change.isLeft === true) {
      if (earlier?.backup !== undefined) superseded.push(earlier.backup);
      continue;
    }
    const isUntouched = earlier !== undefined && sha256Of(file.text) === earlier.after;
    if (earlier !== undefined && (isUntouched || after === file.text)) {
      files.push({ ...earlier, after: after === file.text ? earlier.after : sha256Of(after) });
      continue;
    }
    const backup = base === undefined ? undefined : await receipts.keep(receipt, file.target, base);
    if (earlier?.backup !== undefined && earlier.backup !== backup) superseded.push(earlier.backup);
    const madeFolders = earlier?.madeFolders ?? [];
    files.push({ path: change.path, target: file.target, backup, madeFolders, after: sha256Of(after) });
  }
  const save = (): Promise<void> => receipts.save({ version: 1, ...receipt, files });
  const previous = receipts.get(receipt);
  await save();
  const putBack = async (): Promise<void> => {
    await (previous === undefined ? receipts.remove(receipt) : receipts.save(previous));
    const kept = new Set(previous?.files.map(({ backup }) => backup));
    for (const { backup } of files) if (!kept.has(backup)) await receipts.drop(backup);
  };
  const onWritten = async (target: string, made: string[]): Promise<void> => {
    const index = files.findIndex((each) => each.target === target);
    const known = files[index];
    if (known === undefined || made.length === 0) return;
    files[index] = { ...known, madeFolders: made };
    await save();
  };
  await writeAll(changes, onWritten, putBack);
  const left = changes.filter(({ isLeft, after }) => isLeft === true && after === undefined);
  await removeFolders(left.flatMap(({ earlier }) => earlier?.madeFolders ?? []));
  for (const name of superseded) await receipts.drop(name);
}

/** Removes a connection as planned. Without a receipt it backs the files up and returns the paths. */
export async function takeBack(
  changes: readonly FileChange[],
  which: ConnectionKey,
  receipts: Receipts,
): Promise<string[]> {
  const receipt = receipts.get(which);
  const backups: string[] = [];
  for (const { file, after } of receipt === undefined ? changes : [])
    if (file.text !== undefined && after !== file.text)
      backups.push(receipts.pathOf(await receipts.keep(which, file.target, file.text)));
  await writeAll(changes);
  const gone = changes.filter(({ after }) => after === undefined);
  await removeFolders(gone.flatMap(({ earlier }) => earlier?.madeFolders ?? []));
  if (receipt === undefined) return backups;
  const kept = await handOver(receipt, receipts);
  await receipts.remove(receipt);
  for (const { backup } of receipt.files) if (backup !== undefined && !kept.has(backup)) await receipts.drop(backup);
  return backups;
}

/** Replaces backups of later connections that contain our lines by our earlier ones. Returns those now in use. */
async function handOver(receipt: Receipt, receipts: Receipts): Promise<Set<string>> {
  const kept = new Set<string>();
  for (const other of receipts.all()) {
    if (isSame(other, receipt)) continue;
    const files: ReceiptFile[] = [];
    for (const file of other.files) {
      const own = receipt.files.find(({ target }) => target === file.target);
      const base = file.backup === undefined ? undefined : await receipts.backup(file.backup);
      if (own === undefined || sha256Of(base) !== own.after) files.push(file);
      else {
        files.push({ ...file, backup: own.backup, madeFolders: own.madeFolders });
        if (own.backup !== undefined) kept.add(own.backup);
        await receipts.drop(file.backup);
      }
    }
    await receipts.save({ ...other, files });
  }
  return kept;
}

async function writeAll(
  changes: readonly FileChange[],
  onWritten?: (target: string, madeFolders: string[]) => Promise<void>,
  onPutBack?: () => Promise<void>,
): Promise<void> {
  const written: FileChange[] = [];
  const madeFolders: string[] = [];
  try {
    for (const change of changes) {
      const { file, after } = change;
      if (after === file.text) continue;
      const made = await writeTarget(file, after);
      written.push(change);
      madeFolders.push(...made);
      await onWritten?.(file.target, made);
    }
  } catch (error) {
    for (const { file } of written.toReversed()) await writeTarget(await readTarget(file.target), file.text);
    await removeFolders(madeFolders);
    await onPutBack?.();
    throw error;
  }
}
