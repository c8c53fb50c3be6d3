import { expect, it } from "vitest"
import { userAgentOf } from "../../../src/app/operator/user-agent.ts"

it("names the release, and the pod where there is one", () => {
  expect(userAgentOf("1.2.3", undefined)).toBe("braid/1.2.3")
  expect(userAgentOf("1.2.3", { name: "mirrord-operator-7d4b9c-x2x9k", uid: "u" })).toBe(
    "braid/1.2.3 (pod mirrord-operator-7d4b9c-x2x9k)"
  )
})
