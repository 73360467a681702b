/** Body of the webhook template `json`. */
export interface JsonMessage {
  readonly type: string;
  readonly dropped: number;
  readonly alerts: readonly {
    readonly notification: number;
    readonly kind: string;
    readonly id: number;
    readonly rule: string;
    readonly feature: string | null;
    readonly severity: string;
    readonly message: string;
  }[];
}

export type Receiver = ReturnType<typeof createReceiver>;

/** Starts a receiver of webhooks on loopback. `answer` makes its answers; default: 204. */
export function createReceiver(
  answer: (path: string, before: number) => Response = () => new Response(null, { status: 204 }),
  tls?: { readonly cert: string; readonly key: string },
) {
  const got: { readonly path: string; readonly headers: Headers; readonly body: string }[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    ...(tls !== undefined && { tls }),
    async fetch(request) {
      const { pathname: path } = new URL(request.url);
      const body = await request.text();
      const before = got.filter((other) => other.path === path).length;
      got.push({ path, headers: request.headers, body });
      return answer(path, before);
    },
  });
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${server.port}`,
    got,
    /** Returns the messages of the template `json` to a path. */
    messages: (path: string) =>
      got.filter((one) => one.path === path).map(({ body }) => JSON.parse(body) as JsonMessage),
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
