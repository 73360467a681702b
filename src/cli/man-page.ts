import type { Command } from "commander";
import type { CreateProgram } from "./command.ts";
import { processIo } from "./io.ts";

/** Width that man(1) leaves for indented text in 80 columns. */
const HELP_WIDTH = 71;

/** Builds licmond(1) in man(7) macros from the `--help` of every command. `date`: `2026-01-31`, or empty. */
export async function manPage(createProgram: CreateProgram, version: string, date: string): Promise<string> {
  let shown = "";
  const io = {
    ...processIo(),
    out: (text: string) => {
      shown += text;
    },
    // Do not depend on the width of the terminal at build time.
    terminal: { out: false, err: false, columns: HELP_WIDTH },
  };
  const program = await createProgram(io);
  const helpOf = (command: Command): string => {
    shown = "";
    command.outputHelp();
    return `.EX\n${escaped(shown.trimEnd())}\n.EE`;
  };
  const commands = [...commandsOf(program, "licmond")];
  const sections = commands.map(([name, command]) => `.SS ${escaped(name)}\n${helpOf(command)}`);
  return `.TH LICMOND 1 "${date}" "licmond ${escaped(version)}" "User Commands"
.SH NAME
licmond \\- monitoring daemon for software license servers
.SH SYNOPSIS
.B licmond
[\\fIoptions\\fR] \\fIcommand\\fR
.SH DESCRIPTION
${helpOf(program)}
.SH COMMANDS
${sections.join("\n")}
.SH FILES
.TP
.I /etc/licmond/licmond.toml
The config. \\fBlicmond init \\-\\-output \\-\\fR prints one with every setting explained.
.TP
.I /var/lib/licmond
The database.
.TP
.I /run/licmond
The sockets by which root and the group licmond ask the daemon without a key.
.TP
.I \\(ti/.config/licmond/client.toml
\\fBurl\\fR and \\fBkey_file\\fR of the daemon that the commands for people ask; $LICMOND_URL and $LICMOND_API_KEY take precedence.
.SH SEE ALSO
.BR systemctl (1),
.BR systemd.unit (5)
`;
}

function* commandsOf(parent: Command, title: string): Generator<readonly [string, Command]> {
  for (const command of parent.commands) {
    const full = `${title} ${command.name()}`;
    yield [full, command];
    yield* commandsOf(command, full);
  }
}

/** Escapes roff requests and escapes. */
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
