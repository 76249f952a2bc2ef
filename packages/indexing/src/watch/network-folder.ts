import { statfsSync } from "node:fs";

/** File systems whose changes are made elsewhere, by the number that Linux gives them. */
const remote = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "SMB"],
  [0xfe534d42, "SMB"],
  [0x65735546, "FUSE"],
  [0x01021997, "9P"],
  [0x5346414f, "AFS"],
  [0x6b414653, "AFS"],
  [0x00c36400, "Ceph"],
  [0x73757245, "Coda"],
  [0x564c, "NCP"],
  [0x786f4256, "VirtualBox"],
  [0xbacbacbc, "VMware"],
]);

/**
 * The kind of network or shared file system that a folder is on, where the system tells. There the kernel sees only the
 * changes that are made on this machine: a watch would be silent about the others.
 */
export function networkFileSystem(folder: string): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    // The number is signed on some machines.
    return remote.get(statfsSync(folder).type >>> 0);
  } catch {
    // A folder that is not there now is looked at when it comes.
    return undefined;
  }
}
