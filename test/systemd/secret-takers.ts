/**
 * Servers for everything that licmond sends with a secret, on a machine without a network. Prints its certificate, then a
 * JSON line for each message. `bun secret-takers.ts`
 */
import { SMTPServer } from "smtp-server";
import { selfSigned } from "../alerts/notify/certificate.ts";

export const PORTS = { https: 7443, smtp: 7587 } as const;

/** A line of the output. */
export type Told =
  | { kind: "certificate"; pem: string }
  | { kind: "request"; path: string; headers: Record<string, string>; body: string }
  | { kind: "login"; user: string; password: string };

if (import.meta.main) {
  const tell = (told: Told) => console.log(JSON.stringify(told));
  const certificate = selfSigned("localhost");
  Bun.serve({
    hostname: "127.0.0.1",
    port: PORTS.https,
    tls: certificate,
    async fetch(request) {
      const headers = Object.fromEntries(request.headers);
      tell({ kind: "request", path: new URL(request.url).pathname, headers, body: await request.text() });
      return new Response(null, { status: 204 });
    },
  });
  const mail = new SMTPServer({
    ...certificate,
    logger: false,
    onAuth({ username, password }, _session, done) {
      const user = username ?? "";
      tell({ kind: "login", user, password: password ?? "" });
      done(null, { user });
    },
    onData(stream, _session, done) {
      stream.resume();
      stream.on("end", () => done());
    },
  });
  mail.on("error", () => {});
  mail.listen(PORTS.smtp, "127.0.0.1", () => tell({ kind: "certificate", pem: certificate.cert }));
}
