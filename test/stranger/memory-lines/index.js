import { MemoryError, defineMemoryPlugin } from "@memslot/core";
import { readMemoryFile } from "@memslot/indexing";
import { linesOf, listNotes } from "./files.js";
import { wordsOf } from "./words.js";

const id = "memory-lines";
/** Characters of a snippet. */
const most = 690;

export default defineMemoryPlugin({
  id,
  async open(context) {
    const { workspaceDir, settings, options, signal } = context;
    signal.throwIfAborted();
    const { linesPerResult } = options;

    /** Every piece of every note that may be seen. */
    async function readPieces(audience, signal) {
      const notes = await listNotes(workspaceDir, settings.extraPaths, signal).catch((error) => {
        if (signal.aborted) throw error;
        throw new MemoryError("WORKSPACE", `${workspaceDir} cannot be read: ${error.message}`, { cause: error });
      });
      const pieces = [];
      for (const { file, name, isPrivate } of notes)
        if (audience === "private" || !isPrivate)
          pieces.push(...cut(name, await linesOf(file, signal), linesPerResult));
      return pieces;
    }

    return {
      capabilities: { keyword: true, vector: false, ownsIndex: false },

      async search(query, { maxResults, minScore, strict, sources, audience, signal, onDebug }) {
        const asked = wordsOf(query);
        const pieces = sources.includes("memory") ? await readPieces(audience, signal) : [];
        const ranked = rank(asked, pieces);
        const candidates = strict ? ranked.filter(({ score, isSure }) => score >= minScore || isSure) : ranked;
        const kept = candidates.slice(0, maxResults);
        onDebug({
          backend: id,
          mode: "keyword",
          state: "ok",
          ...(kept.length === 0 ? { reason: why(asked, sources) } : {}),
          legs: { keyword: { candidates: ranked.length, kept: kept.length } },
          dropped: {
            minScore: ranked.length - candidates.length,
            source: 0,
            limit: candidates.length - kept.length,
          },
        });
        return kept.map(({ piece, score }) => ({ ...resultOf(piece, asked), score, textScore: score }));
      },

      readFile: (params) => readMemoryFile(params, context),
      status: () => ({ backend: id, provider: "none", workspaceDir }),
      probeEmbeddingAvailability: async () => ({ ok: false, error: `${id} finds by words alone` }),
      probeVectorAvailability: async () => false,
    };
  },
});

/** Cuts a note before each heading and after each blank line, and where a piece gets too long. */
function cut(path, lines, linesPerResult) {
  const pieces = [];
  let current;
  let heading = "";
  lines.forEach((line, index) => {
    if (/^#{1,6}\s/.test(line)) {
      heading = line;
      current = undefined;
    }
    if (line.trim() === "" || current?.lines.length === linesPerResult) current = undefined;
    if (line.trim() === "") return;
    if (!current) pieces.push((current = { path, heading, start: index + 1, lines: [] }));
    current.lines.push(line);
  });
  for (const piece of pieces) {
    piece.words = wordsOf(piece.lines.join("\n"));
    piece.around = wordsOf(`${path} ${piece.heading}`);
  }
  return pieces;
}

/** The share of the question that a piece holds; a word counts the more the fewer pieces have it. */
function rank(asked, pieces) {
  const weights = new Map();
  for (const word of asked) {
    const having = pieces.filter(({ words }) => words.has(word)).length;
    weights.set(word, Math.log(1 + pieces.length / (1 + having)) + 0.01);
  }
  const all = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  return pieces
    .map((piece) => {
      let sum = 0;
      for (const [word, weight] of weights)
        sum += piece.words.has(word) ? weight : piece.around.has(word) ? weight / 4 : 0;
      const share = all === 0 ? 0 : sum / all;
      // Of two pieces that hold the same words the shorter one is more about them.
      return {
        piece,
        score: share * (0.9 + 0.1 / (1 + piece.words.size / 20)),
        holds: [...asked].some((word) => piece.words.has(word)),
        // All of the question, or an identifier in it: a ticket, a version, a date.
        isSure:
          [...asked].every((word) => piece.words.has(word)) ||
          [...asked].some((word) => /[^\p{L}\p{M}]/u.test(word) && piece.words.has(word)),
      };
    })
    .filter(({ holds }) => holds)
    .sort((one, other) => other.score - one.score || one.piece.path.localeCompare(other.piece.path));
}

/** The line that holds most of the question, with as many lines around it as a snippet may have characters. */
function resultOf({ path, start, lines }, asked) {
  const counts = lines.map((line) => held(asked, line));
  const best = counts.indexOf(Math.max(...counts));
  let [first, last] = [best, best];
  const size = () => lines.slice(first, last + 1).join("\n").length;
  while (first > 0 && size() + lines[first - 1].length < most) first--;
  while (last < lines.length - 1 && size() + lines[last + 1].length < most) last++;
  const text = lines.slice(first, last + 1).join("\n");
  const snippet = text.length <= most ? text : around(lines[best], asked);
  return { path, startLine: start + first, endLine: start + last, snippet, source: "memory" };
}

/** The part of a long line that holds most of the question. */
function around(line, asked) {
  let best = { count: -1, part: "" };
  for (let at = 0; at < line.length; at += most / 2) {
    const part = line.slice(at, at + most).toWellFormed();
    const count = held(asked, part);
    if (count > best.count) best = { count, part };
  }
  return best.part;
}

const held = (asked, text) => [...wordsOf(text)].filter((word) => asked.has(word)).length;

function why(asked, sources) {
  if (!sources.includes("memory")) return "only notes are searched, and they were not asked for";
  return asked.size === 0 ? "the question holds no word" : "no note holds a word of the question";
}
