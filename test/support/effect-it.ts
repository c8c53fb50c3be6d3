import { it as effectIt } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { TestConsole } from "effect/testing"
import { it as plainIt, type TestContext, type TestOptions } from "vitest"
import { virtualTime } from "./virtual-time.ts"

const services = Layer.mergeAll(TestConsole.layer, virtualTime)

/** A case is a generator, as `Effect.gen` takes it, or makes an Effect. */
type Case<Args extends ReadonlyArray<unknown>> = (
  ...args: Args
) => Effect.fn.Return<unknown, unknown, Scope.Scope> | Effect.Effect<unknown, unknown, Scope.Scope>

const scoped =
  <Args extends ReadonlyArray<unknown>>(self: Case<Args>) =>
  (...args: Args): Effect.Effect<unknown, unknown> =>
    Effect.suspend(() => {
      const made = self(...args)
      return Effect.isEffect(made) ? made : Effect.gen(() => made)
    }).pipe(Effect.scoped)

const inVirtualTime =
  <Args extends ReadonlyArray<unknown>>(self: Case<Args>) =>
  (...args: Args): Effect.Effect<unknown, unknown> =>
    scoped(self)(...args).pipe(Effect.provide(services))

/** `it` of cases that run this way, with `each`. */
const caseRunner = (run: typeof scoped) =>
  Object.assign(
    (name: string, self: Case<[context: TestContext]>, options?: TestOptions): void =>
      effectIt.live(name, run(self), options),
    {
      each:
        <T>(cases: ReadonlyArray<T>) =>
        (name: string, self: Case<[one: T, context: TestContext]>, options?: TestOptions): void =>
          effectIt.live.each(cases)(name, run(self), options)
    }
  )

/** `it` with `it.effect` in {@link virtualTime} and `it.live` in the machine's. */
export const it = Object.assign(plainIt.extend({}), {
  effect: caseRunner(inVirtualTime),
  live: caseRunner(scoped)
})
