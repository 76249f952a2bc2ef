import type { EmbeddingPlugin } from "@memslot/core";
import { createLocalPlugin } from "./local-plugin.ts";

const plugin: EmbeddingPlugin = createLocalPlugin();

export default plugin;
