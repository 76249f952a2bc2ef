import { type ChunkRow, type FileKey, type FileRecord, type Ledger } from "@memslot/indexing";
import { type FoundChunk, withTerms } from "@memslot/indexing/engine";
import { hasIndex } from "../state-folder.ts";

export interface QmdFile extends FileRecord {
  chunks: number;
  seen?: string | undefined;
}

interface IndexState {
  /** The hash of each file when qmd read it last, by `keyOf`. */
  seen: Readonly<Record<string, string>>;
  empty: readonly string[];
  updatedAt?: string | undefined;
  updateMs?: number | undefined;
}

const noState: IndexState = { seen: {}, empty: [] };
const note = "qmd";

export class QmdRecord {
  readonly #input: { ledger: Ledger; folder: string; readOnly: boolean };
  #revision: string | undefined;
  #noted: string | undefined;
  #byKey: ReadonlyMap<string, QmdFile> = new Map();
  #files: readonly QmdFile[] = [];
  #state = noState;

  constructor(input: { ledger: Ledger; folder: string; readOnly: boolean }) {
    this.#input = input;
  }

  /** Reads the ledger again if this or another process changed it. */
  async refresh(): Promise<void> {
    const { ledger, folder } = this.#input;
    const [revision, written] = await Promise.all([ledger.revision(), ledger.noted(note)]);
    // Without its index qmd has read nothing.
    const noted = hasIndex(folder) ? written : undefined;
    if (revision === this.#revision && noted === this.#noted) return;
    const files = revision === this.#revision ? this.#files : await this.#list();
    [this.#revision, this.#noted] = [revision, noted];
    this.#set(files, noted === undefined ? noState : (JSON.parse(noted) as IndexState));
  }

  async #list(): Promise<QmdFile[]> {
    const files = await this.#input.ledger.listFiles();
    const known = files.map((file) => {
      const before = this.get(file);
      return before?.hash === file.hash && before.recipe === file.recipe ? before.chunks : undefined;
    });
    const rows = await this.#rowsOf(
      files.filter((_, at) => known[at] === undefined),
      false,
    );
    return files.map((file, at) => ({ ...file, chunks: known[at] ?? rows.get(keyOf(file))?.length ?? 0 }));
  }

  async #rowsOf(files: readonly FileKey[], withText: boolean): Promise<ReadonlyMap<string, ChunkRow[]>> {
    const sources = [...new Set(files.map(({ source }) => source))];
    const scope = { within: files.map(({ path }) => path), without: [] };
    return Map.groupBy(await this.#input.ledger.listChunks({ sources, scope, withText }), keyOf);
  }

  #set(files: readonly QmdFile[], state: IndexState): void {
    this.#state = state;
    this.#files = files.map((file) => ({ ...file, seen: state.seen[keyOf(file)] }));
    this.#byKey = new Map(this.#files.map((file) => [keyOf(file), file]));
  }

  async #note(state: IndexState): Promise<void> {
    this.#set(this.#files, state);
    this.#noted = JSON.stringify(state);
    const { ledger, readOnly } = this.#input;
    if (!readOnly) await ledger.note(note, this.#noted);
  }

  get files(): readonly QmdFile[] {
    return this.#files;
  }

  get(key: FileKey): QmdFile | undefined {
    return this.#byKey.get(keyOf(key));
  }

  get state(): Omit<IndexState, "seen"> {
    return this.#state;
  }

  removed(): string[] {
    const keys = Object.keys(this.#state.seen).filter((key) => !this.#byKey.has(key));
    return keys.map((key) => key.slice(key.indexOf("\n") + 1));
  }

  async chunksOf(files: readonly QmdFile[], signal: AbortSignal): Promise<FoundChunk[]> {
    const rows = await this.#rowsOf(files, true);
    return await withTerms(
      files.flatMap((file) => rows.get(keyOf(file)) ?? []),
      signal,
    );
  }

  async markSeen(files: readonly FileRecord[], state: Omit<IndexState, "seen">): Promise<void> {
    await this.#note({ seen: Object.fromEntries(files.map((file) => [keyOf(file), file.hash])), ...state });
  }

  async forgetSeen(): Promise<void> {
    await this.#note(noState);
  }
}

export function keyOf({ source, path }: FileKey): string {
  return `${source}\n${path}`;
}
