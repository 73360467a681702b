export function Feature() { return null; }
