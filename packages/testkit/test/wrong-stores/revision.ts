import type { InMemoryStore } from "@memslot/testkit";
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
    caughtBy: "revision: searches, listings and stats leave it as it is",
    spoil() {
      let asked = 0;
      return { revision: async () => String(++asked) };
    },
  },
  {
    fault: "counts a search as a change",
    caughtBy: "revision: searches, listings and stats leave it as it is",
    spoil(right) {
      let searches = 0;
      return {
        revision: async () => `${await right.revision()} ${searches}`,
        async searchKeyword(query) {
          searches++;
          return right.searchKeyword(query);
        },
      };
    },
  },
  {
    fault: "sleeps: it is that of the last time it was written to itself",
    caughtBy: "revision: what another store on the same place changes is seen at once",
    spoil(right) {
      let last = "0";
      return {
        revision: async () => last,
        async replaceFiles(files) {
          await right.replaceFiles(files);
          last = await right.revision();
        },
      };
    },
  },
  {
    fault: "does not notice a file that goes",
    caughtBy: changes,
    spoil(right) {
      let own = 0;
      return {
        revision: async () => String(own),
        async replaceFiles(files) {
          own++;
          await right.replaceFiles(files);
        },
      };
    },
  },
  {
    fault: "does not notice that another build answers",
    caughtBy: "revision: a finished build gives another one",
    spoil(right) {
      let before: string | undefined;
      return {
        revision: async () => before ?? right.revision(),
        async build(name) {
          const build = await right.build(name);
          before = await right.revision();
          return build;
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

function ownCount(right: InMemoryStore): Partial<InMemoryStore> {
  let own = 0;
  return {
    revision: async () => String(own),
    async replaceFiles(files) {
      own++;
      await right.replaceFiles(files);
    },
  };
}
