import { type Answer, type Call, geminiError, isGeminiCall, openAiError } from "./shared-api.ts";
import table from "./quirks.json" with { type: "json" };

export interface ApiFault {
  /** A part of the path; "" or left out means any request. */
  match?: string | undefined;
  /** How many requests are answered so; 1 if left out. */
  times?: number | undefined;
  /** 500 if neither body nor behaviour is given, 200 if one is. */
  status?: number | undefined;
  /** An object goes as JSON, text as it is. If left out, an error in the form of the API that was asked. */
  body?: unknown;
  /** Sent beside the usual ones, as `{ "retry-after": "20" }`. */
  headers?: Record<string, string> | undefined;
  behaviour?: FaultBehaviour | undefined;
  /** The requests that get it; all of them if left out. */
  when?: FaultCondition | undefined;
  /** The form of vectors, whatever the request asks for. */
  format?: "base64" | "float" | undefined;
  /** What is put in the place of what in the text of the answer: a regular expression, and the replacement. */
  replace?: [string, string] | undefined;
}

/** All that are given have to hold. */
interface FaultCondition {
  /** A regular expression that the body of the request matches. */
  body?: string | undefined;
  /** A text of it has more characters. */
  longer?: number | undefined;
  /** It has more texts. */
  more?: number | undefined;
  /** It is the first, the third, the fifth request. */
  odd?: boolean | undefined;
}

/**
 * | behaviour     | means                                                                              |
 * | ------------- | ---------------------------------------------------------------------------------- |
 * | `hang`        | no answer, ever                                                                    |
 * | `drip`        | the headers at once, then one byte of the answer every 200 ms                      |
 * | `disconnect`  | the connection breaks in the middle of the body                                    |
 * | `bomb`        | one megabyte of gzip that becomes a gigabyte of blanks                             |
 * | `endless`     | blanks for as long as the connection is there                                      |
 * | `html`        | the 502 page of a proxy                                                            |
 * | `short-count` | the last vector is missing                                                         |
 * | `other-size`  | the last vector is half as long                                                    |
 * | `nan`         | the first vector is not a number anywhere (as JSON has no such value: null)        |
 * | `zero`        | the first vector is zero everywhere                                                |
 * | `zero-bad`    | so is each vector of a text with the word "poisonword"                             |
 * | `null-bad`    | each vector of such a text is null everywhere                                      |
 * | `first`       | only the first vector comes                                                        |
 * | `reverse`     | the last vector comes first, each with its index                                   |
 * | `drop`        | the connection is closed without an answer                                         |
 */
export type FaultBehaviour = "drop" | "hang" | "drip" | "disconnect" | "bomb" | "endless" | "html" | VectorFault;
const vectorFaults = ["short-count", "other-size", "nan", "zero", "zero-bad", "null-bad", "first", "reverse"] as const;
export type VectorFault = (typeof vectorFaults)[number];

export class FaultQueue {
  #waiting: { fault: ApiFault; times: number }[] = [];

  add(fault: ApiFault): void {
    this.#waiting.push({ fault, times: fault.times ?? 1 });
  }

  /** Uses up the first fault that matches the request, the `number`th one. */
  take(call: Call, number: number): ApiFault | undefined {
    const entry = this.#waiting.find(
      ({ fault: { match = "", when }, times }) =>
        times > 0 && call.url.pathname.includes(match) && isMeant(when ?? {}, call, number),
    );
    if (entry) entry.times--;
    return entry?.fault;
  }

  clear(): void {
    this.#waiting = [];
  }
}

function isMeant({ body = "", longer, more = -1, odd }: FaultCondition, { raw, json }: Call, number: number): boolean {
  const texts = [(json as { input?: string | string[] } | undefined)?.input ?? []].flat();
  return (
    (odd === undefined || odd === (number % 2 === 1)) &&
    (longer === undefined || texts.some((text) => text.length > longer)) &&
    texts.length > more &&
    new RegExp(body, "u").test(raw.toString())
  );
}

const badGateway = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<h1>502 Bad Gateway</h1>\r\n</html>\r\n";

/** What a fault says in place of the routes; undefined where the routes answer and only the way of sending is at fault. */
export function faultyAnswer(fault: ApiFault, call: Call): Answer | undefined {
  const { status, body, behaviour } = fault;
  if (behaviour === "html") return { status: status ?? 502, body: badGateway };
  if (body !== undefined) return { status: status ?? 200, body };
  if (status === undefined && (behaviour ?? fault.format ?? fault.replace) !== undefined) return undefined;
  const code = status ?? 500;
  const message = `The server had an error (${code}) that a test asked for.`;
  return isGeminiCall(call) ? geminiError(code, message) : openAiError(code, message, { type: "server_error" });
}

export function vectorFaultOf(fault: ApiFault | undefined): VectorFault | undefined {
  return vectorFaults.find((behaviour) => behaviour === fault?.behaviour);
}

/** The vectors with the fault in them. */
export function spoiled(
  vectors: readonly Float32Array[],
  fault: VectorFault | undefined,
  texts: readonly string[] = [],
): Float32Array[] {
  if (fault === "short-count") return vectors.slice(0, -1);
  if (fault === "first") return vectors.slice(0, 1);
  return vectors.map((vector, index) => {
    const isSpoiled = fault?.endsWith("-bad") ? texts[index]?.includes("poisonword") : index === 0;
    if (fault === "other-size" && index === vectors.length - 1) return vector.subarray(0, vector.length >> 1);
    if (!isSpoiled || !/^(?:nan|null|zero)/.test(fault ?? "")) return vector;
    return vector.map(() => (fault?.startsWith("zero") ? 0 : Number.NaN));
  });
}

/** A server that differs from OpenAI, as seen in the wild, and the expected outcome. */
export interface Quirk {
  name: string;
  /** Permanent if `times` is absent. */
  faults: ApiFault[];
  /** Texts without a vector, of eight notes: one has the word "poisonword", one has 1400 characters. */
  missing?: number;
  /** A regular expression for the reason if no text can be embedded. */
  refused?: string;
}

export const quirks: readonly Quirk[] = table as Quirk[];
