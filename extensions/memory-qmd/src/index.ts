import { defineMemoryPlugin, type MemoryPlugin } from "@memslot/core";
import { configSchema } from "./settings/config-schema.ts";

const plugin: MemoryPlugin = defineMemoryPlugin({
  id: "memory-qmd",
  configSchema,
  async open(context) {
    const { openPlugin } = await import("./open-plugin.ts");
    return await openPlugin(context);
  },
});

export default plugin;
