import {
  type ChunkRow,
  type FileKey,
  type FileRecord,
  type FoundChunk,
  type Ledger,
  withTerms,
} from "@memslot/indexing";
import { hasIndex } from "../state-folder.ts";

/** A memory file, and whether the index of qmd has it as it is. */
export interface QmdFile extends FileRecord {
  /** How many chunks it has. */
  chunks: number;
  /** The hash that it had when qmd read it last. */
  seen?: string | undefined;
}

/** The state of the index of qmd, as far as it is known from what qmd was told to do. */
interface QmdState {
  /** The hash that each file had when qmd read it last, by `keyOf`. */
  seen: Readonly<Record<string, string>>;
  /** Collections that qmd has found nothing in. */
  empty: readonly string[];
  /** When the last update ended well (ISO 8601). */
  updatedAt?: string | undefined;
  updateMs?: number | undefined;
}

const nothing: QmdState = { seen: {}, empty: [] };
/** The note of the ledger that holds the state. */
const note = "qmd";

/** Which memory files there are, as the ledger has them, and which of them the index of qmd has seen. */
export class QmdRecord {
  readonly #ledger: Ledger;
  readonly #folder: string;
  readonly #readOnly: boolean;
  #revision: string | undefined;
  #noted: string | undefined;
  #byKey: ReadonlyMap<string, QmdFile> = new Map();
  #files: readonly QmdFile[] = [];
  #state = nothing;

  /** `readOnly`: nothing is written. */
  constructor(input: { ledger: Ledger; folder: string; readOnly: boolean }) {
    this.#ledger = input.ledger;
    this.#folder = input.folder;
    this.#readOnly = input.readOnly;
  }

  /** Reads the ledger again where it has changed, also by another process. */
  async refresh(): Promise<void> {
    const [revision, noted] = await Promise.all([this.#ledger.revision(), this.#ledger.noted(note)]);
    // Without its index, nothing that qmd has read counts.
    const known = hasIndex(this.#folder) ? noted : undefined;
    if (revision === this.#revision && known === this.#noted) return;
    const files = revision === this.#revision ? this.#files : await this.#list();
    [this.#revision, this.#noted] = [revision, known];
    this.#set(files, known === undefined ? nothing : (JSON.parse(known) as QmdState));
  }

  /** The chunks of files that have changed are counted. */
  async #list(): Promise<QmdFile[]> {
    const files = await this.#ledger.listFiles();
    const knownOf = (file: FileRecord): QmdFile | undefined => {
      const known = this.get(file);
      return known?.hash === file.hash && known.recipe === file.recipe ? known : undefined;
    };
    const rows = await this.#rowsOf(
      files.filter((file) => knownOf(file) === undefined),
      false,
    );
    return files.map((file) => ({ ...file, chunks: knownOf(file)?.chunks ?? rows.get(keyOf(file))?.length ?? 0 }));
  }

  async #rowsOf(files: readonly FileKey[], withText: boolean): Promise<ReadonlyMap<string, ChunkRow[]>> {
    const sources = [...new Set(files.map(({ source }) => source))];
    const scope = { within: files.map(({ path }) => path), without: [] };
    return Map.groupBy(await this.#ledger.listChunks({ sources, scope, withText }), keyOf);
  }

  #set(files: readonly QmdFile[], state: QmdState): void {
    this.#state = state;
    this.#files = files.map((file) => ({ ...file, seen: state.seen[keyOf(file)] }));
    this.#byKey = new Map(this.#files.map((file) => [keyOf(file), file]));
  }

  async #note(state: QmdState): Promise<void> {
    this.#set(this.#files, state);
    this.#noted = JSON.stringify(state);
    if (!this.#readOnly) await this.#ledger.note(note, this.#noted);
  }

  /** Another list where anything has changed. */
  get files(): readonly QmdFile[] {
    return this.#files;
  }

  get(key: FileKey): QmdFile | undefined {
    return this.#byKey.get(keyOf(key));
  }

  get state(): Omit<QmdState, "seen"> {
    return this.#state;
  }

  /** Paths of files that qmd has read and that are gone since. */
  gone(): string[] {
    const gone = Object.keys(this.#state.seen).filter((key) => !this.#byKey.has(key));
    return gone.map((key) => key.slice(key.indexOf("\n") + 1));
  }

  /** The chunks of these files, in their order. */
  async chunksOf(files: readonly QmdFile[], signal: AbortSignal): Promise<FoundChunk[]> {
    const rows = await this.#rowsOf(files, true);
    return await withTerms(
      files.flatMap((file) => rows.get(keyOf(file)) ?? []),
      signal,
    );
  }

  /** Takes down that qmd has read these files as they were. */
  async markSeen(files: readonly FileRecord[], took: Omit<QmdState, "seen">): Promise<void> {
    await this.#note({ seen: Object.fromEntries(files.map((file) => [keyOf(file), file.hash])), ...took });
  }

  /** The index of qmd is gone, or no longer to be relied on. */
  async forgetSeen(): Promise<void> {
    await this.#note(nothing);
  }
}

export function keyOf({ source, path }: FileKey): string {
  return `${source}\n${path}`;
}
