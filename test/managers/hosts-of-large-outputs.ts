/** Prints how much of the heap 100 hosts take that were cut from outputs of 1 MB each. */
import { heapStats } from "bun:jsc";
import { createKnownHosts } from "../../src/managers/manager.ts";

const hosts = createKnownHosts();
Bun.gc(true);
const before = heapStats().heapSize;
for (let index = 0; index < 100; index++) learnFrom(`${"x ".repeat(500_000)}${nameOf(index)} `);
Bun.gc(true);
const bytes = heapStats().heapSize - before;
console.log(JSON.stringify({ kept: hosts.has(nameOf(99)), bytes }));

function learnFrom(output: string): void {
  hosts.add(output.slice(output.lastIndexOf(" ", output.length - 2) + 1, -1));
}

/** Names of a few letters would be copied by the engine anyway. */
function nameOf(index: number): string {
  return `workstation-${index}.engineering.example.com`;
}
