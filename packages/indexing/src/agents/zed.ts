import type { Agent } from "./agent.ts";

export const zed: Agent = {
  id: "zed",
  name: "Zed",
  programs: ["zed", "zeditor"],
  signs: ["$APPDATA/Zed|@dotconfig/zed"],
  files: [
    {
      what: "server",
      user: "$APPDATA/Zed/settings.json|@dotconfig/zed/settings.json",
      project: ".zed/settings.json",
      group: "context_servers",
      entry: ({ server }) => ({ source: "custom", ...server }),
    },
  ],
};
