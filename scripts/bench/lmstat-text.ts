export interface LmstatShape {
  readonly features: number;
  readonly checkouts: number;
}

const START = "start Mon 1/5";

/** An `lmstat -a` output of one server with that many features and checkouts, all the same for the same shape. */
export function lmstatText(
  { features, checkouts }: LmstatShape,
  host = "lic1.engineering.example.com",
): string {
  const parts = [
    `lmutil - Copyright (c) 1989-2022 Flexera. All Rights Reserved.
Flexible License Manager status on Mon 1/5/2026 09:30

License server status: 27000@${host}
    License file(s) on ${host}: /opt/acme/license.dat:

${host}: license server UP (MASTER) v11.18.2

Vendor daemon status (on ${host}):

     acmed: UP v11.18.2
Feature usage info:
`,
  ];
  let made = 0;
  for (let feature = 0; feature < features; feature++) {
    const held = Math.floor((checkouts * (feature + 1)) / features) - made;
    parts.push(block(`Tool_${feature}`, host, made, held));
    made += held;
  }
  return `${parts.join("\n")}\n`;
}

/** Of a checkout in a large site's output, with its share of the feature's head: long names, twenty on a feature. */
const BYTES_PER_CHECKOUT = 162;

/** An output of about that many bytes. */
export function lmstatOfSize(bytes: number): string {
  const checkouts = Math.ceil(bytes / BYTES_PER_CHECKOUT);
  return lmstatText({ features: Math.ceil(checkouts / 20), checkouts });
}

function block(name: string, host: string, first: number, held: number): string {
  const head = `Users of ${name}:  (Total of ${held + 10} licenses issued;  Total of ${held} licenses in use)\n`;
  if (held === 0) return head;
  const lines: string[] = [];
  for (let index = first; index < first + held; index++) {
    const user = `user${String(index % 4001).padStart(4, "0")}`;
    const client = `ws${String(index % 3001).padStart(4, "0")}.engineering.example.com`;
    const minute = String(index % 60).padStart(2, "0");
    const tail = index % 3 === 0 ? `, PID: ${10_000 + (index % 50_000)} ` : "";
    lines.push(
      `    ${user} ${client} ${client}:0.0 (v2.0) (${host}/27000 ${100 + index}), ${START} ${8 + (index % 2)}:${minute}${tail}`,
    );
  }
  return `${head}\n  "${name}" v2.0, vendor: acmed, expiry: 31-dec-2027\n  vendor_string: pool\n  floating license\n\n${lines.join("\n")}\n`;
}
