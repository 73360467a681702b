/** A proxy that serves the daemon below a prefix, which begins and ends with `/`, with its own `Host`, as nginx does. */
export function belowPrefix(daemon: string, prefix: string) {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch({ url, method, headers, body, signal }) {
      const path = url.slice(new URL(url).origin.length);
      if (!path.startsWith(prefix)) return new Response("elsewhere", { status: 404 });
      headers.delete("host");
      return fetch(`${daemon}/${path.slice(prefix.length)}`, {
        method,
        headers,
        body,
        signal,
        decompress: false,
      });
    },
  });
}
