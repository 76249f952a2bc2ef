import type { MemorySource } from "./status.ts";

/**
 * The passages of the memory as points: near each other where they are about the same, as far as two dimensions can show
 * it. A list for each thing, with an entry for each point, so that 20,000 of them are quickly handed on.
 */
export interface MemoryMap {
  /** What the places are made of: vectors of the space in use, or words where there are none. */
  by: "meaning" | "words";
  notes: readonly MapNote[];
  /** Of each point the index of its note, its lines (1-based and inclusive), and its place, both -1 to 1. */
  note: readonly number[];
  startLine: readonly number[];
  endLine: readonly number[];
  x: readonly number[];
  y: readonly number[];
  /** How many passages there are. Of more than 50,000 some are drawn; one without a vector is not. */
  passages: number;
  /**
   * Where more dimensions than two were asked for: the place of each point in all of them as bytes from -127 to 127, one point
   * behind the other, and behind them the query's where it has a place; in Base64. A finer picture can be made of it.
   */
  fine?: string | undefined;
  /** Where the query would be. */
  query?: readonly [x: number, y: number] | undefined;
}

export interface MapNote {
  path: string;
  source: MemorySource;
  /** The day that it is of, by its name, or else when it was saved: `2026-03-05`. */
  day: string;
}

/** A passage that is near another one. */
export interface NearPassage {
  path: string;
  source: MemorySource;
  startLine: number;
  endLine: number;
  /** The first of its words. */
  text: string;
}
