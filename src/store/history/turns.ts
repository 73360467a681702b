/** A queue in which everybody has a turn: who asks much waits for itself, not others for it. */
export interface Turns<Item> {
  add(who: string, item: Item): void;
  /** Forgets an item that need not be served any more; nothing when it was. */
  remove(who: string, item: Item): void;
  /** The oldest of who had no turn for the longest time; undefined when nothing waits. */
  next(): Item | undefined;
}

export function createTurns<Item>(): Turns<Item> {
  /** Who is first has the next turn. */
  const queues = new Map<string, Set<Item>>();
  return {
    add(who, item) {
      const queue = queues.get(who);
      if (queue === undefined) queues.set(who, new Set([item]));
      else queue.add(item);
    },
    remove(who, item) {
      const queue = queues.get(who);
      queue?.delete(item);
      if (queue?.size === 0) queues.delete(who);
    },
    next() {
      for (const [who, queue] of queues) {
        queues.delete(who);
        for (const item of queue) {
          queue.delete(item);
          if (queue.size > 0) queues.set(who, queue);
          return item;
        }
      }
      return undefined;
    },
  };
}
