import { defineMemoryPlugin, type MemoryPlugin } from "@memslot/core";
import { configSchema } from "./options.ts";

const plugin: MemoryPlugin = defineMemoryPlugin({
  id: "memory-qmd",
  configSchema,
  async open(context) {
    const { openPlugin } = await import("./open-memory.ts");
    return await openPlugin(context);
  },
});

export default plugin;
