import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import { parseBytes, printBytes, SIZE_FORM } from "../domain/bytes.ts";
import { DURATION_FORM, parseDuration } from "../domain/duration.ts";
import { isZone } from "../domain/zone.ts";
import { credentialName } from "./credentials.ts";

/** Texts with a form that a JSON schema has no word for. Each says what it takes, and null when the text is that. */
export const FORMS = {
  text: (text) => (text.trim() === "" ? "a text that is not empty" : null),
  duration: (text, bounds) => {
    const takes = `a duration${range(bounds.from, bounds.to)}: ${DURATION_FORM}, e.g. "${bounds.example ?? "60s"}"`;
    return within(
      parseDuration(text),
      parseDuration(bounds.from ?? "0s"),
      parseDuration(bounds.to ?? "1000y"),
    )
      ? null
      : takes;
  },
  size: (text, bounds) => {
    const from = parseBytes(bounds.from ?? "0");
    const takes = `a size of ${printBytes(from ?? 0)} or more: ${SIZE_FORM}, e.g. "${bounds.example ?? "256MB"}"`;
    return within(parseBytes(text), from, Number.MAX_SAFE_INTEGER) ? null : takes;
  },
  absolutePath: (text) => (isAbsolutePath(text) ? null : "an absolute path"),
  /** A file with a secret or a certificate. */
  handedFile: (text) =>
    (credentialName(text) ?? "") !== "" || isAbsolutePath(text)
      ? null
      : "an absolute path, or credential:NAME for a file that the unit hands over (LoadCredential=NAME:/path)",
  program: (text) =>
    text.trim() !== "" && !text.includes("\0") && (isAbsolute(text) || !text.includes("/"))
      ? null
      : "an absolute path, or a bare name that is looked for in $PATH",
  zone: (text) => (isZone(text) ? null : 'an IANA time zone, e.g. "Europe/Berlin" or "UTC"'),
  listenHost: (text) =>
    isIP(text) !== 0 || HOST_NAME.test(text)
      ? null
      : 'an address or host name without scheme and port, e.g. "0.0.0.0", "::" or "127.0.0.1"',
  origin: (text) =>
    originOf(text) === text.toLowerCase()
      ? null
      : 'an origin: scheme and host, with the port where it is not the scheme\'s own, e.g. "https://wall.example"',
  network: (text) => (isNetwork(text) ? null : 'an IP address or a network, e.g. "10.0.0.0/8" or "::1"'),
  url: (text) => (isWebUrl(text) ? null : "an http:// or https:// URL"),
  smtp: (text) =>
    SMTP.test(text)
      ? null
      : 'a mail server without credentials, e.g. "smtp://mail.example:587" or "mail.example"',
  mailAddress: (text) => (MAIL.test(text) ? null : 'a mail address, e.g. "licenses@company.example"'),
  glob: (text) =>
    text !== "" && !/\p{Cc}/u.test(text)
      ? null
      : "a name, in which * stands for any characters and ? for one",
} as const satisfies Record<string, (text: string, bounds: Bounds) => string | null>;

export type Form = keyof typeof FORMS;

/** Bounds and the example of a form, as the schema writes them. */
export interface Bounds {
  readonly from?: string;
  readonly to?: string;
  readonly example?: string;
}

const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;
const SMTP = /^(smtps?:\/\/)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/;
const MAIL = /^([^<>\p{Cc}]*<)?[^\s@<>\p{Cc}]+@[^\s@<>\p{Cc}]+>?$/u;

function isAbsolutePath(text: string): boolean {
  return isAbsolute(text) && !text.includes("\0");
}

function range(from: string | undefined, to: string | undefined): string {
  if (from !== undefined && to !== undefined) return ` from ${from} to ${to}`;
  return from === undefined ? "" : ` of ${from} or more`;
}

function within(value: number | null, from: number | null, to: number | null): boolean {
  return value !== null && value >= (from ?? 0) && value <= (to ?? Number.MAX_SAFE_INTEGER);
}

function urlOf(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}

function originOf(text: string): string | null {
  const url = urlOf(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : null;
}

function isWebUrl(text: string): boolean {
  const url = urlOf(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.hostname !== "";
}

function isNetwork(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  if (bits === undefined) return true;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}
