interface LoadOptions {
  readonly port: number;
  readonly path: string;
  readonly key: string;
  readonly connections: number;
  readonly seconds: number;
  /** Time that a connection waits between an answer and its next request; 0 = none. */
  readonly pauseMs: number;
}

interface LoadResult {
  readonly requestsPerSecond: number;
  /** Time from sending the request to reading the last byte of the answer. */
  readonly latenciesMs: readonly number[];
}

/**
 * Sends GET requests over a few persistent connections. Parses bytes, because `fetch` would cost as much as
 * the server. Answers need a Content-Length, and only those with status 200 count.
 */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const latenciesMs: number[] = [];
  const endsAt = performance.now() + options.seconds * 1000;
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: options.connections }, () => drive(options, endsAt, latenciesMs)));
  return { requestsPerSecond: (latenciesMs.length / (performance.now() - startedAt)) * 1000, latenciesMs };
}

function drive(options: LoadOptions, endsAt: number, latenciesMs: number[]): Promise<void> {
  const request = `GET ${options.path} HTTP/1.1\r\nHost: 127.0.0.1:${options.port}\r\nX-API-Key: ${options.key}\r\n\r\n`;
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    let head = "";
    /** Remaining bytes of the body; null while reading the head. */
    let left: number | null = null;
    const fail = (why: string) => reject(new Error(`load on ${options.path}: ${why}`));

    Bun.connect({
      hostname: "127.0.0.1",
      port: options.port,
      socket: {
        open(socket) {
          sentAt = performance.now();
          socket.write(request);
        },
        data(socket, bytes) {
          if (left === null) {
            head += bytes.toString("latin1");
            const end = head.indexOf("\r\n\r\n");
            if (end < 0) return;
            const length = /^content-length: (\d+)\r?$/im.exec(head.slice(0, end))?.[1];
            if (!head.startsWith("HTTP/1.1 200 ") || length === undefined) {
              fail(head.slice(0, end));
              socket.end();
              return;
            }
            left = Number(length) - (head.length - end - 4);
          } else {
            left -= bytes.length;
          }
          if (left > 0) return;
          const now = performance.now();
          latenciesMs.push(now - sentAt);
          head = "";
          left = null;
          if (now >= endsAt) {
            resolve();
            socket.end();
            return;
          }
          const next = () => {
            sentAt = performance.now();
            socket.write(request);
          };
          if (options.pauseMs > 0) setTimeout(next, options.pauseMs);
          else next();
        },
        close() {
          fail("the connection was closed");
        },
        error(_, cause) {
          fail(String(cause));
        },
      },
    }).catch(reject);
  });
}
