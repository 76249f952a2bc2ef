import { type Answer, type Call, geminiError, ok } from "../answer.ts";

interface StoredFile {
  name: string;
  displayName: string | undefined;
  mimeType: string | undefined;
  data: Buffer;
}

/** Gemini's files: resumable uploads, metadata, downloads. */
export interface GeminiFiles {
  /** Keeps what a job has written and gives its name, `files/…`. */
  add(data: Buffer): string;
  get(name: string): Buffer | undefined;
  answer(call: Call): Answer | undefined;
}

export function createGeminiFiles(): GeminiFiles {
  const files = new Map<string, StoredFile>();
  const uploads = new Map<string, { file: Omit<StoredFile, "data">; parts: Buffer[] }>();
  let number = 0;

  function add(data: Buffer): string {
    const name = `files/made-${++number}`;
    files.set(name, { name, displayName: undefined, mimeType: "application/jsonl", data });
    return name;
  }

  function start(call: Call): Answer {
    const { file } = (call.json ?? {}) as {
      file?: { name?: string; displayName?: string; display_name?: string; mimeType?: string; mime_type?: string };
    };
    const id = String(++number);
    const name = file?.name ?? `files/upload-${id}`;
    const displayName = file?.displayName ?? file?.display_name;
    const mimeType = call.headers["x-goog-upload-header-content-type"] ?? file?.mimeType ?? file?.mime_type;
    uploads.set(id, { file: { name, displayName, mimeType }, parts: [] });
    const address = `http://${call.headers.host}${call.url.pathname}?upload_id=${id}`;
    return ok({}, { "x-goog-upload-url": address, "x-goog-upload-status": "active" });
  }

  function takeUpload(call: Call): Answer {
    const command = call.headers["x-goog-upload-command"] ?? "";
    if (command.includes("start")) return start(call);
    const id = call.url.searchParams.get("upload_id") ?? "";
    const upload = uploads.get(id);
    if (upload === undefined) return geminiError(404, "Upload session not found.");
    if (command.includes("upload")) upload.parts.push(call.raw);
    if (!command.includes("finalize")) return ok({}, { "x-goog-upload-status": "active" });
    uploads.delete(id);
    const file = { ...upload.file, data: Buffer.concat(upload.parts) };
    files.set(file.name, file);
    return ok({ file: view(file, call) }, { "x-goog-upload-status": "final" });
  }

  return {
    add,
    get: (name) => files.get(name)?.data,
    answer(call) {
      const path = call.url.pathname;
      if (/^\/upload\/v1(?:beta|alpha)?\/files$/.test(path)) return takeUpload(call);
      const [, name, download] = /^\/(?:download\/)?v1(?:beta|alpha)?\/(files\/[^/:]+)(:download)?$/.exec(path) ?? [];
      if (name === undefined) return undefined;
      const file = files.get(name);
      if (file === undefined)
        return geminiError(403, `You do not have permission to access the File ${name} or it may not exist.`);
      if (call.method === "DELETE") {
        files.delete(name);
        return ok({});
      }
      if (download !== undefined || call.url.searchParams.get("alt") === "media") return ok(file.data);
      return ok(view(file, call));
    },
  };
}

function view({ name, displayName, mimeType, data }: StoredFile, call: Call): Record<string, unknown> {
  const uri = `http://${call.headers.host}/v1beta/${name}`;
  return { name, displayName, mimeType, sizeBytes: String(data.length), state: "ACTIVE", uri };
}
