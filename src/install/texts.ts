import unit from "../../systemd/licmond.service" with { type: "text" };
import sysusers from "../../systemd/licmond.sysusers.conf" with { type: "text" };
import tmpfiles from "../../systemd/licmond.tmpfiles.conf" with { type: "text" };
import { LAYOUT } from "./layout.ts";

/** A text that is installed under a mark. */
export interface InstalledText {
  /** Where on the host. */
  readonly path: string;
  readonly text: string;
  /** How an administrator changes it without changing the file. */
  readonly changeBy: string;
}

export const UNIT: InstalledText = {
  path: LAYOUT.unit,
  text: unit,
  changeBy: "put changes into a drop-in: systemctl edit licmond",
};

export const SYSUSERS: InstalledText = {
  path: LAYOUT.sysusers,
  text: sysusers,
  changeBy: "put lines of your own into another file of /etc/sysusers.d",
};

export const TMPFILES: InstalledText = {
  path: LAYOUT.tmpfiles,
  text: tmpfiles,
  changeBy: "put lines of your own into another file of /etc/tmpfiles.d",
};
