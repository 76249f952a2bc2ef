import { type Answer, geminiError, openaiError } from "./answer.ts";
import { isGeminiPath } from "./auth.ts";

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
 */
export type FaultBehaviour = "hang" | "drip" | "disconnect" | "bomb" | "endless" | "html" | VectorFault;
export type VectorFault = "short-count" | "other-size" | "nan" | "zero";

/** The faults that wait for a request. */
export interface FaultQueue {
  add(fault: ApiFault): void;
  /** The fault that the request with this path gets; it is used up by that. */
  take(path: string): ApiFault | undefined;
  clear(): void;
}

export function createFaultQueue(): FaultQueue {
  let waiting: { fault: ApiFault; times: number }[] = [];
  return {
    add(fault) {
      waiting.push({ fault, times: fault.times ?? 1 });
    },
    take(path) {
      const entry = waiting.find(({ fault, times }) => times > 0 && path.includes(fault.match ?? ""));
      if (entry === undefined) return undefined;
      entry.times--;
      waiting = waiting.filter(({ times }) => times > 0);
      return entry.fault;
    },
    clear() {
      waiting = [];
    },
  };
}

const badGateway =
  "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n";

/** What a fault says in place of the routes; undefined where the routes answer and only the way of sending is at fault. */
export function faultyAnswer(fault: ApiFault, path: string): Answer | undefined {
  const { status, body, behaviour } = fault;
  if (behaviour === "html") return { status: status ?? 502, body: badGateway };
  if (body !== undefined) return { status: status ?? 200, body };
  if (status === undefined && behaviour !== undefined) return undefined;
  const code = status ?? 500;
  const message = `The server had an error (${code}) that a test asked for.`;
  return isGeminiPath(path) ? geminiError(code, message) : openaiError(code, message, { type: "server_error" });
}

export function vectorFaultOf(fault: ApiFault | undefined): VectorFault | undefined {
  switch (fault?.behaviour) {
    case "short-count":
    case "other-size":
    case "nan":
    case "zero":
      return fault.behaviour;
    default:
      return undefined;
  }
}

/** The vectors with the fault in them. */
export function spoiled(vectors: readonly Float32Array[], fault: VectorFault | undefined): Float32Array[] {
  const last = vectors.length - 1;
  switch (fault) {
    case "short-count":
      return vectors.slice(0, last);
    case "other-size":
      return vectors.map((vector, index) => (index === last ? vector.subarray(0, vector.length >> 1) : vector));
    case "nan":
      return vectors.map((vector, index) => (index === 0 ? vector.map(() => Number.NaN) : vector));
    case "zero":
      return vectors.map((vector, index) => (index === 0 ? vector.map(() => 0) : vector));
    default:
      return [...vectors];
  }
}
