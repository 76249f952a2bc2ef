import { randomBytes, randomUUID } from "node:crypto";

/** The configuration of a cluster that lies in this folder alone, and its id. */
export function cephConfig(
  folder: string,
  { port, monitorPort }: { port: number; monitorPort: number },
): { id: string; text: string } {
  const id = randomUUID();
  const settings: Record<string, string> = {
    fsid: id,
    "mon host": `[v2:127.0.0.1:${monitorPort}]`,
    "public addr": "127.0.0.1",
    "cluster addr": "127.0.0.1",
    // One copy of everything, in one group for each pool, in memory.
    "osd pool default size": "1",
    "osd pool default min size": "1",
    "osd pool default pg num": "1",
    "osd pool default pgp num": "1",
    "osd pool default pg autoscale mode": "off",
    "osd crush chooseleaf type": "0",
    "mon allow pool size one": "true",
    "osd objectstore": "memstore",
    "memstore device bytes": "4294967296",
    // Nothing of it outside of the folder.
    "run dir": folder,
    "admin socket": `${folder}/$name.asok`,
    "pid file": `${folder}/$name.pid`,
    "log file": `${folder}/$name.log`,
    "mon data": `${folder}/mon`,
    "osd data": `${folder}/osd`,
    keyring: `${folder}/keyring`,
    "rgw data": `${folder}/rgw`,
    "rgw frontends": `beast endpoint=127.0.0.1:${port}`,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  return { id, text: `[global]\n${lines.join("\n")}\n` };
}

/** The keys of the cluster and what they are good for, made anew with each call. */
export function keyring(): string {
  return [
    entry("mon.", { mon: "allow *" }),
    entry("client.admin", { mon: "allow *", osd: "allow *", mgr: "allow *" }),
    entry("osd.0", { mon: "allow profile osd", osd: "allow *" }),
    entry("client.rgw", { mon: "allow rw", osd: "allow rwx" }),
  ].join("");
}

function entry(name: string, caps: Record<string, string>): string {
  const rights = Object.entries(caps).map(([kind, cap]) => `caps ${kind} = "${cap}"\n`);
  return `[${name}]\nkey = ${secretKey()}\n${rights.join("")}`;
}

/** A key as Ceph writes it: kind 1 (AES), seconds and nanoseconds of its making, its length, and 16 bytes. */
function secretKey(): string {
  const head = Buffer.alloc(12);
  head.writeUInt16LE(1, 0);
  head.writeUInt32LE(Math.floor(Date.now() / 1000), 2);
  head.writeUInt16LE(16, 10);
  return Buffer.concat([head, randomBytes(16)]).toString("base64");
}
