import { Damage, Foreign } from "./file-faults.ts";
import { type Meta, metaKeys } from "./meta.ts";

/** Whose notes an index holds. */
export interface IndexOwner {
  agentId: string;
  workspaceDir: string;
}

/**
 * Throws `Foreign` when the index was made for another agent: one agent never sees what another remembers. A workspace
 * may move.
 */
export function checkAgent(meta: Meta, owner: IndexOwner | undefined): void {
  const known = readOwner(meta);
  if (owner === undefined || known === undefined || known.agentId === owner.agentId) return;
  throw new Foreign(
    `it holds the notes of the agent "${known.agentId}", not of "${owner.agentId}", and each agent has an index of its own`,
    "write {agentId} into store.path",
  );
}

/** True when it is not recorded, or not in this way. */
export function isNewOwner(meta: Meta, owner: IndexOwner | undefined): boolean {
  return owner !== undefined && meta.get(metaKeys.owner) !== textOf(owner);
}

/** Called inside a write transaction. Throws as `checkAgent` does: another process may have been faster. */
export function recordOwner(meta: Meta, owner: IndexOwner): void {
  checkAgent(meta, owner);
  meta.set(metaKeys.owner, textOf(owner));
}

function readOwner(meta: Meta): Partial<IndexOwner> | undefined {
  const text = meta.get(metaKeys.owner);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Partial<IndexOwner>;
  } catch {
    // Never taken for nobody's.
    throw new Damage("it does not say whose notes it holds");
  }
}

function textOf({ agentId, workspaceDir }: IndexOwner): string {
  return JSON.stringify({ agentId, workspaceDir });
}
