import type { Reading, ToolError } from "../domain/reading.ts";
import type { ManagerName } from "../domain/words.ts";
import type { ServerState } from "./state.ts";
import { dslsVoice } from "./voice-dsls.ts";
import { flexnetVoice } from "./voice-flexnet.ts";
import { lmxVoice } from "./voice-lmx.ts";
import { lsdynaVoice } from "./voice-lsdyna.ts";
import { rlmVoice } from "./voice-rlm.ts";
import { rmsVoice } from "./voice-rms.ts";

type Parts = Pick<Reading, "reportTime" | "toolVersion" | "members" | "daemons" | "features"> & {
  readonly errors?: readonly ToolError[];
};

/** What each manager's tool says of a server, and what it leaves out. */
const VOICES: Readonly<Record<ManagerName, (state: ServerState) => Parts>> = {
  flexnet: flexnetVoice,
  rlm: rlmVoice,
  dsls: dslsVoice,
  lmx: lmxVoice,
  rms: rmsVoice,
  lsdyna: lsdynaVoice,
};

/** A reading without faults of its own: no unparsed lines, nothing cut. */
export function wholeReading(parts: Parts & Pick<Reading, "manager">): Reading {
  return { errors: [], ...parts, unparsedLines: 0, unparsed: [], cut: false, recognised: true };
}

/** What the manager's tool would say of a server in this state. */
export function readingOf(state: ServerState): Reading {
  const { manager } = state.spec;
  const voice = VOICES[manager];
  if (voice === undefined) throw new Error(`the simulator does not know what the tool of ${manager} says`);
  return wholeReading({ manager, ...voice(state) });
}
