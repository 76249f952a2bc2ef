import { expect, test } from "vitest";
import { createRandom } from "../support/random.ts";
import { type Disk, Killed, breakable, faultsOf, newStore, openHost } from "./store-world.ts";

const worlds = 60;
const steps = 25;
