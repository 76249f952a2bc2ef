/** The index of the scripted qmd: a JSON file in place of SQLite, and what is read into it. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";

/** A failure as qmd shows it: rc 1, empty output, this on stderr. */
export class Failure extends Error {}

const skippedFolders = new Set(["node_modules", ".git", ".cache", "vendor", "dist", "build"]);

/** The collections of `index.yml`: name, path, pattern and ignored patterns. */
export function readCollections(folder) {
  const file = join(folder, "index.yml");
  let text = "";
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  let config;
  try {
    config = parse(text) ?? {};
    if (typeof config !== "object") throw new Error("not a map");
  } catch (error) {
    throw new Failure(`Error: Failed to parse ${file}: ${error.message}\n    at loadConfig (collections.js:102:15)`);
  }
  return Object.entries(config.collections ?? {}).map(([name, { path, pattern = "**/*.md", ignore = [] }]) => ({
    name,
    path,
    pattern,
    ignore,
  }));
}

export function loadIndex(path) {
  let text;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error.code !== "ENOENT") throw new Failure(`SqliteError: unable to open database file (SQLITE_CANTOPEN)`);
    const empty = { documents: [] };
    saveIndex(path, empty);
    return empty;
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure(`SqliteError: file is not a database\n  code: 'SQLITE_NOTADB'`);
  }
}

export function saveIndex(path, index) {
  try {
    mkdirSync(dirname(path), { recursive: true });
    // Whole for those who read it meanwhile.
    const part = `${path}.${process.pid}`;
    writeFileSync(part, JSON.stringify(index));
    renameSync(part, path);
  } catch (error) {
    throw new Failure(`SqliteError: disk I/O error (${error.code})\n  code: 'SQLITE_IOERR'`);
  }
}

/** Reads a collection again: `new`, `updated`, `unchanged` and `removed` counted. */
export function updateCollection(index, collection) {
  const counts = { new: 0, updated: 0, unchanged: 0, removed: 0 };
  const found = new Set();
  const matches = globTest(collection.pattern);
  const ignored = collection.ignore.map(globTest);
  for (const path of filesBelow(collection.path, "")) {
    if (!matches(path) || ignored.some((test) => test(path))) continue;
    const body = readFileSync(join(collection.path, path), "utf8");
    found.add(path);
    // What was read of a file stays there when it is emptied.
    if (body.trim() === "") continue;
    const hash = createHash("sha256").update(body).digest("hex");
    const known = index.documents.find((each) => each.collection === collection.name && each.path === path);
    if (known?.hash === hash && known.active) counts.unchanged++;
    else if (known?.active) counts.updated++;
    else counts.new++;
    const vector = known?.hash === hash && known.vector;
    const document = {
      collection: collection.name,
      path,
      hash,
      active: true,
      vector,
      title: titleOf(body, path),
      body,
    };
    if (known) Object.assign(known, document);
    else index.documents.push(document);
  }
  for (const document of index.documents) {
    if (document.collection !== collection.name || !document.active || found.has(document.path)) continue;
    document.active = false;
    counts.removed++;
  }
  return counts;
}

function filesBelow(root, inner) {
  let entries;
  try {
    entries = readdirSync(join(root, inner), { withFileTypes: true });
  } catch {
    return []; // A root that is not there counts as an empty one.
  }
  return entries.flatMap((entry) => {
    if (entry.name.startsWith(".") || entry.isSymbolicLink()) return [];
    const path = inner === "" ? entry.name : `${inner}/${entry.name}`;
    if (entry.isDirectory()) return skippedFolders.has(entry.name) ? [] : filesBelow(root, path);
    return entry.isFile() ? [path] : [];
  });
}

function titleOf(body, path) {
  return (
    /^#{1,2}\s+(.+)$/m.exec(body)?.[1].trim() ??
    path
      .split("/")
      .at(-1)
      .replace(/\.[^.]+$/, "")
  );
}

/** `**`, `*`, `?` and `{a,b}`, which is what configurations of collections use. */
function globTest(pattern) {
  const source = pattern.replaceAll(/\*\*\/|\*\*|[*?{},.+^$()|[\]\\]/g, (part) => {
    if (part === "**/") return "(?:[^/]+/)*";
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    if (part === "{") return "(?:";
    if (part === "}") return ")";
    if (part === ",") return pattern.includes("{") ? "|" : ",";
    return `\\${part}`;
  });
  const expression = new RegExp(`^${source}$`, "u");
  return (path) => expression.test(path);
}

/** One row as the command line prints it. */
export function rowOf(document, rank, query) {
  const lines = document.body.split("\n");
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  // By the letters as they are: another form of a word is not found, and the first line is returned.
  const counts = lines.map((line) => words.filter((word) => line.toLowerCase().includes(word)).length);
  const best = Math.max(0, counts.indexOf(Math.max(...counts)));
  const from = Math.max(0, best - 1);
  const shown = lines.slice(from, from + 4);
  const header = `@@ -${from + 1},${shown.length} @@ (${from} before, ${Math.max(0, lines.length - from - 4)} after)`;
  return {
    docid: `#${document.hash.slice(0, 6)}`,
    score: Math.round(100 / rank) / 100,
    file: `qmd://${document.collection}/${document.path}`,
    line: best + 1,
    title: document.title,
    snippet: `${header}\n${shown.join("\n").slice(0, 300)}`,
  };
}
