import type { TLSOptions } from "bun";

/** A received request. */
export interface Asked {
  readonly method: string;
  /** Path and query, not decoded. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

export type Answer = (asked: Asked) => Response | Promise<Response>;

/**
 * Starts an HTTP server that acts as a license manager. It answers by path, and with 404 elsewhere. `asked` contains all
 * received requests.
 */
export function createFakeService(answers: Readonly<Record<string, Answer>>, tls?: TLSOptions) {
  const asked: Asked[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    ...(tls !== undefined && { tls }),
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const { method, headers } = request;
      const one = { method, path: `${pathname}${search}`, headers, body: await request.text() };
      asked.push(one);
      return (await answers[pathname]?.(one)) ?? new Response("There is nothing here.", { status: 404 });
    },
  });
  const address = `127.0.0.1:${server.port}`;
  return {
    asked,
    address,
    port: server.port ?? 0,
    url: `${tls === undefined ? "http" : "https"}://${address}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** An answer whose body begins and never ends. */
export function hanging(begin: string): Response {
  return new Response(
    new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(begin)),
    }),
  );
}
