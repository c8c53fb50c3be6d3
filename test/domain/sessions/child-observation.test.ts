import { describe, expect, it } from "vitest"
import { textLimits } from "../../../src/domain/clean-text.ts"
import { observeChild } from "../../../src/domain/sessions/child-observation.ts"

/** A child whose member says `message` about it. */
const child = (message: string) => ({
  metadata: { name: "mc-1-b", uid: "u" },
  spec: { namespace: "shop", owner: { userId: "u", username: "n", hostname: "h", k8sUsername: "k" } },
  status: {
    conditions: [
      { type: "Ready", status: "False", reason: "Error", message, lastTransitionTime: "2026-01-01T00:00:00Z" } as const
    ]
  }
})
const saidOf = (message: string): string | undefined => {
  const observed = observeChild(child(message))
  return observed._tag === "Present" ? observed.failure?.message : undefined
}

describe("a member's words about its part of a session", () => {
  it("are taken as they are", () => {
    expect(saidOf("the agent's image braid/agent:1 cannot be pulled: not found")).toBe(
      "the agent's image braid/agent:1 cannot be pulled: not found"
    )
  })
  it("are cut where they enter, and hold nothing that a terminal obeys", () => {
    const said = saidOf("\u001b[2J\u202e".repeat(100_000)) ?? ""
    expect(said).toHaveLength(textLimits.quotation)
    expect(said).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
  })
})
