import path from "node:path";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import { createMemoryPool, openMemory, parseConfig } from "memslot";
import { expect, onTestFinished, test } from "vitest";

test("ten users find their own notes alone, through a pool of three memories with one state folder", async () => {
  const home = tempFolder();
  const users = Array.from({ length: 10 }, (_, index) => `user-${index}`);
  for (const user of users)
    writeFiles(path.join(home, user), { "memory/a.md": `The dentist of ${user} is in Canal Street.\n` });
  const config = parseConfig(
    { agents: { defaults: { memorySearch: { provider: "none", sync: { watch: false } } } } },
    { stateDir: path.join(home, "state"), env: {} },
  );
  const pool = createMemoryPool({
    max: 3,
    open: (user, { signal }) =>
      openMemory({ config, agentId: "main", workspaceDir: path.join(home, user), notify: () => {}, signal }),
  });
  onTestFinished(() => pool.close());
  const asked = [...users, ...users.toReversed()];
  const answers = asked.map((user) => pool.use(user, (memory) => memory.search("dentist in Canal Street")));
  const texts = (await Promise.all(answers)).map((results) => results.map(({ snippet }) => snippet.trim()));
  expect(texts).toEqual(asked.map((user) => [`The dentist of ${user} is in Canal Street.`]));
  expect(pool.size).toBeLessThanOrEqual(3);
});
