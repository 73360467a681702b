import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { createEmail, type EmailOptions, parseSmtp } from "../../../src/alerts/notify/email.ts";
import { selfSigned } from "./certificate.ts";
import { about, failure, message, never, ONE } from "./notes.ts";

const folder = mkdtempSync(join(tmpdir(), "licmond-email-"));
const secretFile = join(folder, "secret");
await Bun.write(secretFile, "HUSH-1\n");
const LOGIN = { username: "licmond", secretFile };
const PLAIN: SMTPServerOptions = { hideSTARTTLS: true, disabledCommands: ["STARTTLS"] };
const certificate = selfSigned("localhost");
const servers: SMTPServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise<void>((resolve) => server.close(resolve));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function mailServer(options: SMTPServerOptions = {}) {
  const mails: Record<"from" | "to" | "text" | "secure" | "user", unknown>[] = [];
  const server = new SMTPServer({
    authOptional: true,
    ...certificate,
    onAuth: ({ username, password }, _session, done) =>
      password === "HUSH-1" ? done(null, { user: username ?? "" }) : done(new Error(`No ${password} here`)),
    async onData(stream, { envelope: { mailFrom, rcptTo }, secure, user }, done) {
      const text = await textOf(stream);
      const to = rcptTo.map(({ address }) => address);
      mails.push({ from: mailFrom === false ? "" : mailFrom.address, to, text, secure, user });
      done();
    },
    logger: false,
    ...options,
  });
  server.on("error", () => {});
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.server.address() as AddressInfo).port, mails };
}

const TO = ["ann@company.example", "ben@company.example"];

const email = (
  smtp: string,
  change: Partial<EmailOptions> = {},
  trust: { ca?: string } = { ca: certificate.cert },
) => {
  const from = "licmond <licmond@company.example>";
  return createEmail({ smtp, from, to: TO, username: null, secretFile: null, ...change }, trust);
};

describe("mail", () => {
  test("without TLS if the server has none", async () => {
    const { port, mails } = await mailServer(PLAIN);
    await email(`smtp://localhost:${port}`)(ONE, never);
    const [mail] = mails;
    expect(mail).toMatchObject({ from: "licmond@company.example", to: TO, secure: false });
    expect(mail?.text).toContain("Subject: [licmond] WARNING EDA tools (eda), compiler: 90 %");
    expect(mail?.text).toContain("Auto-Submitted: auto-generated");
    expect(mail?.text).toContain("Content-Type: text/plain");
  });

  test("by STARTTLS if the server offers it; a password requires it", async () => {
    const { port, mails } = await mailServer();
    await email(`localhost:${port}`, LOGIN)(ONE, never);
    expect(mails).toMatchObject([{ secure: true, user: "licmond" }]);
    const plain = await mailServer({ ...PLAIN, allowInsecureAuth: true });
    const { message } = await failure(email(`localhost:${plain.port}`, LOGIN)(ONE, never));
    expect(message).toContain("The mail was rejected");
    expect(plain.mails).toEqual([]);
  });

  test("by TLS from the start", async () => {
    const { port, mails } = await mailServer({ secure: true });
    await email(`smtps://localhost:${port}`, LOGIN)(ONE, never);
    expect(mails).toMatchObject([{ secure: true, user: "licmond" }]);
  });

  test.each(["smtps", "smtp"])("an untrusted certificate is refused, by %s", async (scheme) => {
    const { port, mails } = await mailServer({ secure: scheme === "smtps" });
    await failure(email(`${scheme}://localhost:${port}`, {}, {})(ONE, never));
    expect(mails).toEqual([]);
  });

  test("names from tools stay within their line in subject and text", async () => {
    const { port, mails } = await mailServer();
    const name = "x\r\nBcc: eve@evil.example\r\n\r\n.\r\nQUIT\u2028y";
    await email(`smtp://localhost:${port}`)(message([about(1, { feature: name, message: name })]), never);
    const [mail] = mails;
    expect(mail?.to).toEqual(TO);
    const [head = ""] = String(mail?.text).split("\r\n\r\n");
    expect(head).not.toMatch(/^Bcc:/im);
    expect(mail?.text).toContain("\\r\\nBcc");
  });
});

describe("mail that is rejected", () => {
  test("a wrong password: the server's answer without the password", async () => {
    const { port, mails } = await mailServer();
    const wrong = join(folder, "wrong");
    await Bun.write(wrong, "HUSH-2");
    const { message } = await failure(
      email(`localhost:${port}`, { ...LOGIN, secretFile: wrong })(ONE, never),
    );
    expect(message).toMatch(/^The mail was rejected \(EAUTH\): .*No \*\*\* here/);
    expect(mails).toEqual([]);
  });

  test("a refused recipient: the others get the mail once", async () => {
    const { port, mails } = await mailServer({
      onRcptTo: ({ address }, _session, done) =>
        address.startsWith("ben") ? done(new Error("Who?")) : done(),
    });
    expect(await email(`localhost:${port}`)(ONE, never)).toBe("1 of 2 recipients were refused");
    expect(mails).toMatchObject([{ to: ["ann@company.example"] }]);
    const refused = email(`localhost:${port}`, { to: ["ben@company.example"] });
    expect((await failure(refused(ONE, never))).message).toContain("The mail was rejected");
  });

  test("a closed port, and a server that never greets", async () => {
    const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const send = email(`127.0.0.1:${silent.port}`);
    const late = await failure(send(ONE, AbortSignal.timeout(50)));
    expect(late.message).toBe("The mail server did not answer in time");
    silent.stop(true);
    expect((await failure(send(ONE, never))).message).toContain("The mail was rejected");
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
