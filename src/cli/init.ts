import { chown, mkdir, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Command } from "commander";
import { configFile } from "../config/load.ts";
import { codeOf, messageOf } from "../domain/error-code.ts";
import { type CommandIo, configOption, Failure } from "./io.ts";

/** `licmond init`: a commented config to start from. */
export function define(command: Command, io: CommandIo): void {
  command
    .option("--output <file>", "where to write it (default: what --config names), - for stdout")
    .addHelpText(
      "after",
      `
Examples:
  sudo licmond init                       # /etc/licmond/licmond.toml
  licmond init --output ./licmond.toml
  licmond init --output - | less`,
    )
    .action(async ({ output }: { output?: string }) => {
      if (output === "-") return io.out(INITIAL_CONFIG);
      const { file } = configFile(output ?? configOption(command), io.env);
      await writeNew(file, INITIAL_CONFIG);
      io.out(
        `${file} is written. Name your license servers in it, then:\n  licmond check --config ${file}\n`,
      );
    });
}

/**
 * Writes a file that is not there yet. Others may not read it: a web hook's address is a secret. What root writes
 * belongs to the directory's group, which is the service's in /etc/licmond.
 */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: "wx", mode: 0o640 });
    if (process.getuid?.() === 0) await chown(file, 0, (await stat(dirname(file))).gid);
  } catch (error) {
    throw new Failure(whyNotWritten(file, error));
  }
}

function whyNotWritten(file: string, error: unknown): string {
  switch (codeOf(error)) {
    case "EEXIST":
      return `${file} is there already and stays as it is; --output names another place`;
    case "EROFS":
      return `${file} lies on a file system that is mounted read-only (EROFS); --output names another place`;
    case "EACCES":
    case "EPERM":
      return `${file} cannot be written by this user; use sudo, or --output with another place`;
    default:
      return `${file} cannot be written: ${messageOf(error)}`;
  }
}

/** What `licmond init` writes: a config that starts as it is, with every setting explained. */
export const INITIAL_CONFIG = `# licmond: the license monitoring daemon. \`licmond check\` tells every mistake of this file.
# Lines that start with "# " and a setting show its default. Durations are a whole number with s, m, h, d or y.
# Environment variables beat scalars of this file: LICMOND_HTTP_PORT=9000, LICMOND_LOG_LEVEL=debug.
# A change takes effect with \`systemctl reload licmond\`, which says what needs a restart.

[http]
# host = "0.0.0.0"                  # "127.0.0.1" = this host only
# port = 8080
# tls_cert = "/etc/licmond/cert.pem"  # without both, keys travel in clear: put a TLS proxy in front
# tls_key = "/etc/licmond/key.pem"     # or "credential:tls-key", as every file with a secret: see the unit
# cors_origins = []                 # web pages of other origins that may ask, e.g. ["https://wall.example"]
# trusted_proxies = []              # proxies whose X-Forwarded-For is believed, e.g. ["127.0.0.1", "10.0.0.0/8"]
# max_body_bytes = 65536

[storage]
# directory = "/var/lib/licmond"    # under systemd: its state directory
# backups = { state = 7, history = 1 }   # daily copies that are kept, in backups/ beside the database
# backup_before_upgrade = true      # a new version copies the database beside itself before it changes its tables

[log]
# level = "info"                    # debug, info, warn, error
# format = "auto"                   # auto: text on a terminal, journal under journald; or text, json

[collector]
# interval = "60s"                  # 5s to 24h: how often each server is asked
# timeout = "30s"                   # how long its tool may take
# rescan_timeout = "60s"
# concurrency = 8                   # polls at the same time; tools that hang get at most a quarter of the places

# One table for each license server. A FlexNet triad is one server with three members.
#
# [[servers]]
# id = "eda"                        # a-z 0-9 . _ -; what the API and its clients call it
# name = "EDA tools"
# manager = "flexnet"               # flexnet or rlm
# address = "27000@lic1.example,27000@lic2.example,27000@lic3.example"
# tool = "/opt/flexnet/lmutil"      # default: lmutil or lmstat (rlmutil, rlmstat) from $PATH; a list is an argv prefix
# timezone = "Europe/Berlin"        # the server's; default: this host's
# interval = "60s"                  # default: [collector]'s
# timeout = "30s"                   # default: [collector]'s
# enabled = true
# labels = { site = "muc" }
# log_file = "/var/log/flexnet/snps.log"   # the vendor's debug log, for denials
#
# [[servers]]
# id = "render"
# manager = "rlm"
# address = "5053@lic4.example"

[retention]
# samples = "400d"
# rollups = "5y"
# sessions = "400d"
# events = "30d"
# logs = "30d"
# log_size = "256MB"
# audit = "400d"

[alerts]
# usage_warning = 80                # percent of the seats
# usage_critical = 95
# expiry_days = [30, 14, 7, 1]
# failures = 3                      # failed polls in a row before an alert fires
# recoveries = 2
# held_hours = 0                    # a checkout older than this; 0 = never
# reminder = "24h"                  # 0s = told once only

# [[alerts.overrides]]              # any of the above for some; names take * and ?; the last override that fits counts
# server = "eda"
# daemon = "snpslmd"
# feature = "VCS*"
# usage_critical = 99
# for = "10m"                       # only when it stays so for this long
# enabled = true

# [[maintenance]]                   # no alerts meanwhile
# servers = ["eda"]                 # default: all
# start = 2026-01-31T22:00:00       # without a zone: this host's time
# duration = "4h"
# every = "week"                    # week, day, or once when not set

# [[notifications]]
# type = "webhook"                  # webhook, email or command
# severity = "warning"              # the least that is told: info, warning, critical
# rules = ["server_down", "usage"]  # default: all
# url = "https://hooks.example/licmond"
# secret_file = "credential:webhook"   # what the unit hands over (LoadCredential=webhook:/path), or a path
# template = "json"                 # json, slack, teams, ntfy
#
# [[notifications]]
# type = "email"
# smtp = "smtps://mail.example:465" # smtp:// takes STARTTLS where the server has it
# username = "licmond"              # with secret_file, the password
# secret_file = "credential:smtp"
# from = "licmond@site.example"
# to = ["licenses@site.example"]
#
# [[notifications]]
# type = "command"                  # the message comes as JSON on stdin
# argv = ["/usr/local/bin/page-me"]

[limits]
# requests_per_minute = 600         # of one key
# burst = 100
# anonymous_per_minute = 60         # of one address without a valid key
# daily_quota = 100000              # default: none
# monthly_quota = 1000000           # default: none
# streams = 2000
# streams_per_key = 50

[execute]
# enabled = false                   # POST /api/execute runs tools: read the documentation first

# [[execute.commands]]
# name = "lmdiag"
# argv = ["/opt/flexnet/lmutil", "lmdiag", "-n", "-c", "{address}"]
# role = "admin"
# timeout = "30s"

# [export.remote_write]             # pushes what /metrics tells, by Prometheus remote write
# url = "https://prometheus.example/api/v1/write"
# token_file = "credential:prometheus"   # sent as a bearer; with a username, as its password
# username = "12345"
# interval = "60s"                  # 5s to 1h
# labels = { site = "muc" }         # added to every series, beside job = "licmond" and instance = "<host>:<port>"
`;
