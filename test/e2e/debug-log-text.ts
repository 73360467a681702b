/** The debug log of a busy daemon `acmed`: seats that come and go, denials, and a date every six hours, in UTC. */
export function debugLog(start: number, events: number): string {
  let seed = 7;
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const held: string[] = [];
  const lines: string[] = [];
  let at = start;
  let stampedAt = 0;
  for (let index = 0; index < events; index++) {
    at += random(60) * 1000;
    const date = new Date(at);
    const head = `${date.toISOString().slice(11, 19)} (acmed) `;
    if (at - stampedAt > 6 * 3_600_000) {
      lines.push(`${head}TIMESTAMP ${date.getUTCMonth() + 1}/${date.getUTCDate()}/${date.getUTCFullYear()}`);
      stampedAt = at;
    }
    const seat = () => `"feature_${random(20)}" user${random(200)}@ws${random(300)}  `;
    const kind = random(100);
    if (kind < 48 || held.length === 0) {
      const taken = seat();
      held.push(taken);
      lines.push(`${head}OUT: ${taken}`);
    } else if (kind < 96) {
      const [given = ""] = held.splice(random(held.length), 1);
      lines.push(`${head}IN: ${given}`);
    } else {
      lines.push(`${head}DENIED: ${seat()}(Licensed number of users already reached. (-4,342:10054 ""))`);
    }
  }
  return `${lines.join("\n")}\n`;
}
