/** What is sent back. */
export interface ObjectAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** `inner` is XML already. */
export function xmlAnswer(status: number, inner: string): ObjectAnswer {
  const body = Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>${inner}`);
  return { status, headers: { "content-type": "application/xml" }, body };
}

export function emptyAnswer(status: number, headers: Record<string, string> = {}): ObjectAnswer {
  return { status, headers, body: Buffer.alloc(0) };
}

/** An error in the words of S3. */
export function errorAnswer(status: number, code: string): ObjectAnswer {
  return xmlAnswer(status, element("Error", element("Code", escaped(code)) + element("Message", escaped(code))));
}

/** `inner` is XML already. */
export function element(name: string, inner: string): string {
  return `<${name}>${inner}</${name}>`;
}

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

export function unescaped(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&amp;", "&");
}
