import { connect, createServer, type Socket } from "node:net";

/**
 * State of the line. `cut` ends open connections and refuses new ones. `half-open` passes no data and
 * closes no side. `swallow` passes requests and drops answers. `slow` delays each piece.
 */
export type LineState = "fine" | "cut" | "half-open" | "swallow" | "slow";

const LATE_MS = 400;

/** Starts a proxy between a site and its hubs. Balances connections round-robin, and skips ports that refuse. */
export async function startLine(port: number, ports: readonly number[]) {
  let state: LineState = "fine";
  let turn = 0;
  const clients = new Set<Socket>();

  const server = createServer((client) => {
    clients.add(client);
    client.on("close", () => clients.delete(client)).on("error", () => {});
    if (state === "cut") return void client.destroy();
    const first = turn++;
    reach(ports.map((_, at) => ports[(first + at) % ports.length] ?? 0)).then((hub) => {
      if (hub === null || client.destroyed) {
        hub?.destroy();
        return void client.destroy();
      }
      hub.on("error", () => {}).on("close", () => client.destroy());
      client.on("close", () => hub.destroy());
      pass(client, hub, () => false);
      pass(hub, client, () => state === "swallow");
    });
  });

  function pass(from: Socket, to: Socket, isLost: () => boolean): void {
    let last: Promise<void> = Promise.resolve();
    from.on("data", (piece) => {
      if (state === "half-open") return;
      if (isLost()) return void to.destroy();
      const late = state === "slow" ? LATE_MS : 0;
      last = last.then(async () => {
        if (late > 0) await Bun.sleep(late);
        if (!to.destroyed) to.write(piece);
      });
    });
  }

  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${port}`,
    be(next: LineState) {
      // Data sent into a dead line is lost, so its connections are closed.
      if (next === "cut" || state === "half-open") for (const client of clients) client.destroy();
      state = next;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const client of clients) client.destroy();
      await closed;
    },
  };
}

async function reach(ports: readonly number[]): Promise<Socket | null> {
  for (const port of ports) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    });
    if (isOpen) return socket;
  }
  return null;
}
