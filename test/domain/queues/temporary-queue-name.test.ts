import { createHash } from "node:crypto"
import { Result } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isQueueName } from "../../../src/domain/queues/queue-name.ts"
import { temporaryQueueName, type TemporaryQueueName } from "../../../src/domain/queues/temporary-queue-name.ts"

const sha256Hex = (text: string): string => createHash("sha256").update(text).digest("hex")
const named = (parts: Partial<TemporaryQueueName> = {}) =>
  temporaryQueueName({ original: "orders", role: "main", random: "k3x9", template: undefined, sha256Hex, ...parts })

describe("the name of a temporary queue", () => {
  it.each([
    [{}, "mirrord-tmp-k3x9-main-orders"],
    [{ role: "session", original: "orders.fifo" }, "mirrord-tmp-k3x9-orders.fifo"],
    [{ template: "mirrord-{{ORIGINAL}}{{FALLBACK}}{{RANDOM}}_x" }, "mirrord-orders-main-k3x9_x"],
    [{ template: "team-{{RANDOM}}{{FALLBACK}}{{ORIGINAL}}" }, "mirrord-team-k3x9-main-orders"]
  ] as const)("follows its template: %j", (parts, name) => expect(Result.getOrThrow(named(parts))).toBe(name))

  it("is one of SQS for every original, and other originals have others", () => {
    const original = fc.stringMatching(/^[A-Za-z0-9_-]{1,75}(?:\.fifo)?$/u)
    const role = fc.constantFrom("main" as const, "session" as const)
    fc.assert(
      fc.property(original, original, role, (one, other, role) => {
        const name = Result.getOrThrow(named({ original: one, role }))
        expect(isQueueName(name)).toBe(true)
        expect(name.endsWith(".fifo")).toBe(one.endsWith(".fifo"))
        expect(name === Result.getOrThrow(named({ original: other, role }))).toBe(one === other)
      })
    )
  })

  it("keeps the beginning of a long original, and tells ends apart", () => {
    const names = ["a.fifo", "b.fifo"].map((end) =>
      Result.getOrThrow(named({ original: `${"orders-".repeat(10)}${end}` }))
    )
    expect(names[0]).toMatch(/^mirrord-tmp-k3x9-main-(?:orders-){6}.*-[0-9a-f]{8}\.fifo$/u)
    expect(names[0]).toHaveLength(80)
    expect(names[0]).not.toBe(names[1])
  })

  it.each([
    ["mirrord-{{RANDOM}}{{ORIGINAL}}", "must have {{FALLBACK}} once"],
    ["{{RANDOM}}{{RANDOM}}{{FALLBACK}}{{ORIGINAL}}", "must have {{RANDOM}} once"],
    ["{{RANDOM}}.{{FALLBACK}}{{ORIGINAL}}", "may have letters, digits, - and _"],
    [`${"x".repeat(60)}{{RANDOM}}{{FALLBACK}}{{ORIGINAL}}`, "it leaves 2 of 80 characters"]
  ])("needs a template that can be used, not %s: %s", (template, why) => {
    expect(Result.getOrThrow(Result.flip(named({ template })))).toContain(why)
  })
})
