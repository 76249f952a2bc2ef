// Starts a real S3 server on 127.0.0.1, Ceph's gateway, in a temporary folder, and prints how it is reached. Runs until it
// is ended, and leaves nothing. On Debian: apt-get install --no-install-recommends radosgw ceph-mon ceph-osd ceph-common
import { missingPrograms, startS3Gateway } from "../test/fakes/src/s3-gateway/index.ts";

const missing = missingPrograms();
if (missing.length > 0) {
  console.error(`not installed: ${missing.join(", ")}; the packages are radosgw, ceph-mon, ceph-osd and ceph-common`);
  process.exit(1);
}
const gateway = await startS3Gateway();
console.log(
  JSON.stringify({ pid: process.pid, dbPath: "s3://notes/memory", storageOptions: gateway.storageOptions() }),
);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void gateway.stop().then(() => process.exit(0)));
