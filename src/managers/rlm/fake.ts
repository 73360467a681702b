import { type Dialect, fakeTool } from "../fake-tool.ts";
import { renderRlm } from "./render.ts";

const USAGE = `usage: rlmstat [-a] [-avail] [-c license] [-i [isv]] [-l [isv]] [-n [host]]
               [-p [product]] [-q] [-u [user]] [-v] [-z password]
`;

/** rlmstat of RLM 12–14 ("RLM License Administration Manual", rlmutil). */
export const fakeRlmstat = (parseAddress: Dialect["parseAddress"]) =>
  fakeTool({
    names: ["rlmutil", "rlmstat"],
    usage: USAGE,
    banner: (version) => `rlmutil ${version}
Copyright (C) 2006-2017, Reprise Software, Inc. All rights reserved.
`,
    exitCode: ({ errors }) => (errors.length === 0 ? 0 : 1),
    daemonOption: "-i",
    featureOption: "-p",
    allOptions: ["-a", "-avail", "-i", "-l", "-p", "-u"],
    parseAddress,
    render: renderRlm,
  });
