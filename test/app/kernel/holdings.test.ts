import { Effect, Exit, Scope } from "effect"
import { describe, expect, it } from "vitest"
import { countHolding, CurrentHoldings, Holdings } from "../../../src/app/kernel/holdings.ts"

describe("holdings", () => {
  it("are summed by kind, and only what there is is told", () => {
    const holdings = new Holdings()
    let locks = 2
    const remove = holdings.add("locks", () => locks)
    holdings.add("locks", () => 1)
    holdings.add("sockets", () => 0)
    expect(holdings.now()).toEqual(new Map([["locks", 3]]))
    locks = 5
    expect(holdings.now()).toEqual(new Map([["locks", 6]]))
    remove()
    expect(holdings.now()).toEqual(new Map([["locks", 1]]))
  })

  it("are counted for as long as a scope lives", async () => {
    const holdings = new Holdings()
    await Effect.runPromise(
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        yield* countHolding("sockets", () => 1).pipe(Scope.provide(scope))
        expect(holdings.now()).toEqual(new Map([["sockets", 1]]))
        yield* Scope.close(scope, Exit.void)
        expect(holdings.now()).toEqual(new Map())
      }).pipe(Effect.provideService(CurrentHoldings, holdings))
    )
  })
})
