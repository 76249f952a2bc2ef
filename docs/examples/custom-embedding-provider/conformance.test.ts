// npm install @memslot/core @memslot/testkit && node --test conformance.test.ts
import { describe, test } from "node:test";
import { embeddingConformance } from "@memslot/testkit";
import plugin from "./index.ts";

// `options` as a user writes them in `plugins.entries.<id>.config`.
embeddingConformance({ describe, test }, { plugin, options: { groups: [["night", "evening"]] } });
