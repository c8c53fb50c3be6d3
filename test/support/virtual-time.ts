import { Effect, Layer, Random } from "effect"
import { TestClock } from "effect/testing"

/** Random numbers that are the same in every run: a pause that is drawn decides who comes first. */
const seededRandom = Layer.effect(Random.Random, Random.withSeed(Effect.service(Random.Random), "virtual time"))

/**
 * Virtual time, and randomness of one seed. `TestClock.adjust` waits until what it woke has come to rest, but by
 * default for one real second only: then it warns and goes on, which on a machine that stood still for a moment changes
 * what happens.
 */
export const virtualTime = Layer.mergeAll(TestClock.layer({ warningDelay: "1 day" }), seededRandom)
