import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";

/** A received mail, and its head and parts by type. */
export interface Mail {
  readonly raw: string;
  readonly head: string;
  readonly parts: ReadonlyMap<string, string>;
}

/** A mail server on loopback; it refuses mails while `refusal` is set. */
export async function mailServer() {
  const mails: Mail[] = [];
  const state = { refusal: null as string | null };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    onMailFrom: (_, __, done) => done(state.refusal === null ? null : new Error(state.refusal)),
    async onData(stream, _session, done) {
      mails.push(parsed(await textOf(stream)));
      done();
    },
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    mails,
    state,
    port: (server.server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

function parsed(raw: string): Mail {
  const [head = "", ...rest] = raw.split("\r\n\r\n");
  const [, boundary] = /boundary="([^"]+)"/.exec(head) ?? [];
  const parts = rest.join("\r\n\r\n").split(`--${boundary}`).slice(1, -1);
  const entries = parts.map((part): [string, string] => {
    const [own = "", ...body] = part.split("\r\n\r\n");
    const [, type = ""] = /content-type: ([^;\r\n]+)/i.exec(own) ?? [];
    return [type, decoded(own, body.join("\r\n\r\n"))];
  });
  return { raw, head, parts: new Map(entries) };
}

function decoded(head: string, body: string): string {
  if (/encoding: base64/i.test(head)) return Buffer.from(body, "base64").toString();
  if (!/encoding: quoted-printable/i.test(head)) return body;
  const bytes = body
    .replaceAll("=\r\n", "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
}
