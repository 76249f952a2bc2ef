import type { ErrorObject, Options } from "ajv";
import { deepFreeze, isObject, mapTexts } from "../config/plain-data.ts";
import { quoteText } from "../config/agent-ids.ts";
import { didYouMean } from "../text/nearest-word.ts";
import type { PluginsConfig } from "../contract/config.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import type { FoundPlugin } from "./known-plugins.ts";

/** The options of a plugin: `plugins.entries.<id>.config` with the defaults of its `configSchema`, frozen. */
export async function pluginOptions(
  plugin: Pick<FoundPlugin, "id" | "place" | "configSchema">,
  plugins: Pick<PluginsConfig, "entries">,
): Promise<Readonly<Record<string, unknown>>> {
  const { id, configSchema } = plugin;
  const entry = Object.hasOwn(plugins.entries, id) ? plugins.entries[id] : undefined;
  // A copy: the defaults of the schema are written into it.
  const options = mapTexts(entry?.config ?? {}, (text) => text) as Record<string, unknown>;
  if (configSchema === undefined) return deepFreeze(options);
  if (Object.keys(options).length === 0 && isTrivial(configSchema)) return Object.freeze(options);
  const errors = await check(plugin, configSchema, options);
  const [first] = errors;
  if (first !== undefined) {
    const lines = errors.map((error) => sentence(`plugins.entries.${id}.config`, error));
    throw new MemoryError("CONFIG", [...new Set(lines)].join("; "));
  }
  return deepFreeze(options);
}

const plainKeys = new Set([
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "type",
  "properties",
  "additionalProperties",
]);

/** True for a schema that accepts no options and has no defaults: the validator is slow to load. */
function isTrivial(schema: Readonly<Record<string, unknown>>): boolean {
  if (!Object.keys(schema).every((key) => plainKeys.has(key))) return false;
  if (schema["type"] !== undefined && schema["type"] !== "object") return false;
  const properties = schema["properties"] ?? {};
  return (
    isObject(properties) &&
    Object.values(properties).every((property) => isObject(property) && !("default" in property))
  );
}

async function check(
  plugin: Pick<FoundPlugin, "id" | "place">,
  schema: Readonly<Record<string, unknown>>,
  options: Record<string, unknown>,
): Promise<readonly ErrorObject[]> {
  const settings: Options = { useDefaults: true, allErrors: true, strict: false, logger: false, verbose: true };
  const { $schema, ...rest } = schema;
  // Without its name a schema of any draft is read by the rules of draft 7; 2020-12 has a reader of its own.
  const is2020 = typeof $schema === "string" && /\/(?:2019-09|2020-12)\//.test($schema);
  const ajv = is2020
    ? new (await import("ajv/dist/2020.js")).Ajv2020(settings)
    : new (await import("ajv")).Ajv(settings);
  try {
    const validate = ajv.compile(rest);
    validate(options);
    return validate.errors ?? [];
  } catch (error) {
    throw new MemoryError(
      "PLUGIN",
      `plugin "${plugin.id}" (${plugin.place}): "configSchema" is no JSON Schema that can be used: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

/** One error as a sentence that names the key. Values are excluded: they may be secrets. */
function sentence(root: string, { instancePath, keyword, params, parentSchema, message }: ErrorObject): string {
  const at = (name?: unknown): string =>
    [root, ...instancePath.split("/").slice(1).map(unescape), ...(name === undefined ? [] : [String(name)])]
      .map((part) => (part.length > 80 ? quoteText(part) : part))
      .join(".");
  const details = params as Record<string, unknown>;
  if (keyword === "required") return `${at(details["missingProperty"])} is missing`;
  if (keyword === "additionalProperties") {
    const name = String(details["additionalProperty"]);
    const known = isObject(parentSchema?.["properties"]) ? Object.keys(parentSchema["properties"]) : [];
    return `${at(name)} is not a key of this plugin${didYouMean(name, known, "; did")}`;
  }
  if (keyword === "enum" && Array.isArray(details["allowedValues"]))
    return `${at()} must be one of ${details["allowedValues"].map((value) => JSON.stringify(value)).join(", ")}`;
  if (keyword === "pattern" && Array.isArray(parentSchema?.["examples"]))
    return `${at()} must be written as ${parentSchema["examples"].map((value) => JSON.stringify(value)).join(" or ")}`;
  return `${at()} ${message ?? "is not right"}`;
}

function unescape(name: string): string {
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}
