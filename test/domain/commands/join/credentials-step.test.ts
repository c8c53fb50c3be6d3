import fc from "fast-check"
import { expect, it } from "vitest"
import { credentialsStep } from "../../../../src/domain/commands/join/credentials-step.ts"

const found = fc.record({ exists: fc.boolean(), isRight: fc.boolean(), release: fc.constantFrom(undefined, "braid") })

it("credentials that are right stay, and a release's Secret is never written", () => {
  fc.assert(
    fc.property(found, (secret) => {
      const { _tag } = credentialsStep(secret, "c")
      if (secret.isRight) expect(_tag).toBe("Kept")
      else if (!secret.exists) expect(_tag).toBe("Create")
      else expect(_tag).toBe(secret.release === undefined ? "Replace" : "Refused")
    })
  )
})
