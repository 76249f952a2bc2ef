import type { SyntheticChunk, SyntheticQuery } from "./synthetic.ts";

/** An index that is there, asked in this process. */
interface OpenedEngine {
  /** The nearest chunks by their vectors, nearest first, by their numbers. At most `limit`. */
  vector(query: SyntheticQuery, limit: number): Promise<readonly number[]> | readonly number[];
  /** Words and vector, each `limit` rows; how many rows came together. */
  hybrid(query: SyntheticQuery, limit: number): Promise<number> | number;
  close(): Promise<void> | void;
}

/** One way to keep chunks and find them again, as `pnpm bench scale` measures it. */
export interface ScaleEngine {
  name: string;
  /** One line for a reader of the table. */
  about: string;
  /** Makes the index of these chunks in an empty folder. */
  build(folder: string, blocks: Iterable<readonly SyntheticChunk[]>): Promise<void>;
  open(folder: string): Promise<OpenedEngine>;
}
