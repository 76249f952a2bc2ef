import { lstat, readFile, readdir, realpath } from "node:fs/promises";
import path from "node:path";

/** Every note, as `{ file, name, isPrivate }`; `name` is what a result calls it. Links are not followed. */
export async function listNotes(workspaceDir, extraPaths, signal) {
  const notes = new Map();
  const add = async (file) => {
    const name = path.relative(workspaceDir, file).split(path.sep).join("/");
    const isPrivate = /^(MEMORY\.md$|USER\.md$|memory\/)/.test(name);
    // Another name of the same file may be a private one.
    notes.set(file, { file, name, isPrivate: isPrivate || (await statOf(file))?.nlink !== 1 });
  };
  const walk = async (folder, matches) => {
    signal.throwIfAborted();
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(noneWhereGone)) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) {
        if (!entry.name.startsWith(".") && entry.name !== "node_modules") await walk(file, matches);
      } else if (entry.isFile() && entry.name.endsWith(".md") && matches(file)) await add(file);
    }
  };
  await readdir(workspaceDir); // Throws where the workspace is gone.
  for (const name of ["MEMORY.md", "USER.md"]) {
    const file = path.join(workspaceDir, name);
    if ((await statOf(file))?.isFile()) await add(file);
  }
  if ((await statOf(path.join(workspaceDir, "memory")))?.isDirectory())
    await walk(path.join(workspaceDir, "memory"), () => true);
  for (const extra of extraPaths) {
    const { path: wanted, pattern } = typeof extra === "string" ? { path: extra } : extra;
    const place = path.resolve(workspaceDir, wanted);
    const stats = await statOf(place);
    if (stats?.isFile() && place.endsWith(".md")) await add(await realpath(place));
    const matches = (file) => pattern === undefined || path.matchesGlob(path.relative(place, file), pattern);
    if (stats?.isDirectory()) await walk(await realpath(place), matches);
  }
  return [...notes.values()];
}

/** The lines of a note; none where it went away meanwhile or is no text. */
export async function linesOf(file, signal) {
  const bytes = await readFile(file, { signal }).catch((error) => {
    if (signal.aborted) throw error;
    return Buffer.alloc(0);
  });
  return bytes
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/);
}

const statOf = (file) => lstat(file).catch(() => undefined);

function noneWhereGone(error) {
  if (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "EACCES") return [];
  throw error;
}
