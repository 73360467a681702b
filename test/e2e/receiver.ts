/** A request to a receiver of webhooks. */
export interface Got {
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly got: Got[];
  /** Messages of the template `json` to a path. */
  messages(path: string): readonly JsonMessage[];
}

/** Body of the template `json`. */
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

/** Starts a receiver on loopback. `answer` makes its answers; default: 204. */
export function createReceiver(
  answer: (got: Got, before: number) => Response | Promise<Response> = () =>
    new Response(null, { status: 204 }),
  tls?: { readonly cert: string; readonly key: string },
): Receiver {
  const got: Got[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    ...(tls !== undefined && { tls }),
    async fetch(request) {
      const { pathname: path } = new URL(request.url);
      const one = { path, headers: request.headers, body: await request.text() };
      const before = got.filter((other) => other.path === path).length;
      got.push(one);
      return answer(one, before);
    },
  });
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${server.port}`,
    got,
    messages: (path) =>
      got.filter((one) => one.path === path).map(({ body }) => JSON.parse(body) as JsonMessage),
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
