import { Effect, Layer, Random } from "effect"
import { virtualClock } from "./virtual-clock.ts"

/** Random numbers that are the same in every run: a pause that is drawn decides who comes first. */
const seededRandom = Layer.effect(Random.Random, Random.withSeed(Effect.service(Random.Random), "virtual time"))

/** Virtual time, and randomness of one seed. */
export const virtualTime = Layer.mergeAll(virtualClock, seededRandom)
