import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { createEmail, type EmailOptions, parseSmtp } from "../../../src/alerts/notify/email.ts";
import { DeliveryError } from "../../../src/alerts/notify/note.ts";
import { selfSigned } from "./certificate.ts";
import { message, never, note, record } from "./notes.ts";

const folder = mkdtempSync(join(tmpdir(), "licmond-email-"));
const secretFile = join(folder, "secret");
await Bun.write(secretFile, "HUSH-1\n");
const certificate = selfSigned("localhost");
const servers: SMTPServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise<void>((resolve) => server.close(resolve));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly text: string;
  readonly secure: boolean;
  readonly user: string | undefined;
}

/** A real mail server on loopback. */
async function mailServer(options: SMTPServerOptions = {}) {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    ...certificate,
    onAuth: ({ username, password }, _session, done) =>
      password === "HUSH-1" ? done(null, { user: username ?? "" }) : done(new Error(`No ${password} here`)),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString("utf8"),
          secure: session.secure,
          user: session.user,
        });
        done();
      });
    },
    logger: false,
    ...options,
  });
  server.on("error", () => {});
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.server.address() as AddressInfo).port, mails };
}

const email = (smtp: string, change: Partial<EmailOptions> = {}, ca: string | null = certificate.cert) =>
  createEmail(
    {
      smtp,
      from: "licmond <licmond@company.example>",
      to: ["ann@company.example", "ben@company.example"],
      username: null,
      secretFile: null,
      ...change,
    },
    ca === null ? {} : { ca },
  );

async function failure(sending: Promise<unknown>): Promise<string> {
  try {
    await sending;
  } catch (error) {
    if (!(error instanceof DeliveryError)) throw error;
    expect(error.message).not.toContain("HUSH");
    return error.message;
  }
  throw new Error("It was delivered");
}

describe("mail", () => {
  test("without TLS where there is none", async () => {
    const { port, mails } = await mailServer({ hideSTARTTLS: true, disabledCommands: ["STARTTLS"] });
    await email(`smtp://localhost:${port}`).send(message([note(1)]), never);
    const [mail] = mails;
    expect(mail).toMatchObject({
      ...{
        from: "licmond@company.example",
        to: ["ann@company.example", "ben@company.example"],
        secure: false,
      },
    });
    expect(mail?.text).toContain("Subject: [licmond] FIRING warning usage eda/snpslmd/compiler");
    expect(mail?.text).toContain("Auto-Submitted: auto-generated");
    expect(mail?.text).toContain("Content-Type: text/plain");
  });

  test("by STARTTLS where there is, with a password only then", async () => {
    const { port, mails } = await mailServer();
    await email(`localhost:${port}`, { username: "licmond", secretFile }).send(message([note(1)]), never);
    expect(mails).toMatchObject([{ secure: true, user: "licmond" }]);
    const plain = await mailServer({
      hideSTARTTLS: true,
      disabledCommands: ["STARTTLS"],
      allowInsecureAuth: true,
    });
    const error = await failure(
      email(`localhost:${plain.port}`, { username: "licmond", secretFile }).send(message([note(1)]), never),
    );
    expect(error).toContain("Mail was not taken");
    expect(plain.mails).toEqual([]);
  });

  test("by TLS from the start", async () => {
    const { port, mails } = await mailServer({ secure: true });
    await email(`smtps://localhost:${port}`, { username: "licmond", secretFile }).send(
      message([note(1)]),
      never,
    );
    expect(mails).toMatchObject([{ secure: true, user: "licmond" }]);
  });

  test("a certificate that nobody vouches for is refused, by either way", async () => {
    const { port, mails } = await mailServer({ secure: true });
    await failure(email(`smtps://localhost:${port}`, {}, null).send(message([note(1)]), never));
    const start = await mailServer();
    await failure(email(`smtp://localhost:${start.port}`, {}, null).send(message([note(1)]), never));
    expect([...mails, ...start.mails]).toEqual([]);
  });

  test("names of tools stay inside their line of the subject and the text", async () => {
    const { port, mails } = await mailServer();
    const name = "x\r\nBcc: eve@evil.example\r\n\r\n.\r\nQUIT\u2028y";
    await email(`smtp://localhost:${port}`).send(
      message([note(1, { alert: record({ feature: name, message: name }) })]),
      never,
    );
    const [mail] = mails;
    expect(mail?.to).toEqual(["ann@company.example", "ben@company.example"]);
    const [head = ""] = mail?.text.split("\r\n\r\n") ?? [];
    expect(head).not.toMatch(/^Bcc:/im);
    expect(mail?.text).toContain("\\r\\nBcc");
  });
});

describe("mail that is not taken", () => {
  test("a wrong password, in the server's words without it", async () => {
    const { port, mails } = await mailServer();
    const wrong = join(folder, "wrong");
    await Bun.write(wrong, "HUSH-2");
    expect(
      await failure(
        email(`localhost:${port}`, { username: "licmond", secretFile: wrong }).send(
          message([note(1)]),
          never,
        ),
      ),
    ).toMatch(/^Mail was not taken \(EAUTH\): .*No \*\*\* here/);
    expect(mails).toEqual([]);
  });

  test("a recipient that is refused: the others have it, and are not told again", async () => {
    const { port, mails } = await mailServer({
      onRcptTo: ({ address }, _session, done) =>
        address.startsWith("ben") ? done(new Error("Who?")) : done(),
    });
    expect(await email(`localhost:${port}`).send(message([note(1)]), never)).toBe(
      "1 of 2 recipients were refused",
    );
    expect(mails).toMatchObject([{ to: ["ann@company.example"] }]);
    const nobody = email(`localhost:${port}`, { to: ["ben@company.example"] });
    expect(await failure(nobody.send(message([note(1)]), never))).toContain("Mail was not taken");
  });

  test("nobody there, and somebody who never greets", async () => {
    const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    expect(
      await failure(email(`127.0.0.1:${silent.port}`).send(message([note(1)]), AbortSignal.timeout(50))),
    ).toBe("The mail server did not answer in time");
    const { port } = silent;
    silent.stop(true);
    expect(await failure(email(`127.0.0.1:${port}`).send(message([note(1)]), never))).toContain(
      "Mail was not taken",
    );
  });
});

test.each<[string, boolean, ReturnType<typeof parseSmtp>]>([
  ["mail.example", false, { host: "mail.example", port: 25, secure: false }],
  ["smtp://mail.example", true, { host: "mail.example", port: 587, secure: false }],
  ["smtps://mail.example", true, { host: "mail.example", port: 465, secure: true }],
  ["smtp://[2001:db8::1]:2525", false, { host: "2001:db8::1", port: 2525, secure: false }],
])("%s (with a password: %p)", (text, hasPassword, parsed) => {
  expect(parseSmtp(text, hasPassword)).toEqual(parsed);
});
