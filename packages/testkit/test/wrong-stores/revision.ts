import type { FullStore } from "../remembering-stores.ts";
import type { WrongStore } from "./wrong-store.ts";

const changes = "revision: each change of the files gives another one, never one that was there before";

export const wrongWithRevision: readonly WrongStore[] = [
  {
    fault: "takes the number of files for the revision",
    caughtBy: changes,
    spoil: (right) => ({ revision: async () => String((await right.listFiles()).length) }),
  },
  {
    fault: "takes the content of the files for the revision",
    caughtBy: changes,
    spoil: (right) => ({ revision: async () => JSON.stringify(await right.listFiles()) }),
  },
  {
    fault: "gives another revision each time",
    caughtBy: "revision: searches, listings and vectors leave it as it is",
    spoil() {
      let asked = 0;
      return { revision: async () => String(++asked) };
    },
  },
  {
    fault: "counts vectors as a change",
    caughtBy: "revision: searches, listings and vectors leave it as it is",
    spoil: (right) => ({
      revision: async () => `${await right.revision()} ${(await right.stats()).cachedVectors}`,
    }),
  },
  {
    fault: "does not notice that another build took over",
    caughtBy: "revision: a finished build gives another one",
    spoil(right) {
      let finished = 0;
      return {
        revision: async () => String(Number(await right.revision()) - finished),
        builds: {
          ...right.builds,
          async finish() {
            await right.builds.finish();
            finished++;
          },
        },
      };
    },
  },
  {
    fault: "counts changes from nothing at each open",
    caughtBy: "revision: after a reopen a change gives one that was never there before",
    spoil: ownCount,
  },
  {
    fault: "counts the changes of its own process",
    caughtBy: "revision: what another store on the same place changes is seen at once",
    spoil: ownCount,
  },
];

function ownCount(right: FullStore): Partial<FullStore> {
  let own = 0;
  return {
    revision: async () => String(own),
    async replaceFiles(files) {
      own++;
      await right.replaceFiles(files);
    },
  };
}
