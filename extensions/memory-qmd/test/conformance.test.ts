import { memoryConformance } from "@memslot/testkit";
import { afterAll, describe, test } from "vitest";
import plugin from "../src/index.ts";
import { makeFakeQmd } from "./support/fake-qmd.ts";

const fake = makeFakeQmd();
afterAll(() => fake.remove());

memoryConformance({ describe, test }, { plugin, options: { command: fake.command, fallback: "none" } });
