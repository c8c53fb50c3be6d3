import { Effect, Logger } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { audit } from "../../../src/app/kernel/audit.ts"
import { CurrentRepeatedLines, RepeatedLines } from "../../../src/app/kernel/repeated-lines.ts"
import { auditFields, type SessionAct } from "../../../src/domain/sessions/session-act.ts"

const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      "\n",
      "\r\n",
      "\u0000",
      "\u001b[2K",
      "\u0085",
      "\u2028",
      "\u202e",
      "\ud800",
      "\\",
      '"',
      " audit=true act=ended ",
      "}\n{"
    ),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 })
  )
})
const act: fc.Arbitrary<SessionAct> = fc.record({
  act: fc.constant("refused" as const),
  by: fc.record({ user: hostile, groups: fc.array(hostile, { maxLength: 60 }), from: hostile }),
  claims: fc.record({ username: hostile, hostname: hostile }),
  session: hostile,
  namespace: hostile,
  target: hostile,
  clusters: fc.array(hostile, { maxLength: 3 }),
  code: fc.integer({ min: 400, max: 599 }),
  reason: hostile,
  message: hostile
})

/** The lines of a logger for an act. */
const written = (one: SessionAct, format: Logger.Logger<unknown, string>): ReadonlyArray<string> => {
  const lines: Array<string> = []
  const audited = Effect.provideService(audit(one), CurrentRepeatedLines, new RepeatedLines())
  Effect.runSync(Effect.provide(audited, Logger.layer([Logger.map(format, (line) => void lines.push(line))])))
  return lines
}

describe("an audit line", () => {
  it("is one line of JSON, whose fields say what was given, whatever strings somebody sent", () => {
    fc.assert(
      fc.property(act, (one) => {
        const lines = written(one, Logger.formatJson)
        expect(lines).toHaveLength(1)
        expect(lines[0]).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u)
        expect(JSON.parse(lines[0] ?? "")).toMatchObject({ message: "session refused", annotations: auditFields(one) })
      }),
      { numRuns: 150 }
    )
  })
  it("is one line of logfmt too, and nobody can add a field to it", () => {
    fc.assert(
      fc.property(act, (one) => {
        const lines = written(one, Logger.formatLogFmt)
        expect(lines).toHaveLength(1)
        expect(lines[0]).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u)
        const withoutQuoted = (lines[0] ?? "").replace(/"(?:[^"\\]|\\.)*"/gu, '""')
        expect(withoutQuoted.match(/ audit=/gu)).toEqual([" audit="])
        expect(withoutQuoted.match(/ act=/gu)).toEqual([" act="])
        const keys = withoutQuoted.match(/(?<=^| )[^ =]+(?==)/gu) ?? []
        expect(new Set(keys).size, "no field twice").toBe(keys.length)
      }),
      { numRuns: 150 }
    )
  })
  it("is of bounded length", () => {
    const long = "x".repeat(1_000_000)
    const fields = auditFields({
      act: "connected",
      by: { user: long, groups: Array.from({ length: 10_000 }, () => long), from: long },
      session: long
    })
    expect(JSON.stringify(fields).length).toBeLessThan(20_000)
    expect(fields["groups"]).toHaveLength(51)
  })
  it("tells verified from claimed, and says who decided", () => {
    expect(
      auditFields({
        act: "created",
        by: { user: "ann", groups: ["dev", "system:authenticated"], from: "10.1.2.3" },
        userId: "key",
        claims: { username: "root", hostname: "laptop" },
        session: "mc-00000000000000ff",
        namespace: "shop",
        target: "deployment.myapp",
        clusters: ["a", "b"],
        owner: "ann"
      })
    ).toEqual({
      audit: true,
      act: "created",
      decision: "allowed",
      session: "mc-00000000000000ff",
      user: "ann",
      groups: ["dev", "system:authenticated"],
      userId: "key",
      claimedUsername: "root",
      claimedHostname: "laptop",
      from: "10.1.2.3",
      owner: "ann",
      namespace: "shop",
      target: "deployment.myapp",
      clusters: ["a", "b"]
    })
    expect(auditFields({ act: "ended", cause: "Expired", session: "mc-1", message: "No client." })).toMatchObject({
      user: "the operator",
      cause: "Expired"
    })
  })
})
