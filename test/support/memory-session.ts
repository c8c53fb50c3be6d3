import { Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import type { ConnectRequest } from "../../src/app/api/operator-facade.ts"
import { ApiError } from "../../src/app/api/status.ts"
import { pass } from "./connect-request.ts"
import { type MemoryCluster, type MemoryWorld, memoryWorld, openConnection } from "./memory-world.ts"
import { certificateOf } from "./user-certificate.ts"

/** The moment at which worlds begin, epoch ms. */
const today = Date.UTC(2026, 10, 21)

/** A world in memory whose operators have started, and a user's certificate of its primary. */
export const startWorld = (...options: Parameters<typeof memoryWorld>) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(today)
    const world = yield* memoryWorld(...options)
    yield* pass("1 second")
    return { world, certificate: yield* certificateOf(world.primary) }
  })

/** Connects to an operator and lets time pass until it has answered, half a minute at most. */
export const connectTo = (cluster: MemoryCluster, wanted: ConnectRequest) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.result(openConnection(cluster, wanted)), { startImmediately: true })
    for (let i = 0; i < 60 && fiber.pollUnsafe() === undefined; i++) yield* pass("500 millis")
    return yield* Fiber.join(fiber)
  })

export const memberOf = (world: MemoryWorld, name: string): MemoryCluster => {
  const found = world.members.get(name)
  if (found === undefined) throw new Error(`no cluster ${name}`)
  return found
}

/** The channel of a connection that was let in. */
export const opened = <A>(result: Result.Result<A, unknown>): A => {
  if (Result.isFailure(result)) throw result.failure
  return result.success
}

/** The answer to a connection that was not let in. */
export const refusedWith = (result: Result.Result<unknown, unknown>): ApiError => {
  if (Result.isSuccess(result) || !(result.failure instanceof ApiError))
    throw new Error("it was not refused with a Status")
  return result.failure
}
