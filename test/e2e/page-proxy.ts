import type { Server } from "bun";

/** A proxy that adds a key to each request, and may serve the daemon below a prefix, as an administrator's would. */
export interface KeyProxy extends AsyncDisposable {
  /** With the prefix, and `/` at its end. */
  readonly url: string;
}

/** The page in a browser cannot send a key by itself. `prefix` begins and ends with `/`. */
export function keyProxy(target: string, key: string, prefix = "/"): KeyProxy {
  const server: Server<undefined> = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (!pathname.startsWith(prefix)) return new Response("elsewhere", { status: 404 });
      const path = pathname.slice(prefix.length - 1);
      if (path === "/api/me") return Response.json({ name: "proxy", role: "viewer" });
      const headers = new Headers(request.headers);
      headers.set("x-api-key", key);
      headers.delete("host");
      const answer = await fetch(`${target}${path}${search}`, {
        headers,
        signal: request.signal,
        decompress: false,
      }).catch(() => new Response("the daemon is not there", { status: 502 }));
      return path.startsWith("/stream/") ? untilCut(answer) : answer;
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}${prefix}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** A stream whose daemon is killed ends for the browser, as behind any proxy. */
function untilCut({ body, status, headers }: Response): Response {
  const passed = new ReadableStream({
    async start(controller) {
      try {
        for await (const bytes of body ?? []) controller.enqueue(bytes);
      } finally {
        controller.close();
      }
    },
  });
  return new Response(passed, { status, headers });
}
