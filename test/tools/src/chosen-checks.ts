/** The part of the kit's `TestRunner` that this file needs. */
interface Runner<Body> {
  describe(name: string, body: () => void): unknown;
  test(name: string, options: { timeout: number }, body: Body): unknown;
}

/**
 * Registers only the named checks of a conformance suite. `npm test` runs the whole suite once on memory-core and on the
 * in-memory reference; every other backend runs these checks, and the whole suite with `npm run test:long`.
 * A last test fails if a name matches no check: a renamed check must not leave silently.
 */
export function chosenChecks<Body>(
  runner: Runner<Body>,
  names: readonly string[],
  register: (chosen: Runner<Body>) => void,
): void {
  const missing = new Set(names);
  register({
    describe: (name, body) => runner.describe(name, body),
    test(name, options, body) {
      if (!names.includes(name) && !name.startsWith("deviations: ")) return;
      missing.delete(name);
      runner.test(name, options, body);
    },
  });
  // The bodies of `describe` run later than this function: only a test sees what all of them have registered.
  const everyNameExists = (): void => {
    if (missing.size > 0) throw new Error(`the suite has no check of these names: ${[...missing].join("; ")}`);
  };
  runner.describe("chosen checks", () =>
    runner.test("each name is that of a check", { timeout: 10_000 }, everyNameExists as Body),
  );
}

/** One check of each promise that a memory backend could break alone. */
export const chosenMemoryChecks: readonly string[] = [
  "search: aborted on its way ends, with AbortError or its answer",
  "open: ends when its signal is aborted",
  "lifecycle: two agents with one state folder do not see each other's notes",
  "manners: writes below the state folder and nowhere else",
  "open: to look only makes nothing on disk",
  "places: two workspaces of one agent, open at once, find their own notes alone",
  "lifecycle: reopened on the same state folder answers the same without re-indexing",
  "lifecycle: a deleted state folder is rebuilt from the notes",
  "lifecycle: after close no file of the workspace or the state folder is open",
  "lifecycle: a call after close is refused with CLOSED, and status still answers",
  "search: results are sorted and cut to maxResults",
  "search: the texts of all results are within maxTokens, whole, and stand where they say",
  "search: filters by source inside",
  "search: hostile query text raises nothing",
  "search: an unknown word gives an empty list and a report that says so",
  "search: an identifier as written is found whatever minScore is",
  "search: Chinese text is found by two characters",
  "vector: a paraphrase finds its file, with its similarity",
  "embeddings: a provider that is down leaves words findable, is named, and is caught up with later",
  "search: line numbers hold with CRLF, a byte order mark, front matter, code and blank lines",
  "search: a snippet is made of the lines that the result names",
  "files: symbolic links are not followed",
  "read: gives the file as it is now, not as it was indexed",
  "read: refuses paths outside the memory files",
  "audience: a shared session finds what extraPaths adds and none of the private notes",
  "sync: report counts what was added, changed, removed and left alone",
  "sync: a renamed file answers under its new path only",
  "freshness: a saved note is found by the next search",
  "status: counts the files and chunks, and names the workspace",
  "check: with fix there is nothing to mend in a sound index, and the answers stay as they were",
];

/** One check of each promise that a chunk store could break alone. */
export const chosenStoreChecks: readonly string[] = [
  "files: an empty store answers everything with nothing",
  "files: path, source, hash and recipe come back as they were given",
  "files: the same path in two sources is two files",
  "files: a replaced file leaves nothing of its old chunks",
  "files: removing one takes its chunks along, leaves the others, and passes over what is not there",
  "files: with fromLine the chunks that begin before it are kept, the later ones are replaced",
  "vector: with fromLine the chunks that are kept keep their vectors",
  "keyword: only the terms are searched, not the text and not the headings",
  "keyword: a term is taken as it stands, with its punctuation",
  "pieces: several chunks that begin in one line are all kept, and a row tells by its hash which it is",
  "keyword: rows come best first and every score is positive",
  "keyword: a prefix finds every word that begins with it, a whole term only itself",
  "keyword: hostile terms raise nothing and find nothing",
  "keyword: counts say how many chunks there are and how many hold each term",
  "keyword: with a scope, rows, scores and order do not change with what stands outside it",
  "keyword: limit cuts the worst",
  "vector: sources are filtered before the limit",
  "keyword: a scope takes paths as they are written, whatever they hold",
  "vector: a text of a replaced file keeps its vector, and one that has gone is not found",
  "vector: one that is put again takes the place of the old one",
  "vector: two spaces of one width never mix",
  "vector: the ranking and the scores are those of the exact cosine",
  "vector: a row names its chunk, and removed chunks are not found",
  "embedded: a space is listed with a file when every chunk of it has its vector there",
  "lifecycle: searches beside a write find each file whole, as it was or as it is",
  "lifecycle: files and words are there again after a reopen",
  "lifecycle: vectors are there again after a reopen, each space its own",
  "builds: with finish the next build answers, whole, and nothing is left of the old one",
  "compact: gives space back, changes no answer, and leaves the store fit for use",
  "revision: each change of the files gives another one, never one that was there before",
];
