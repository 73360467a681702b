import { join } from "node:path";

export type StartReason =
  | "not_found"
  | "not_a_file"
  | "not_executable"
  | "wrong_format"
  | "missing_loader"
  | "missing_interpreter"
  | "aborted"
  | "other";

/** Why a tool could not start, in words for the administrator. */
export interface StartFailure {
  readonly reason: StartReason;
  /** The file meant; null when none was found. */
  readonly path: string | null;
  /** One sentence with its full stop. */
  readonly message: string;
  /** What to do, without a full stop; null when nothing better than the message is known. */
  readonly fix: string | null;
}

export function notFound(names: readonly string[], path: string): StartFailure {
  const [name = ""] = names;
  const looked = names.map((each) => `\`${each}\``).join(" or ");
  return {
    reason: "not_found",
    path: null,
    message: names.length === 0 ? "No tool is named." : `No ${looked} in any directory of $PATH (${path}).`,
    fix: `install the vendor's tool, or set the server's \`tool\` to its full path, e.g. tool = "/opt/licenses/${name || "lmutil"}"`,
  };
}

/** The system does not let us look at the file: `code` is its code, `words` are its words. */
export function unreachableFile(file: string, code: string, words: string): StartFailure {
  if (code === "EACCES") {
    return {
      reason: "not_executable",
      path: file,
      message: `A directory above ${file} is closed to this user.`,
      fix: "open it with `chmod a+x`, or install the tool elsewhere",
    };
  }
  const gone = code === "ENOENT" || code === "ENOTDIR";
  return {
    reason: gone ? "not_found" : "other",
    path: file,
    message: gone ? `${file} does not exist.` : `${file} cannot be looked at: ${words}.`,
    fix: gone ? "correct the server's `tool`, or install the vendor's tool there" : null,
  };
}

/** The system has no descriptor, process or memory for another program; null when `code` says something else. */
export function outOfResources(code: string): StartFailure | null {
  const found = SHORTAGES[code];
  if (found === undefined) return null;
  return {
    reason: "other",
    path: null,
    message: `No tool can be started: ${found.what} (${code}).`,
    fix: found.fix,
  };
}

const SHORTAGES: Readonly<Record<string, { readonly what: string; readonly fix: string }>> = {
  EMFILE: {
    what: "licmond has used up its file descriptors",
    fix: "raise LimitNOFILE= of its unit (outside systemd: `ulimit -n`)",
  },
  ENFILE: {
    what: "this host has used up its file descriptors",
    fix: "raise the sysctl fs.file-max, and look which program holds so many files (`lsof`); LimitNOFILE= does not help",
  },
  EAGAIN: {
    what: "licmond may not start more processes",
    fix: "raise TasksMax= and LimitNPROC= of its unit (outside systemd: `ulimit -u`)",
  },
  ENOMEM: { what: "there is no memory left", fix: "free memory, or raise MemoryMax= of its unit" },
};

export function notAFile(file: string, isDirectory: boolean): StartFailure {
  return {
    reason: "not_a_file",
    path: file,
    message: `${file} is ${isDirectory ? "a directory" : "not a regular file"}, not a program.`,
    fix: isDirectory ? `name the program inside it, e.g. ${join(file, "lmutil")}` : null,
  };
}

export function onNoexec(file: string, point: string): StartFailure {
  return {
    reason: "not_executable",
    path: file,
    message: `${file} lies on ${point}, which is mounted with noexec: nothing on it can be run.`,
    fix: `copy the tool to another file system, e.g. /opt, or \`mount -o remount,exec ${point}\``,
  };
}

export function wrongFormat(file: string, why: string): StartFailure {
  return {
    reason: "wrong_format",
    path: file,
    message: `${file} cannot be run by this system (exec format error). ${why}`,
    fix: "get the vendor's build for this system",
  };
}
