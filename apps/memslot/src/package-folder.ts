/** The folder of this package, with its package.json and its templates. A file directly in `src`: built, it is in `dist`. */
export const packageFolder: URL = new URL("../", import.meta.url);
