// Puts in, replaces and takes out chunks with vectors as fast as it can, without end. Arguments: path, seed.
import { fileOf, openHere, spaceOf, vectorOf } from "../../src/test/stores.ts";
import { randomFrom } from "./vectors.ts";

const [path = "", seed = "1"] = process.argv.slice(2);
const random = randomFrom(Number(seed));
const space = spaceOf("m", 16);
const store = openHere(path, { busyTimeoutMs: 30_000 });
store.useSpace(space);
process.stdout.write("open\n");
for (;;) {
  const file = `${Math.floor(random() * 12)}.md`;
  const source = random() < 0.5 ? "memory" : "sessions";
  const texts = Array.from({ length: Math.floor(random() * 150) }, () => `word ${Math.floor(random() * 3000)}`);
  if (random() < 0.85) store.replaceFiles([fileOf(file, texts, source)]);
  else store.removeFiles([{ path: file, source }]);
  const pending = store.pendingVectors(space, 10_000);
  store.putVectors(
    space,
    pending.map(({ hash, text }) => ({ hash, vector: vectorOf(text, 16) })),
  );
  if (random() < 0.1) await store.tidy();
  process.stdout.write(".");
}
