import { createHash } from "node:crypto";

/** The longest part that is taken over as it is; an agent id of the configuration has at most 64 characters. */
const maxLength = 96;

/**
 * The name of an agent as one part of a path, of an object's key and of a table's name. Ids of the configuration stay
 * what they are. Others are made safe and end with a mark of their own, so that no two agents get one name.
 */
export function agentFolder(agentId: string): string {
  // A dot at the end is dropped by Windows.
  if (/^\w(?:[\w.-]*[\w-])?$/.test(agentId) && agentId.length <= maxLength) return agentId;
  const mark = createHash("sha256").update(agentId).digest("hex").slice(0, 12);
  return `_${agentId.replaceAll(/[^\w-]/g, "_").slice(0, 64)}-${mark}`;
}
