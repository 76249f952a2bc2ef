/**
 * The files that this process has open as databases, by `device:inode`. POSIX drops all locks that a process holds on
 * a file as soon as it closes any descriptor of it, so a file that is open here must not be opened once more to look
 * at its first bytes: SQLite in another process would believe itself alone and delete the log that is in use here.
 * The one piece of state of this module, because it is a fact about the process, not about one store.
 */
const openFiles = new Map<string, number>();
const openings = new Map<string, Promise<unknown>>();

export function listOpenFiles(): string[] {
  return [...openFiles.keys()];
}

/** Notes a file as open until the function that comes back is called. */
export function noteOpenFile(identity: string): () => void {
  openFiles.set(identity, (openFiles.get(identity) ?? 0) + 1);
  let noted = true;
  return () => {
    if (!noted) return;
    noted = false;
    const left = (openFiles.get(identity) ?? 1) - 1;
    if (left > 0) openFiles.set(identity, left);
    else openFiles.delete(identity);
  };
}

/** Runs one opening of a path after the other, so that each sees what the one before it has opened. */
export async function oneOpeningAtATime<Result>(path: string, open: () => Promise<Result>): Promise<Result> {
  const before = openings.get(path);
  const own = (async () => {
    await before?.catch(() => undefined);
    return await open();
  })();
  openings.set(path, own);
  try {
    return await own;
  } finally {
    if (openings.get(path) === own) openings.delete(path);
  }
}
