import { type Answer, type Call, ok, openaiError } from "../answer.ts";

interface StoredFile {
  id: string;
  name: string;
  purpose: string;
  data: Buffer;
  createdAt: number;
}

/** The files that were uploaded, and those that batch jobs have written. */
export interface OpenaiFiles {
  add(file: Pick<StoredFile, "name" | "purpose" | "data">): StoredFile;
  get(id: string): StoredFile | undefined;
  answer(call: Call): Promise<Answer | undefined>;
}

export function createOpenaiFiles(): OpenaiFiles {
  const files = new Map<string, StoredFile>();
  let number = 0;

  function add(file: Pick<StoredFile, "name" | "purpose" | "data">): StoredFile {
    const stored = { id: `file-${++number}`, createdAt: Date.now(), ...file };
    files.set(stored.id, stored);
    return stored;
  }

  async function upload({ headers, raw }: Call): Promise<Answer> {
    const form = await formOf(raw, headers["content-type"] ?? "");
    const file = form?.get("file");
    const purpose = form?.get("purpose");
    if (typeof file !== "object" || file === null)
      return openaiError(400, "'file' is a required property", { param: "file" });
    if (typeof purpose !== "string") return openaiError(400, "'purpose' is a required property", { param: "purpose" });
    return ok(view(add({ name: file.name, purpose, data: Buffer.from(await file.arrayBuffer()) })));
  }

  return {
    add,
    get: (id) => files.get(id),
    async answer(call) {
      const [, id, content] = /^\/v1\/files(?:\/([^/]+)(\/content)?)?$/.exec(call.url.pathname) ?? [undefined];
      if (!call.url.pathname.startsWith("/v1/files")) return undefined;
      if (id === undefined) {
        if (call.method === "POST") return upload(call);
        return ok({ object: "list", data: [...files.values()].map(view), has_more: false });
      }
      const file = files.get(id);
      if (file === undefined) return openaiError(404, `No such File object: ${id}`, { param: "id" });
      if (content !== undefined) return ok(file.data);
      if (call.method !== "DELETE") return ok(view(file));
      files.delete(id);
      return ok({ id, object: "file", deleted: true });
    },
  };
}

/** The parts of a multipart body; undefined where it is none. */
async function formOf(raw: Buffer, contentType: string): Promise<FormData | undefined> {
  try {
    return await new Response(new Uint8Array(raw), { headers: { "content-type": contentType } }).formData();
  } catch {
    return undefined;
  }
}

function view({ id, name, purpose, data, createdAt }: StoredFile): Record<string, unknown> {
  const created = Math.floor(createdAt / 1000);
  return { id, object: "file", bytes: data.length, created_at: created, filename: name, purpose, status: "processed" };
}
