import { existsSync, statSync } from "node:fs";
import type { ChunkIndex, IndexedFile, VectorSpace } from "@memslot/indexing";
import { expect } from "vitest";
import { embedAll, fileOf, spaceOf } from "./stores.ts";

export const space: VectorSpace = spaceOf("m", 512);

/** A text of some 1,300 characters that no other one equals, with a word that no other one has. */
export function textOf(name: string, version = 0): string {
  return `${name}key${version} ${others(name, version)}`;
}

function others(name: string, version: number): string {
  return Array.from({ length: 120 }, (_, word) => `${name}v${version}w${(word * 31 + version) % 997}`).join(" ");
}

export function noteOf(name: string, version = 0): IndexedFile {
  return fileOf(
    `${name}.md`,
    Array.from({ length: 6 }, (_, part) => textOf(`${name}p${part}`, part === 0 ? version : 0)),
  );
}

export const notes: readonly IndexedFile[] = Array.from({ length: 36 }, (_, index) => noteOf(`note${index}`));

export async function fill(store: ChunkIndex): Promise<void> {
  await store.replaceFiles(notes);
  await store.useSpace(space);
  await embedAll(store, space);
}

export async function faultsOf(store: ChunkIndex): Promise<unknown[]> {
  const findings = (await store.upkeep?.check()) ?? [];
  expect(findings.length).toBeGreaterThan(0);
  return findings.filter(({ ok }) => !ok);
}

export function bytesOf(path: string): number {
  return ["", "-wal", "-shm"].reduce(
    (sum, suffix) => sum + (existsSync(path + suffix) ? statSync(path + suffix).size : 0),
    0,
  );
}
