import { statSync } from "node:fs";
import { type ClientFolders, type ClientSource, clientSources, type SyncFailure } from "@memslot/core";
import { createTimeSlices } from "../../time-slices.ts";
import { clients } from "./all-agents.ts";
import type { ClientFile } from "./agent.ts";
import { findFiles, folderIn } from "./find-files.ts";
import { createProjectMatch, everywhere } from "./project.ts";

/** What one program keeps on this machine. */
export interface ClientSurvey {
  readonly source: ClientSource;
  /** As people call it. */
  readonly name: string;
  /** Where it keeps that, whether or not the folders are there. */
  readonly folders: readonly string[];
  readonly conversations: number;
  /** Of these, those of the project that is asked from. */
  readonly inProject: number;
  /** Different folders that they were had in, as far as that is known. */
  readonly projects: number;
  readonly notes: number;
  /** Of its files and databases. */
  readonly bytes: number;
  /** What is there and cannot be looked at. */
  readonly failed: readonly SyncFailure[];
}

/** Counts what other programs keep. Reads the beginnings of transcripts and indexes nothing. */
export async function surveyClients(input: {
  folders: ClientFolders;
  projectDir: string;
  signal: AbortSignal;
}): Promise<ClientSurvey[]> {
  const { folders, signal } = input;
  const isInProject = createProjectMatch(input.projectDir);
  const slices = createTimeSlices(signal);
  const surveys: ClientSurvey[] = [];
  for (const source of clientSources) {
    const client = clients[source];
    const own = folders[source] ?? [];
    const { files, result } = await findFiles(client, own, signal);
    const conversations = [...files.values()].filter(({ kind }) => kind !== "note");
    const projects = new Map<string, number>();
    for (const file of conversations) {
      if (slices.isOver()) await slices.pause();
      const folder =
        file.folder ?? (await folderIn(file, client.recordOf, signal).catch(() => signal.throwIfAborted())) ?? "";
      projects.set(folder, (projects.get(folder) ?? 0) + 1);
    }
    const known = [...projects].filter(([folder]) => folder !== "" && folder !== everywhere);
    surveys.push({
      source,
      name: client.name,
      folders: own,
      conversations: conversations.length,
      inProject: known.reduce((sum, [folder, count]) => sum + (isInProject(folder) ? count : 0), 0),
      projects: known.length,
      notes: files.size - conversations.length,
      bytes: bytesOf([...files.values()]),
      failed: result.failed,
    });
  }
  return surveys;
}

/** A database holds many conversations. */
function bytesOf(files: readonly ClientFile[]): number {
  const places = new Set(files.map(({ absolutePath }) => absolutePath));
  return [...places].reduce((sum, place) => sum + (statSync(place, { throwIfNoEntry: false })?.size ?? 0), 0);
}
