import { fileURLToPath } from "node:url";

/** The built page, from the sources and from the package. */
export const pageFolder: string = fileURLToPath(new URL("../dist/page", import.meta.url));
