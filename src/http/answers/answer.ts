/** A whole answer as it goes out. */
export interface Answer {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

const encoder = new TextEncoder();

export function encode(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

export function jsonAnswer(body: Uint8Array<ArrayBuffer>): Answer {
  return { body, headers: { "content-type": "application/json; charset=utf-8" } };
}

export function responseOf({ body, headers }: Answer): Response {
  return new Response(body, { headers: { ...headers } });
}
