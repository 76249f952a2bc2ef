import { fileURLToPath } from "node:url";

/** Where the built page lies, from the sources and from what is published. */
export const pageFolder: string = fileURLToPath(new URL("../dist/page", import.meta.url));
