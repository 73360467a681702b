import { serviceAccount } from "./accounts.ts";
import { type Host, kindOf } from "./host.ts";
import { LAYOUT, SERVICE_NAME, UNIT_NAME } from "./layout.ts";
import { lastWords, must, SERVICE_TIMEOUT_MS, serviceState } from "./service.ts";
import type { Step } from "./step.ts";

const SYSUSERS_ARGV = ["systemd-sysusers", LAYOUT.sysusers];
const TMPFILES_ARGV = ["systemd-tmpfiles", "--create", LAYOUT.tmpfiles];
/** For systems without systemd-sysusers: useradd(8), the same user. */
const USERADD_ARGV = [
  ...["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", LAYOUT.data],
  ...["--shell", "/usr/sbin/nologin", "--comment", "License monitoring daemon", SERVICE_NAME],
];

/** Makes the daemon's user, when there is none. */
export function userStep(host: Host, has: (program: string) => boolean): Step {
  const argv = has("systemd-sysusers") ? SYSUSERS_ARGV : USERADD_ARGV;
  return {
    subject: argv.map((word) => (word.includes(" ") ? `'${word}'` : word)).join(" "),
    async plan() {
      if ((await serviceAccount(host)) !== null)
        return { kind: "nothing", why: `the user ${SERVICE_NAME} is there` };
      return { kind: "do", what: `make the user ${SERVICE_NAME}`, apply: () => must(host.run, argv) };
    },
  };
}

/** Applies the tmpfiles, as every boot will; also those that an installation that broke off has laid down. */
export function tmpfilesStep(host: Host): Step {
  return {
    subject: TMPFILES_ARGV.join(" "),
    plan: (before) =>
      before.has(LAYOUT.tmpfiles) || kindOf(host.at(LAYOUT.secrets)) === "missing"
        ? { kind: "do", what: "apply it, as every boot will", apply: () => must(host.run, TMPFILES_ARGV) }
        : { kind: "nothing", why: "nothing new to apply" },
  };
}

/** Lets systemd read the unit. */
export function daemonReloadStep(host: Host): Step {
  return {
    subject: "systemctl daemon-reload",
    async plan(before) {
      if (!before.has(LAYOUT.unit) && !(await serviceState(host.run)).needsReload)
        return { kind: "nothing", why: "systemd knows the unit" };
      const apply = () => must(host.run, ["systemctl", "daemon-reload"]);
      return { kind: "do", what: "let systemd read the unit", apply };
    },
  };
}

/** Starts the service now and at every boot; one that runs with something older is restarted. */
export function startSteps(host: Host): Step[] {
  const start = (verb: string) => async () => {
    const { ok, words } = await host.run(["systemctl", verb, UNIT_NAME], SERVICE_TIMEOUT_MS);
    if (!ok) throw new Error([words, "its last words:", await lastWords(host.run)].join("\n"));
  };
  return [
    {
      subject: `systemctl enable ${UNIT_NAME}`,
      async plan() {
        if ((await serviceState(host.run)).isEnabled) return { kind: "nothing", why: "it is enabled" };
        const apply = () => must(host.run, ["systemctl", "enable", UNIT_NAME]);
        return { kind: "do", what: "start it at every boot", apply };
      },
    },
    {
      subject: `systemctl restart ${UNIT_NAME}`,
      async plan(before) {
        const { isActive } = await serviceState(host.run);
        if (!isActive) return { kind: "do", what: "start it", apply: start("restart") };
        if (!before.has(LAYOUT.binary) && !before.has(LAYOUT.unit))
          return { kind: "nothing", why: "it runs with what is installed" };
        return { kind: "do", what: "restart it with what is installed now", apply: start("restart") };
      },
    },
  ];
}
