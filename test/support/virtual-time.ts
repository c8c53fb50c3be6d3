import { TestClock } from "effect/testing"

/**
 * Virtual time. `TestClock.adjust` waits until what it woke has come to rest, but by default for one real second only:
 * then it warns and goes on, which on a machine that stood still for a moment changes what happens.
 */
export const virtualTime = TestClock.layer({ warningDelay: "1 day" })
