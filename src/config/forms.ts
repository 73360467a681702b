import { isAbsolute } from "node:path";
import { parseBytes, printBytes, SIZE_FORM } from "../domain/bytes.ts";
import { type TextRule, textRule } from "../domain/text-types.ts";
import { DURATION_FORM, parseDuration, parseMomentOfWeek } from "../domain/time/clock.ts";
import { hostZone, isZone } from "../domain/time/zone.ts";
import { decoderOf } from "../managers/read-output.ts";
import { credentialName } from "./credentials.ts";
import { parseIp, parseNetwork } from "./ip-address.ts";

const TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(?::[0-5]\d(?:\.\d{1,9})?)?([Zz]|[+-]\d\d:?\d\d)?$/;

/**
 * Parses the start of a maintenance window: a TOML date-time or a text, in local time unless it has a zone.
 * Epoch ms.
 */
export function parseStart(value: Date | string): number | null {
  try {
    const text = typeof value === "string" ? value : value.toISOString();
    const [whole, zone] = TIME.exec(text) ?? [];
    if (whole === undefined) return null;
    const at =
      zone === undefined
        ? Temporal.PlainDateTime.from(text).toZonedDateTime(hostZone())
        : Temporal.Instant.from(text);
    return at.epochMilliseconds;
  } catch {
    // The date or time does not exist.
    return null;
  }
}

export const someText = textRule("a non-empty string", (text) => text.trim() !== "");
export const absolutePath = textRule("an absolute path", isAbsolutePath);
export const handedFile = textRule(
  "an absolute path, or credential:NAME for a credential of the unit (LoadCredential=NAME:/path)",
  (text) => (credentialName(text) ?? "") !== "" || isAbsolutePath(text),
);
export const program = textRule(
  "an absolute path, or a name to look up in $PATH",
  (text) => text.trim() !== "" && !text.includes("\0") && (isAbsolute(text) || !text.includes("/")),
);
export const encoding = textRule(
  'a text encoding, e.g. "euc-kr", "gbk", "shift_jis", "windows-1252" or "utf-16le"',
  isEncoding,
);
export const zone = textRule('an IANA time zone, e.g. "Europe/Berlin" or "UTC"', isZone);
export const listenHost = textRule(
  'an address or host name without scheme and port, e.g. "0.0.0.0", "::" or "127.0.0.1"',
  (text) => parseIp(text) !== null || HOST_NAME.test(text),
);
export const siteName = textRule(
  'a name of 1 to 64 characters a-z 0-9 . _ - starting with a letter or digit, e.g. "muc"',
  /^[a-z0-9][a-z0-9._-]{0,63}$/,
);
export const origin = textRule(
  'an origin (scheme, host and optional port), e.g. "https://wall.example"',
  (text) => webUrl(text)?.origin === text.toLowerCase(),
);
export const frameAncestor = textRule(
  '"self", or an origin that may embed the page in a frame, e.g. "https://intranet.example"',
  (text) => text === "self" || webUrl(text)?.origin === text.toLowerCase(),
);
export const headerName = textRule('a header name, e.g. "X-Remote-User"', /^[A-Za-z][A-Za-z0-9-]{0,63}$/);
export const network = textRule(
  'an IP address or a network, e.g. "10.0.0.0/8" or "::1"',
  (text) => parseNetwork(text) !== null,
);
export const url = textRule("an http:// or https:// URL", (text) => (webUrl(text)?.hostname ?? "") !== "");
/** URL without credentials. `settings`: names of the settings for them. */
export const openUrl = (settings: string) =>
  textRule(`an http:// or https:// URL without credentials (use ${settings})`, (text) => {
    const { hostname = "", username = "", password = "" } = webUrl(text) ?? {};
    return hostname !== "" && username === "" && password === "";
  });
export const postgresUrl = textRule(
  'the URL of a PostgreSQL database without a password, e.g. "postgres://licmond@db.example/licmond?sslmode=verify-full"',
  isPostgresUrl,
);
export const smtp = textRule(
  'a mail server without credentials, e.g. "smtp://mail.example:587" or "mail.example"',
  /^(smtps?:\/\/)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/,
);
export const mailAddress = textRule(
  'an email address, e.g. "licenses@company.example"',
  /^([^<>\p{Cc}]*<)?[^\s@<>\p{Cc}]+@[^\s@<>\p{Cc}]+>?$/u,
);
export const glob = textRule("a name (* matches any characters, ? matches one)", /^\P{Cc}+$/u);

/** Pattern `server/daemon/feature`. Names of features may contain slashes. */
export const featureGlob = textRule(
  'server/daemon/feature (* matches any characters, ? matches one), e.g. "eda/snpslmd/VCS*"',
  /^[^/\p{Cc}]+\/[^/\p{Cc}]+\/[^\p{Cc}]+$/u,
);

export const momentOfWeek = textRule(
  'a weekday and a local time, e.g. "Mon 07:00"',
  (text) => parseMomentOfWeek(text) !== null,
);

export function durationFrom(from: string, to: string, example: string): TextRule {
  const [least = 0, most = 0] = [from, to].map((text) => parseDuration(text) ?? Number.NaN);
  return textRule(`a duration from ${from} to ${to}: ${DURATION_FORM}, e.g. "${example}"`, (text) =>
    within(parseDuration(text), least, most),
  );
}

export function sizeFrom(from: string, example: string): TextRule {
  const least = parseBytes(from) ?? 0;
  return textRule(`a size of ${printBytes(least)} or more: ${SIZE_FORM}, e.g. "${example}"`, (text) =>
    within(parseBytes(text), least, Number.MAX_SAFE_INTEGER),
  );
}

const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/** Reports whether the WHATWG Encoding Standard has this label. */
export function isEncoding(label: string): boolean {
  try {
    return decoderOf(label) !== null;
  } catch {
    return false;
  }
}

function isAbsolutePath(text: string): boolean {
  return isAbsolute(text) && !text.includes("\0");
}

function isPostgresUrl(text: string): boolean {
  const parsed = URL.parse(text);
  return parsed !== null && /^postgres(ql)?:$/.test(parsed.protocol) && parsed.password === "";
}

function within(value: number | null, least: number, most: number): boolean {
  return value !== null && value >= least && value <= most;
}

function webUrl(text: string): URL | null {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? new URL(text) : null;
}

/** Fields of a command request that argv templates may contain. */
export const ARGUMENTS = ["feature", "user", "host", "display", "handle"] as const;
export const PLACEHOLDERS: readonly string[] = ["address", "server", ...ARGUMENTS];

export const PLACEHOLDER = /\{([a-z_]+)\}/g;

export function placeholdersOf(argv: readonly string[]): readonly string[] {
  return argv.flatMap((element) => [...element.matchAll(PLACEHOLDER)].map(([, name = ""]) => name));
}
