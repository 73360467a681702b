/** Whether tests that take their time were asked for: `scripts/test --slow`. */
export const SLOW = process.env.SLOW_TESTS === "1";
