import { Effect } from "effect"
import { expect } from "vitest"
import { claimSubnets } from "../../../lab/playground/free-addresses.ts"
import { subnetOf } from "../../address-plan.ts"
import { it } from "../../support/effect-it.ts"

it.effect("subnets belong to one playground at a time, and are free after it", () =>
  Effect.gen(function* () {
    const subnet = subnetOf("claimed subnets")
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* claimSubnets([subnet])
        const { message } = yield* Effect.flip(Effect.scoped(claimSubnets([subnet])))
        expect(message).toMatch(
          /^127\.\d+\.0\.0\/16 is in use, perhaps by another playground: .*EADDRINUSE.*; choose others, such as --subnet \d+$/u
        )
      })
    )
    yield* Effect.scoped(claimSubnets([subnet]))
  })
)
