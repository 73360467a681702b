import { helpText } from "../../../src/cli/command-line.ts";
import { everyCommand } from "../../../src/cli/program.ts";

const HELP_WIDTH = 78;

/**
 * licmond(1) in the macros of man(7), made of what every command says with `--help`. `epoch`, in seconds, dates it.
 */
export async function manPage(version: string, epoch: number): Promise<string> {
  const helps = await Array.fromAsync(everyCommand(), ([path, declared]) => {
    // Not as wide as the terminal that a release happens to be made in.
    return [["licmond", ...path].join(" "), helpText(path, declared, HELP_WIDTH)] as const;
  });
  const [[, program] = ["", ""], ...commands] = helps;
  const sections = commands.map(([name, help]) => `.SS ${escaped(name)}\n${example(help)}`);
  const date = new Date(epoch * 1000).toISOString().slice(0, 10);
  return `.TH LICMOND 1 ${date} "licmond ${escaped(version)}" "User Commands"
.SH NAME
licmond \\- monitoring daemon for software license servers
.SH SYNOPSIS
.B licmond
[\\fIoptions\\fR] \\fIcommand\\fR
.SH DESCRIPTION
${example(program)}
.SH COMMANDS
${sections.join("\n")}
.SH FILES
.TP
.I /etc/licmond/licmond.toml
The config. \\fBlicmond init \\-\\-output \\-\\fR prints one with every setting explained.
.TP
.I /var/lib/licmond
The database.
.SH SEE ALSO
.BR systemctl (1),
.BR systemd.unit (5)
`;
}

/** Text as it stands, line by line. */
function example(text: string): string {
  return `.EX\n${escaped(text.trimEnd())}\n.EE`;
}

/** Nothing of it is a request or an escape of roff. */
function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("'", "\\(aq")
    .replaceAll("`", "\\(ga")
    .replaceAll("^", "\\(ha")
    .replaceAll("~", "\\(ti")
    .replace(/^(?=[.'])/gm, "\\&");
}
