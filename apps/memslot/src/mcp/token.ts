import { randomBytes } from "node:crypto";
import { chmod, mkdir, open, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { MemoryError, messageOf } from "@memslot/core";
import { codeOf } from "@memslot/core/files";

const VARIABLE = "MEMSLOT_MCP_TOKEN";
const MIN_LENGTH = 16;

export interface BearerToken {
  readonly token: string;
  /** Where it is stored. The token itself is never shown. */
  readonly origin: string;
}

/** The token for clients: from `--token-file`, the environment, else a random one that is stored. */
export async function bearerToken(options: {
  tokenFile: string | undefined;
  env: NodeJS.ProcessEnv;
  stateDir: string;
}): Promise<BearerToken> {
  const { tokenFile } = options;
  if (tokenFile !== undefined)
    return { token: checked(await readToken(tokenFile), tokenFile), origin: `in ${tokenFile}` };
  const given = options.env[VARIABLE]?.trim() ?? "";
  if (given !== "") return { token: checked(given, VARIABLE), origin: `that of ${VARIABLE}` };
  const file = path.join(options.stateDir, "mcp-token");
  return { token: await keptToken(file), origin: `in ${file}` };
}

/** A secret in a private file. The first caller writes it; others read it. */
export async function keptToken(file: string): Promise<string> {
  try {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    const handle = await open(file, "wx", 0o600);
    try {
      await handle.writeFile(`${randomBytes(32).toString("base64url")}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (codeOf(error) !== "EEXIST")
      throw new MemoryError(
        "CONFIG",
        `cannot keep a secret in ${file}: ${messageOf(error)}. Make the folder writable; memslot mcp can take its token from ${VARIABLE}.`,
        { cause: error },
      );
    // Restores private permissions, which a copy may have lost.
    const { mode } = await stat(file);
    if ((mode & 0o077) !== 0 && process.platform !== "win32") await chmod(file, 0o600);
  }
  return checked(await readToken(file), file);
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    throw new MemoryError("CONFIG", `the bearer token in ${file} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function checked(token: string, origin: string): string {
  if (token.length >= MIN_LENGTH && /^[\w.~+/=-]+$/u.test(token)) return token;
  throw new MemoryError(
    "CONFIG",
    `the bearer token of ${origin} cannot be used: it needs at least ${MIN_LENGTH} letters, digits or any of -._~+/=`,
  );
}
