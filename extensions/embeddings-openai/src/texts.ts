import { type EmbeddingPluginContext } from "@memslot/core";
import { modelPrefixes } from "@memslot/core/providers";
import type { Endpoint } from "./endpoint.ts";

/** How vectors are asked for; `none`: the field is not sent, which is all that some servers accept. */
export type EncodingFormat = "base64" | "float" | "none";

/** How texts of one model are sent. */
export interface TextRules {
  model: string;
  /** The body of a request. `input_type` is no field of OpenAI's; other servers have it. */
  body(kind: "query" | "document", texts: readonly string[], format: EncodingFormat): Record<string, unknown>;
  /** What is put in front of a note. */
  documentPrefix: string;
  /** Names what is done to notes besides the model and its dimensions; undefined where nothing is. */
  cacheKey: string | undefined;
}

/**
 * Input types go to the server as they are written. Without them a model that was trained with a prefix gets it put in
 * front of each text: a server that speaks this API adds none by itself. The models of OpenAI have none.
 */
export function createTextRules(
  model: string,
  settings: EmbeddingPluginContext["settings"],
  endpoint: Pick<Endpoint, "isOpenAi">,
): TextRules {
  const { inputType, queryInputType = inputType, documentInputType = inputType, outputDimensionality } = settings;
  const inputTypes = { query: queryInputType, document: documentInputType };
  const hasTypes = queryInputType !== undefined || documentInputType !== undefined;
  const prefixes = hasTypes || endpoint.isOpenAi ? undefined : modelPrefixes(model);
  return {
    model,
    documentPrefix: prefixes?.document ?? "",
    cacheKey: cacheKeyOf(documentInputType, prefixes),
    body(kind, texts, format) {
      const prefix = prefixes?.[kind] ?? "";
      const type = inputTypes[kind];
      return {
        model,
        input: texts.map((text) => prefix + text),
        ...(format === "none" ? {} : { encoding_format: format }),
        ...(outputDimensionality === undefined ? {} : { dimensions: outputDimensionality }),
        ...(type === undefined ? {} : { input_type: type }),
      };
    },
  };
}

/** Only what changes the vectors of notes counts: those of queries are not kept. */
function cacheKeyOf(
  type: string | undefined,
  prefixes: { document: string; key: string } | undefined,
): string | undefined {
  if (type !== undefined) return `input_type=${type}`;
  return prefixes === undefined || prefixes.document === "" ? undefined : `prefix=${prefixes.key}`;
}
