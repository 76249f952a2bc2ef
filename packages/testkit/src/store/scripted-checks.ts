import assert from "node:assert/strict";
import type { FileChunks, VectorSpace } from "@memslot/indexing";
import data from "../data/store-scripts.json" with { type: "json" };
import {
  type LabBuild,
  type StoreCheck,
  type StoreLab,
  chunkOf,
  exactly,
  note,
  one,
  vectorOf,
} from "./store-test-environment.ts";

/**
 * A file as the scripts write it. A path may begin with a source and a colon. With `count`, `{}` is replaced by the numbers
 * from 0 on. `texts` are chunks at the lines 1, 11, 21 and so on; `chunks` name their lines.
 */
interface FileData {
  path: string;
  texts?: string[];
  chunks?: [text: string, line: number, own?: { terms?: string; context?: string }][];
  /** Stands for the content, from which the hash is made. */
  version?: string;
  recipe?: string;
  fromLine?: number;
  count?: number;
}

type FileSpec = string | [path: string, ...texts: string[]] | FileData;

function filesOf(specs: readonly FileSpec[]): FileChunks[] {
  return specs.flatMap((spec) => {
    const [path, ...texts] = [spec].flat();
    if (path === undefined || typeof path === "string") return fileOf({ path: path ?? "", texts: texts as string[] });
    const { count } = path;
    if (count === undefined) return fileOf(path);
    const text = JSON.stringify({ ...path, count: undefined });
    return Array.from({ length: count }, (_, index) => fileOf(JSON.parse(text.replaceAll("{}", `${index}`))));
  });
}

function fileOf({ path: named, texts = [], chunks, version, recipe, fromLine }: FileData): FileChunks {
  const [, source = "memory", path = ""] = /^(?:([^:/]+):)?(.*)$/su.exec(named) ?? [];
  const file = note(path, ...(version === undefined ? texts : [version]));
  const own = chunks?.map(([text, line, more]) => chunkOf(text, line, more));
  return { ...file, source, recipe: recipe ?? file.recipe, chunks: own ?? file.chunks, fromLine };
}

const spaceOf = (spec: string | Partial<VectorSpace>): VectorSpace =>
  typeof spec === "string" ? { ...one, model: spec } : { ...one, ...spec };

interface Run {
  lab: StoreLab;
  build?: LabBuild;
}

const buildOf = ({ build }: Run): LabBuild => build ?? assert.fail("the script starts no build");

/** Each step is done in the store under test and in the reference, which must then agree. */
const steps = {
  agree: ({ lab }: Run) => lab.agree(),
  put: ({ lab }: Run, ...files: FileSpec[]) => lab.put(...filesOf(files)),
  remove: ({ lab }: Run, ...files: FileSpec[]) => lab.remove(...filesOf(files)),
  /** Gives vectors to texts. A number stands for a vector. Left out, a text is its own number. */
  embed({ lab }: Run, name: string | Partial<VectorSpace>, texts: string[], numbers = texts) {
    const space = spaceOf(name);
    return lab.embed(space, texts, (text) => vectorOf(Number(numbers[texts.indexOf(text)]), space.dimensions));
  },
  near({ lab }: Run, name: string | Partial<VectorSpace>, number: string, filter?: Parameters<StoreLab["near"]>[2]) {
    const space = spaceOf(name);
    return lab.near(space, vectorOf(Number(number), space.dimensions), filter);
  },
  words: ({ lab }: Run, ...terms: string[]) => lab.words(exactly(...terms)),
  prefix: ({ lab }: Run, term: string) => lab.words([{ term, prefix: true }]),
  /** Searches for terms, of which `*` at the end makes a prefix, in some of the files. */
  search: ({ lab }: Run, terms: string[], filter: Parameters<StoreLab["words"]>[1]) =>
    lab.words(
      terms.map((term) => ({ term: term.replace("*", ""), prefix: term.endsWith("*") })),
      filter,
    ),
  reopen: ({ lab }: Run) => lab.reopen(),
  /** Starts or resumes a build; the steps `build.…` are about the last one. */
  async build(run: Run, name: string) {
    run.build = await run.lab.build(name);
  },
  "build.put": (run: Run, ...files: FileSpec[]) => buildOf(run).put(...filesOf(files)),
  "build.remove": (run: Run, ...files: FileSpec[]) => buildOf(run).remove(...filesOf(files)),
  "build.finish": (run: Run) => buildOf(run).finish(),
  "build.abandon": (run: Run) => buildOf(run).abandon(),
};

type Script = Omit<StoreCheck, "run"> & { steps: [verb: keyof typeof steps, ...given: never[]][] };

/** Files, tails, chunks, words, vectors and builds: the checks that are a list of steps. */
export const scriptChecks: readonly StoreCheck[] = (data as unknown as Script[]).map(({ steps: script, ...check }) => ({
  ...check,
  async run(lab: StoreLab) {
    const run: Run = { lab };
    for (const [index, [verb, ...given]] of script.entries()) {
      try {
        await (steps[verb] as (run: Run, ...given: never[]) => Promise<unknown>)(run, ...given);
      } catch (error) {
        throw new Error(`step ${index + 1}, ${verb} ${JSON.stringify(given).slice(0, 300)}`, { cause: error });
      }
    }
  },
}));
