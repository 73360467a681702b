import type { Manager } from "../manager.ts";
import { command, parseAddress } from "./address.ts";
import { commands, utility } from "./commands.ts";
import { createRlmParser } from "./parser.ts";
import { renderRlm } from "./render.ts";

/** Reprise License Manager, through its own `rlmutil rlmstat -a`. */
export const rlm: Manager = {
  name: "rlm",
  title: "RLM",
  tools: ["rlmutil", "rlmstat"],
  parseAddress,
  command,
  commands,
  utility,
  createParser: createRlmParser,
  render: renderRlm,
};
