import path from "node:path";
import type { LeftOut } from "@memslot/core";
import { ignoredFolders } from "../ignored-folders.ts";
import { type IgnoreFile, type KnownIgnoreFiles, readIgnoreFile } from "./ignore-file.ts";

/** Folders within folders that a folder of notes may have: with the depth grows the work of each rule. */
export const maxDepth = 64;

/** What of a folder of notes is left out because of its name, or because a `.gitignore` names it. */
export interface FolderRules {
  /** Lines of the `.gitignore` of this folder that are passed over. */
  readonly problems: readonly string[];
  /** Why an entry of the folder is left out; undefined where it may be a note or hold some. */
  leavesOut(name: string, isFolder: boolean): LeftOut["reason"] | undefined;
  /** The rules of a folder in it. Throws where its `.gitignore` is there and cannot be read. */
  enter(name: string): FolderRules;
}

/** Where the rules of a folder of notes begin, and what no rule has to name. */
export interface RulesInput {
  /** Canonical absolute path of the folder of notes: a `.gitignore` above it counts for nothing. */
  folder: string;
  /** The state folder: what it holds is memslot's own, wherever it lies. */
  stateDir?: string | undefined;
  /** For a caller that looks more than once. */
  known?: KnownIgnoreFiles | undefined;
}

/** The rules of the folder itself. Throws as `enter` does. */
export function folderRules({ folder, stateDir, known }: RulesInput): FolderRules {
  return rulesOf(folder, []);

  /** `above`: the lists that count here, the nearest first, each with the way from its folder to this one. */
  function rulesOf(own: string, above: readonly { rules: IgnoreFile["rules"]; way: string }[]): FolderRules {
    const file: IgnoreFile | undefined = readIgnoreFile(own, known);
    const lists = file === undefined ? above : [{ rules: file.rules, way: "" }, ...above];
    return {
      problems: file?.problems ?? [],
      leavesOut(name, isFolder) {
        if (name.startsWith(".")) return "hidden";
        if (isFolder && (ignoredFolders.has(name) || path.join(own, name) === stateDir)) return "tool";
        // As git does: the last line that is about it, in the nearest list that has one.
        for (const { rules, way } of lists) {
          const { ignored, unignored } = rules.test(`${way}${name}${isFolder ? "/" : ""}`);
          if (ignored) return "ignored";
          if (unignored) return undefined;
        }
        return undefined;
      },
      enter: (name) =>
        rulesOf(
          path.join(own, name),
          lists.map(({ rules, way }) => ({ rules, way: `${way}${name}/` })),
        ),
    };
  }
}

/** Whether the rules let a file through, by its path from the folder with `/`. False too where they cannot be read. */
export function letsThrough(input: RulesInput, file: string): boolean {
  const parts = file.split("/");
  let rules = unlessUnreadable(() => folderRules(input));
  for (const [index, part] of parts.entries()) {
    const isFolder = index < parts.length - 1;
    const own = rules;
    if (own === undefined || index > maxDepth || own.leavesOut(part, isFolder) !== undefined) return false;
    rules = isFolder ? unlessUnreadable(() => own.enter(part)) : own;
  }
  return true;
}

/** Rules where they can be read: whoever lists the folder says why they cannot. */
export function unlessUnreadable(read: () => FolderRules | undefined): FolderRules | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
