import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { guardedFiles } from "../config/guarded-files.ts";
import type { Run } from "../install/host.ts";
import { UNIT } from "../install/layout.ts";
import { systemRun } from "../install/service.ts";
import { exposureOf, exposureWords, ownAccount } from "../system/exposed-file.ts";
import { confinementOf } from "../system/unit/confinement.ts";
import type { Report } from "./report.ts";
import { unitAccount } from "./unit-access.ts";
import { effectiveUnit } from "./unit-text.ts";

/** Secrets that others may read, and a config that others may write. Root judges for the service's user, if there is one. */
export async function checkExposed(
  config: Config,
  configFile: string | null,
  environment: Environment,
  report: Pick<Report, "warning">,
  run: Run = systemRun(),
): Promise<void> {
  const own = ownAccount();
  const unit = own.uid === 0 ? confinementOf((await effectiveUnit(run))?.text ?? UNIT.text) : null;
  const account = unit === null ? null : await unitAccount(unit, run);
  for (const { setting, file, kind } of guardedFiles(config, configFile, environment)) {
    const exposure = exposureOf(file, kind, account ?? own);
    if (exposure !== null) report.warning(setting, `${exposureWords(exposure)} (fix: ${exposure.fix})`);
  }
  // systemd reads them as root, so that they need be nobody else's.
  for (const { name, source } of unit?.credentials ?? []) {
    const exposure = source === null ? null : exposureOf(source, "secret", { uid: 0, groups: [] });
    if (exposure !== null)
      report.warning(`LoadCredential=${name}`, `${exposureWords(exposure)} (fix: ${exposure.fix})`);
  }
}
