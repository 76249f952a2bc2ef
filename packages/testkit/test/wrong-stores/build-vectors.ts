import type { WrongStore } from "./wrong-store.ts";

const hidden = "vector: texts of the next build are not found by their vectors until it is finished, then at once";
const kept = "vector: a text of the build that answers has its vector in the next build, too";

export const wrongWithBuildVectors: readonly WrongStore[] = [
  {
    fault: "names vectors by the build",
    caughtBy: kept,
    spoil(right) {
      let built = false;
      return {
        async build(name) {
          const build = await right.build(name);
          return {
            ...build,
            async finish() {
              await build.finish();
              built = true;
            },
          };
        },
        async putVectors(space, entries) {
          built = false;
          await right.putVectors(space, entries);
        },
        searchVector: async (query) => (built ? { rows: [] } : right.searchVector(query)),
      };
    },
  },
  {
    fault: "lets the texts of the next build be found before it answers",
    caughtBy: hidden,
    spoil(right) {
      const early = new Map<string, string>();
      return {
        async build(name) {
          const build = await right.build(name);
          return {
            ...build,
            async replaceFiles(files) {
              for (const { path, chunks } of files) for (const { hash } of chunks) early.set(hash, path);
              await build.replaceFiles(files);
            },
          };
        },
        async searchVector(query) {
          const { rows } = await right.searchVector(query);
          const [first] = rows;
          const known = new Set(rows.map(({ hash }) => hash));
          const more = [...early].filter(([hash]) => first !== undefined && !known.has(hash));
          return { rows: [...rows, ...more.flatMap(([hash, path]) => (first ? [{ ...first, hash, path }] : []))] };
        },
      };
    },
  },
  {
    fault: "gives vectors to the texts of the build that answers only",
    caughtBy: hidden,
    spoil(right) {
      const answering = new Set<string>();
      return {
        async replaceFiles(files) {
          for (const { chunks } of files) for (const { hash } of chunks) answering.add(hash);
          await right.replaceFiles(files);
        },
        putVectors: (space, entries) =>
          right.putVectors(
            space,
            entries.filter(({ hash }) => answering.has(hash)),
          ),
      };
    },
  },
  {
    fault: "gives vectors to the next build alone while it is made",
    caughtBy: "vector: a vector that is given while a build is made is that of both builds",
    spoil(right) {
      let building = false;
      const late = new Set<string>();
      return {
        async build(name) {
          building = true;
          return right.build(name);
        },
        async putVectors(space, entries) {
          if (building) for (const { hash } of entries) late.add(hash);
          await right.putVectors(space, entries);
        },
        searchVector: async (query) => ({
          rows: (await right.searchVector(query)).rows.filter(({ hash, path }) => path !== "a.md" || !late.has(hash)),
        }),
      };
    },
  },
  {
    fault: "fills one space at a time",
    caughtBy: "vector: a build in another space is filled while the old one answers in its own",
    spoil(right) {
      let first: string | undefined;
      return {
        async putVectors(space, entries) {
          first ??= space.model;
          if (space.model === first) await right.putVectors(space, entries);
        },
      };
    },
  },
  {
    fault: "takes the vectors of an abandoned build along",
    caughtBy: "vector: an abandoned build takes no vector of the one that answers along",
    spoil(right) {
      const built = new Set<string>();
      const gone = new Set<string>();
      return {
        async build(name) {
          const build = await right.build(name);
          return {
            ...build,
            async replaceFiles(files) {
              for (const { chunks } of files) for (const { hash } of chunks) built.add(hash);
              await build.replaceFiles(files);
            },
            async abandon() {
              for (const hash of built) gone.add(hash);
              await build.abandon();
            },
          };
        },
        searchVector: async (query) => ({
          rows: (await right.searchVector(query)).rows.filter(({ hash }) => !gone.has(hash)),
        }),
      };
    },
  },
];
