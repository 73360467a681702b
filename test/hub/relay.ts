import { connect, createServer, type Socket } from "node:net";
import { freePort } from "../free-port.ts";

/** A proxy between a site and hubs that loses answers. */
export interface Relay extends AsyncDisposable {
  readonly url: string;
  /** Number of lost answers. */
  lost(): number;
}

/**
 * Proxies connections to the ports round-robin. If `swallows` returns true, the relay cuts the connection at the first byte
 * of the answer: the hub has stored the push, and the site gets no answer.
 */
export async function startRelay(ports: () => readonly number[], swallows: () => boolean): Promise<Relay> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  let lost = 0;
  let turn = 0;
  const server = createServer((client) => {
    const all = ports();
    const line = connect(all[turn++ % all.length] ?? 1, "127.0.0.1");
    for (const socket of [client, line]) {
      sockets.add(socket);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        line.destroy();
      });
      // A `close` event follows and ends the other side.
      socket.on("error", () => {});
    }
    client.pipe(line);
    line.once("data", (first) => {
      if (swallows()) {
        lost++;
        client.destroy();
        return;
      }
      client.write(first);
      line.pipe(client);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${port}`,
    lost: () => lost,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
