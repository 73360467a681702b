/**
 * Where an installation by the administrator lies (file-hierarchy(7), sysusers.d(5), tmpfiles.d(5)): /usr/lib belongs to
 * packages, and /usr/local/lib/sysusers.d is not read by the systemd of every distribution in use; /etc is.
 */
export const LAYOUT = {
  binary: "/usr/local/bin/licmond",
  /** The binary that the last upgrade replaced. */
  previousBinary: "/usr/local/bin/licmond.previous",
  unit: "/etc/systemd/system/licmond.service",
  sysusers: "/etc/sysusers.d/licmond.conf",
  tmpfiles: "/etc/tmpfiles.d/licmond.conf",
  configDirectory: "/etc/licmond",
  config: "/etc/licmond/licmond.toml",
  /** Root's alone; the tmpfiles make it. */
  secrets: "/etc/licmond/secrets",
  data: "/var/lib/licmond",
} as const;

/** The unit, its user and the user's group all have this name. */
export const SERVICE_NAME = "licmond";
export const UNIT_NAME = "licmond.service";

/** What a package would install. */
export const PACKAGED_BINARY = "/usr/bin/licmond";
