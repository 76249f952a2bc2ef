import { BlockList, isIP } from "node:net";

/**
 * Whether a host of a URL is this machine or one of the own network, by its name alone: nothing is looked up. Keys of
 * OpenAI are of no use there.
 */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
  const kind = isIP(host);
  if (kind !== 0) return privateAddresses.check(host, kind === 6 ? "ipv6" : "ipv4");
  // A name of one word is looked up in the own network only: a container, a machine of the office.
  return !host.includes(".") || /\.(?:localhost|local|lan|internal|intranet|home|home\.arpa)$/.test(host);
}

const privateAddresses = new BlockList();
for (const [address, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const)
  privateAddresses.addSubnet(address, prefix, "ipv4");
for (const [address, prefix] of [
  ["::", 127],
  ["fc00::", 7],
  ["fe80::", 10],
] as const)
  privateAddresses.addSubnet(address, prefix, "ipv6");
