/** Below those that the kernel gives to whoever connects, which would take a port away until it is listened on. */
const PORTS = { first: 15_000, end: 32_000 };

/** A port that nobody listens on and, as they are many, nobody will. */
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
