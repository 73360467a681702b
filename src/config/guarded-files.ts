import type { Config } from "./config.ts";
import { credentialOfPath } from "./credentials.ts";
import type { Environment } from "./environment.ts";

/** A file of one secret, by the setting that names it. */
export type SecretFile = readonly [setting: string, file: string];

/** The files of secrets that a config names, credentials included; the TLS key is none of them. */
export function secretFiles({ notifications, remoteWrite }: Config): SecretFile[] {
  const named = [
    ...notifications.map((each, index): [string, string | null] => [
      `notifications[${index}].secret_file`,
      each.type === "command" ? null : each.secretFile,
    ]),
    ["export.remote_write.token_file", remoteWrite?.tokenFile ?? null] as const,
  ];
  return named.flatMap(([setting, file]) => (file === null ? [] : [[setting, file] as const]));
}

/** Files that only the daemon may use: its config to write, its TLS key and secrets to read. */
export function guardedFiles(
  config: Config,
  configFile: string | null,
  environment: Environment,
): readonly { readonly setting: string; readonly file: string; readonly kind: "secret" | "config" }[] {
  const { tls } = config.http;
  const secrets: SecretFile[] = [
    ...(tls === null ? [] : [["http.tls_key", tls.key] as const]),
    ...secretFiles(config),
  ];
  return [
    ...(configFile === null ? [] : [{ setting: "config", file: configFile, kind: "config" as const }]),
    ...secrets
      // systemd keeps what it hands over.
      .filter(([, file]) => credentialOfPath(file, environment) === null)
      .map(([setting, file]) => ({ setting, file, kind: "secret" as const })),
  ];
}
