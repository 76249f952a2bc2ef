import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { cephConfig, keyring } from "./ceph-files.ts";
import { type Daemon, isInstalled, runToEnd, startDaemon } from "./daemons.ts";
import { putBucket } from "./put-bucket.ts";

/** A real S3 server on 127.0.0.1: the gateway of Ceph, before a cluster of one monitor and one OSD that keeps all in memory. */
export interface S3Gateway {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** What LanceDB wants to know to use it, under `s3://notes`, a bucket that is there. */
  storageOptions(): Record<string, string>;
  /** How many requests it has answered so far, by its own log. */
  requests(): Promise<number>;
  /** Ends the gateway alone: connections are refused, and what is stored stays. */
  down(): Promise<void>;
  /** Starts it again. */
  up(): Promise<void>;
  /** Ends all of it and deletes its folder. */
  stop(): Promise<void>;
}

const programs = ["ceph", "ceph-authtool", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin", "setpriv"];
const accessKeyId = "gateway-key";
const secretAccessKey = "gateway-secret";
const bucket = "notes";
const startMs = 180_000;
const stepMs = 120_000;

/** Programs that the gateway needs and that are not on the path: none where it can be started. */
export function missingPrograms(): string[] {
  if (process.platform !== "linux") return programs;
  return programs.filter((program) => !isInstalled(program));
}

/**
 * Starts one in a folder of its own, in some 10 seconds. Its processes end with this one. Rejects where it does not come
 * up, with the end of what it has said.
 */
export async function startS3Gateway(): Promise<S3Gateway> {
  const folder = await mkdtemp(join(tmpdir(), "memslot-s3-"));
  const daemons: Daemon[] = [];
  const stop = async (): Promise<void> => {
    // The gateway first: it waits for those behind it.
    for (const daemon of daemons.splice(0).toReversed()) await daemon.end();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const [port, monitorPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    await makeCluster(folder, { port, monitorPort });
    daemons.push(startDaemon(folder, "ceph-mon", ["-f", "-i", "a"]));
    await runToEnd(folder, "ceph", ["--connect-timeout", "60", "osd", "create"], stepMs);
    await runToEnd(folder, "ceph-osd", ["-i", "0", "--mkfs", "--osd-uuid", randomUUID()], stepMs);
    daemons.push(startDaemon(folder, "ceph-osd", ["-f", "-i", "0"]));
    const startGateway = async (): Promise<Daemon> => {
      const gateway = startDaemon(folder, "radosgw", ["-f", "-n", "client.rgw"]);
      daemons.push(gateway);
      await answering(url, gateway);
      return gateway;
    };
    let gateway = await startGateway();
    const user = ["user", "create", "--uid=tests", "--display-name=tests"];
    const keys = [`--access-key=${accessKeyId}`, `--secret-key=${secretAccessKey}`];
    await runToEnd(folder, "radosgw-admin", ["-n", "client.rgw", ...user, ...keys], stepMs);
    await putBucket(url, bucket, { accessKeyId, secretAccessKey });
    return {
      url,
      storageOptions: () => ({
        endpoint: url,
        allow_http: "true",
        region: "us-east-1",
        access_key_id: accessKeyId,
        secret_access_key: secretAccessKey,
      }),
      requests: () => countLines(join(folder, "client.rgw.log"), "beast: "),
      async down() {
        daemons.splice(daemons.indexOf(gateway), 1);
        await gateway.end();
      },
      async up() {
        gateway = await startGateway();
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function makeCluster(folder: string, ports: { port: number; monitorPort: number }): Promise<void> {
  const { id, text } = cephConfig(folder, ports);
  for (const name of ["mon", "osd", "rgw"]) await mkdir(join(folder, name));
  await writeFile(join(folder, "ceph.conf"), text);
  await writeFile(join(folder, "keyring"), keyring(), { mode: 0o600 });
  const address = `[v2:127.0.0.1:${ports.monitorPort}]`;
  await runToEnd(folder, "monmaptool", ["--create", "--addv", "a", address, "--fsid", id, "monmap"], stepMs);
  await runToEnd(folder, "ceph-mon", ["--mkfs", "-i", "a", "--monmap", "monmap", "--keyring", "keyring"], stepMs);
}

async function answering(url: string, gateway: Daemon): Promise<void> {
  const until = Date.now() + startMs;
  while (
    !(await fetch(url).then(
      (response) => response.body?.cancel().then(() => true) ?? true,
      () => false,
    ))
  ) {
    if (Date.now() > until || gateway.hasEnded()) throw new Error(`the gateway does not come up: ${gateway.said()}`);
    await pause(100);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}

async function countLines(path: string, holding: string): Promise<number> {
  let count = 0;
  for await (const line of createInterface({ input: createReadStream(path) })) if (line.includes(holding)) count++;
  return count;
}
