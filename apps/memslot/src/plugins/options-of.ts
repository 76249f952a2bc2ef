/** One option of a plugin, as its `configSchema` describes it. */
export interface PluginOption {
  /** Dotted, below `plugins.entries.<id>.config`. */
  key: string;
  type: string;
  default?: unknown;
  required?: true | undefined;
  description?: string | undefined;
}

const deepest = 6;

/** The options that a JSON Schema names, those of groups below their group. */
export function optionsOf(schema: unknown, prefix = "", depth = 0): PluginOption[] {
  if (!isRecord(schema) || !isRecord(schema["properties"]) || depth > deepest) return [];
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(schema["properties"]).flatMap(([name, property]): PluginOption[] => {
    if (!isRecord(property)) return [];
    const key = `${prefix}${name}`;
    const inner = optionsOf(property, `${key}.`, depth + 1);
    const { description } = property;
    const own: PluginOption = {
      key,
      type: typeOf(property),
      ...("default" in property ? { default: property["default"] } : {}),
      ...(required.includes(name) ? { required: true } : {}),
      ...(typeof description === "string" ? { description } : {}),
    };
    return inner.length > 0 && description === undefined ? inner : [own, ...inner];
  });
}

/** `integer 1 to 64`, `"a" | "b"`, `string[]` */
function typeOf(schema: Record<string, unknown>): string {
  const { type, minimum, maximum, items } = schema;
  const choices = "const" in schema ? [schema["const"]] : schema["enum"];
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join(" | ");
  const alternatives = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(alternatives)) return alternatives.filter(isRecord).map(typeOf).join(" | ");
  const name = Array.isArray(type) ? type.join(" | ") : typeof type === "string" ? type : "any";
  if (name === "array") return `${isRecord(items) ? typeOf(items) : "any"}[]`;
  if (typeof minimum === "number" && typeof maximum === "number") return `${name} ${minimum} to ${maximum}`;
  if (typeof minimum === "number") return `${name} of ${minimum} or more`;
  return typeof maximum === "number" ? `${name} of ${maximum} or less` : name;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
