/**
 * Range of the ports. It is below the ephemeral ports, because an outgoing connection could take one of
 * those before the test listens.
 */
const PORTS = { first: 15_000, end: 32_000 };

/** Returns a random free port. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * (PORTS.end - PORTS.first));
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
      return port;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
    }
  }
}
