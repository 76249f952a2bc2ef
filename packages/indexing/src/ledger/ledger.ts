import type {
  ChunkIndex,
  FileRecord,
  FileTable,
  FoundRow,
  IndexCalls,
  IndexedFile,
  RevisionStep,
} from "../chunk-index.ts";
import type { FileKey, ScoredChunk, StoredFile, VectorSpace } from "../chunk-store.ts";
import type { Remote } from "./thread/remote.ts";

/** Vectors of one space that the store is owed. */
export interface OwedVectors {
  space: VectorSpace;
  entries: readonly { hash: string; vector: Float32Array }[];
}

/** What a comparison of the ledger with the list of a store has shown, and what the ledger made of it. */
export interface Reconciled {
  /** Files that the store does not hold as the ledger has them: they are forgotten, and the next sync reads them again. */
  lost: readonly FileKey[];
  /** Files that the store holds and the ledger does not know, or knows otherwise. */
  unknown: readonly StoredFile[];
}

/** The calls of a ledger that are for a store elsewhere. */
interface ElsewhereCalls {
  /** The chunks of the build that answers that these rows name, in their order. Left out: what the ledger does not know. */
  rowsOf(found: readonly ScoredChunk[]): FoundRow[];
  /**
   * The store is to have the vectors of this space from now on: those of all chunks are owed to it, unless they have been
   * given before. From then on `replaceFiles`, `putVectors` and a build owe what they bring.
   */
  oweVectors(space: VectorSpace): void;
  /** Some of what is owed, of one space. Undefined where nothing is. It stays owed until `paidVectors`. */
  owedVectors(limit: number): OwedVectors | undefined;
  /** The store has them. */
  paidVectors(space: VectorSpace, hashes: readonly string[]): void;
  /**
   * The store has vectors for all chunks of these files in this space, which another host has made: for this store they
   * count as embedded. Their numbers are not known here, so that they count for no other store.
   */
  adoptVectors(space: VectorSpace, files: readonly FileKey[]): void;
  /**
   * Compares its files with those that the store holds, of the build that answers or of the one with this number. What
   * differs in hash or recipe, or is not held, is forgotten. Where `embedded` says so, vectors are adopted or owed again.
   */
  reconcile(held: readonly StoredFile[], build?: number): Reconciled;
}

/** What the thread of a ledger answers. With `build`, a number that `startBuild` has given, a call is about that build. */
export interface LedgerCalls extends IndexCalls, ElsewhereCalls {
  listFiles(build?: number): FileRecord[];
  replaceFiles(files: readonly IndexedFile[], build?: number): RevisionStep | undefined;
  touchFiles(files: readonly FileRecord[], build?: number): RevisionStep | undefined;
  removeFiles(files: readonly FileKey[], build?: number): RevisionStep | undefined;
  revision(): string;
  startBuild(name: string): number;
  /** The build that is being made, whoever began it. `finishBuild` is about it from then on. */
  currentBuild(): { name: string; build: number } | undefined;
}

/** The files of one build in the ledger. `build` is the number that `startBuild` has given. */
export interface LedgerBuild extends FileTable {
  build: number;
}

/**
 * What is known of files, chunks, vectors and builds, whatever the store: one SQLite file for an agent and a workspace,
 * in a thread of its own. It keeps the texts of the chunks and every vector once; a store keeps what it needs to find
 * them. Several stores can have their files in one ledger, each knows its own only; the vectors are for all of them.
 */
export interface Ledger
  extends Omit<ChunkIndex, "adoptFiles" | "giveVectors" | "searchKeyword" | "searchVector">, Remote<ElsewhereCalls> {
  startBuild(name: string): Promise<LedgerBuild>;
  currentBuild(): Promise<{ name: string; table: LedgerBuild } | undefined>;
}

export interface LedgerOptions {
  /** Whose files these are, such as `memory-lancedb`: each store has its own in the same ledger. */
  store: string;
  /** Absolute path of the database file. It is made where it is missing, with its folder. */
  path: string;
  /** False: a ledger that is not there is not made on disk, only in memory for as long as it is open. */
  mayCreate?: boolean | undefined;
  /** True: nobody else has a reason to put a file there, as in the state folder. One that is no database is set aside. */
  isOwnPlace?: boolean | undefined;
  /** Whose notes it holds. A file that was made for another agent is not used. Absent: anybody's. */
  owner?: { agentId: string; workspaceDir: string } | undefined;
  /** A folder for the locks of the leases, not beside the file. Absent: the ledger has no leases. */
  locksDir?: string | undefined;
  /** Vectors to keep beside those of the chunks that are there. */
  cacheMaxEntries: number;
  /** True: whoever opens it asks one question and ends, for which no thread is started where the file is there. */
  oneShot?: boolean | undefined;
  /** Gives up opening. */
  signal?: AbortSignal | undefined;
}
