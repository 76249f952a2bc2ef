/** Folders of tools, which hold no memory. */
export const ignoredFolders: ReadonlySet<string> = new Set(
  ".git .hg .svn node_modules .pnpm-store .venv venv .tox __pycache__ .obsidian .trash .cache .idea .vscode".split(" "),
);
