import { describe, test } from "node:test";
import { memoryConformance } from "@memslot/testkit";
import plugin from "@stranger/memory-lines";

memoryConformance({ describe, test }, { plugin });
