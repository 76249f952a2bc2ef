import type { RerankPlugin } from "@memslot/core";
import { createRerankPlugin } from "./rerank-plugin.ts";

const plugin: RerankPlugin = createRerankPlugin();

export default plugin;
