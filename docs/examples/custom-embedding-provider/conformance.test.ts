// npm install @memslot/core @memslot/testkit && node --test conformance.test.ts
import { describe, test } from "node:test";
import { parseConfig } from "@memslot/core";
import { embeddingConformance } from "@memslot/testkit";
import plugin from "./index.ts";

/** A provider as memslot opens it, with options as they would stand in the configuration. */
embeddingConformance(
  { describe, test },
  {
    open: () => {
      const config = parseConfig({});
      return plugin.open({
        settings: config.agent("main").memorySearch,
        providers: config.providers,
        environment: () => undefined,
        stateDir: config.stateDir,
        options: { groups: [["night", "evening"]] },
        signal: new AbortController().signal,
      });
    },
  },
);
