import { it as effectIt } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { TestClock, TestConsole } from "effect/testing"
import { it as plainIt, type TestContext, type TestOptions } from "vitest"

/**
 * Virtual time. `TestClock.adjust` waits until what it woke has come to rest, but by default for one real second only:
 * then it warns and goes on, which on a machine that stood still for a moment changes what happens.
 */
export const virtualTime = TestClock.layer({ warningDelay: "1 day" })

const services = Layer.mergeAll(TestConsole.layer, virtualTime)

const inVirtualTime = <A, E>(self: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E> =>
  self.pipe(Effect.scoped, Effect.provide(services))

const one = <A, E>(
  name: string,
  self: (context: TestContext) => Effect.Effect<A, E, Scope.Scope>,
  options?: TestOptions
): void => effectIt.live(name, (context) => inVirtualTime(self(context)), options)

const each =
  <T>(cases: ReadonlyArray<T>) =>
  <A, E>(
    name: string,
    self: (one: T, context: TestContext) => Effect.Effect<A, E, Scope.Scope>,
    options?: TestOptions
  ): void =>
    effectIt.live.each(cases)(name, (value, context) => inVirtualTime(self(value, context)), options)

/** `it` with `it.effect` in {@link virtualTime} and `it.live` in the machine's. */
export const it = Object.assign(plainIt.extend({}), { effect: Object.assign(one, { each }), live: effectIt.live })
