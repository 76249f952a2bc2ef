import { type ObjectStorage, startObjectStorage } from "@memslot/fakes/object-storage";
import { afterwards } from "@memslot/test-tools/files";
import { deterministicEmbeddings } from "@memslot/testkit";
import type { Memory } from "memslot";
import { expect } from "vitest";
import { ask, useHouse } from "./temp-workspace.ts";

export function inBucket(storage: ObjectStorage, slot = "memory-lancedb"): Record<string, unknown> {
  const config = { dbPath: "s3://notes/team", storageOptions: storage.storageOptions() };
  return { plugins: { slots: { memory: slot }, entries: { [slot]: { config } } } };
}

const objects: Record<string, RegExp> = {
  "the versions of the files": /v2_files_\d+\.lance\/_versions/,
  "the files": /v2_files_\d+\.lance\/data/,
  "deleted rows": /_deletions\//,
  "the index of the words": /_indices\//,
  "the versions of the vectors": /v2_vectors_\w+\.lance\/_versions/,
  "the vectors": /v2_vectors_\w+\.lance\/data/,
  "the versions of the leases": /v2_leases\.lance\/_versions/,
  "the leases": /v2_leases\.lance\/data/,
};
const damages: Record<string, RequestInit> = {
  deleted: { method: "DELETE" },
  emptied: { method: "PUT", body: "" },
  garbage: { method: "PUT", body: "garbage ".repeat(40) },
};

/** Each kind of object, damaged in each way. */
export const damagedObjects: (readonly [string, string, RequestInit, RegExp])[] = Object.entries(objects).flatMap(
  ([what, pattern]) => Object.entries(damages).map(([how, damage]) => [what, how, damage, pattern] as const),
);

/** A bucket with damaged objects gives no wrong answer, and a rebuild that a person asks for heals it. */
export async function expectHealed(what: string, _how: string, damage: RequestInit, pattern: RegExp): Promise<void> {
  const storage = await startObjectStorage();
  afterwards(() => storage.stop());
  const house = useHouse();
  const embeddings = deterministicEmbeddings({ dimensions: 64 });
  for (const note of [0, 1, 2, 3, 4, 5])
    house.write({ [`memory/n${note}.md`]: `# Note ${note}\n\nThe ferry F-${note} leaves.\n` });
  house.letSettle();
  const memorySearch = { sync: { onSearch: false, watch: false } };
  const open = (more = {}): Promise<Memory> =>
    house.open({ settings: inBucket(storage), embeddings, memorySearch, ...more });
  const first = await open();
  await first.sync();
  house.remove("memory/n5.md");
  await first.sync();
  await first.close();
  const { texts } = embeddings.calls();
  for (const key of storage.keys("notes", "").filter((each) => pattern.test(each)))
    await fetch(`${storage.url}/notes/${key}`, damage);

  // Refused, less than it could be and called so, or right; and each failure names what heals it.
  const failures: string[] = [];
  const failed = (error: unknown): void => void failures.push(String(error));
  for (const stateDir of [house.stateDir, `${house.stateDir}-2`])
    await open({ stateDir })
      .then(async (memory) => {
        const { paths, report } = await ask(memory, "ferry F-3");
        if (report.state === "ok") expect(paths[0]).toBe("memory/n3.md");
        failures.push(
          ...((await memory.check())?.findings ?? []).filter(({ ok }) => !ok).map(({ message }) => message),
        );
      })
      .catch(failed);
  if (what.endsWith("leases")) await (await open()).sync({ force: true }).catch(failed);
  for (const failure of failures) expect(failure).not.toMatch(/\.rs:|LanceError|lance error/);
  for (const failure of failures.filter((each) => each.includes("s3:")))
    expect(failure).toContain("`memslot memory index --force`");

  const healing = await open({ rebuild: true });
  expect(await healing.sync({ force: true })).toMatchObject({ failed: [] });
  await healing.close();
  const healed = await open();
  expect((await ask(healed, "ferry F-3")).paths[0]).toBe("memory/n3.md");
  expect((await healed.search("boat F-4")).map(({ path }) => path)).toContain("memory/n4.md");
  expect(await healed.check()).toMatchObject({ ok: true });
  expect(await healed.sync({ wait: false })).toMatchObject({ unchanged: 5, failed: [] });
  expect(embeddings.calls().texts, "every vector was kept").toBe(texts);
}
