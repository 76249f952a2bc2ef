import { startObjectStorage } from "@memslot/fakes/object-storage";

/**
 * The object storage as a process of its own. Takes its options as JSON in the first argument, writes
 * `{"url":"…","storageOptions":{…}}` on one line, and ends when its input ends. Lines of its input are `down refuse`,
 * `down hang`, `up` and `stats`, each answered by one line.
 */
const storage = await startObjectStorage(JSON.parse(process.argv[2] ?? "{}"));
const answer = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
answer({ url: storage.url, storageOptions: storage.storageOptions() });

let rest = "";
for await (const part of process.stdin) {
  const lines = (rest + String(part)).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) {
    if (line === "down refuse") storage.down("refuse");
    if (line === "down hang") storage.down("hang");
    if (line === "up") storage.up();
    answer(storage.stats());
  }
}
await storage.stop();
