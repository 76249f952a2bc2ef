import { existsSync } from "node:fs";
import path from "node:path";
import type { Client, ClientPlace } from "./client.ts";
import { allClients } from "./clients/all-clients.ts";

/** The clients that this machine seems to have: a folder of theirs is there, or their program is on the PATH. */
export function findClients(place: ClientPlace): Client[] {
  return allClients.filter(
    (client) =>
      client.signs(place).some((sign) => place.exists(sign)) || client.programs.some((name) => onPath(name, place)),
  );
}

function onPath(name: string, { env, platform }: ClientPlace): boolean {
  const endings = platform === "win32" ? [".cmd", ".exe"] : [""];
  const folders = (env["PATH"] ?? "").split(path.delimiter).filter((folder) => folder !== "");
  return folders.some((folder) => endings.some((ending) => existsSync(path.join(folder, name + ending))));
}
