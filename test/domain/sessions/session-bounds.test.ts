import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { boundProblem, type SessionBounds, defaultBounds } from "../../../src/domain/sessions/session-bounds.ts"

const bounds: SessionBounds = { ...defaultBounds, sessionsPerUser: 2, sessions: 3, connectionsPerSession: 4 }
const asked = { session: "mc-9", user: "ann" }
const users = (...names: ReadonlyArray<string>) => new Map(names.map((name, index) => [`mc-${index}`, name]))

describe("the bounds of sessions", () => {
  it.each([
    ["a first session", users(), 0, undefined],
    ["one session less than the bound", users("ann", "bob"), 0, undefined],
    [
      "as many sessions as one user may have",
      users("ann", "ann"),
      0,
      "The bound of sessions of user ann is reached: there are 2, and 2 are allowed (the chart's value " +
        "bounds.sessionsPerUser); end a session (`mirrord session list`, `mirrord operator session stop --id ID`), " +
        "or ask an administrator to raise the value."
    ],
    [
      "as many sessions as all users may have",
      users("bob", "bob", "eve"),
      0,
      "The bound of sessions of all users is reached: there are 3, and 3 are allowed (the chart's value " +
        "bounds.sessions); end a session (`mirrord session list`, `mirrord operator session stop --id ID`), or ask " +
        "an administrator to raise the value."
    ],
    [
      "another connection of a session that exists, beyond all bounds",
      new Map([...users("ann", "ann", "bob"), ["mc-9", "ann"]]),
      3,
      undefined
    ],
    [
      "as many connections as a session may have",
      new Map([["mc-9", "ann"]]),
      4,
      "The bound of connections of session mc-9 is reached: there are 4, and 4 are allowed (the chart's value " +
        "bounds.connectionsPerSession); end some of its processes, or ask an administrator to raise the value."
    ]
  ])("say of %s what they say", (_, found, connections, expected) =>
    expect(boundProblem(bounds, asked, { users: found, connections })).toBe(expected)
  )

  it("never refuse a session that exists, however small they become", () => {
    const names = fc.constantFrom("ann", "bob", "eve")
    const session = fc.integer({ min: 0, max: 20 }).map((number) => `mc-${number}`)
    fc.assert(
      fc.property(
        fc.array(fc.tuple(session, names), { minLength: 1 }),
        names,
        fc.nat(3),
        (found, user, connections) => {
          const known = new Map(found)
          for (const name of known.keys())
            expect(
              boundProblem(
                { ...bounds, sessionsPerUser: 1, sessions: 1 },
                { session: name, user },
                { users: known, connections }
              )
            ).toBeUndefined()
        }
      )
    )
  })

  it("are never exceeded by requests that each of them permits", () => {
    const request = fc.record({
      session: fc.nat(30).map((number) => `mc-${number}`),
      user: fc.constantFrom("ann", "bob", "eve")
    })
    fc.assert(
      fc.property(fc.array(request, { maxLength: 60 }), (requests) => {
        const known = new Map<string, string>()
        for (const one of requests) {
          if (boundProblem(bounds, one, { users: known, connections: 0 }) === undefined)
            known.set(one.session, known.get(one.session) ?? one.user)
          expect(known.size).toBeLessThanOrEqual(bounds.sessions)
          for (const user of ["ann", "bob", "eve"])
            expect([...known.values()].filter((other) => other === user).length).toBeLessThanOrEqual(
              bounds.sessionsPerUser
            )
        }
      })
    )
  })

  it("show a user's name on one line, and not all of it", () => {
    const problem = boundProblem(
      bounds,
      { session: "mc-9", user: "a\n\u001b[31m" },
      {
        users: new Map([
          ["x", "a\n\u001b[31m"],
          ["y", "a\n\u001b[31m"]
        ]),
        connections: 0
      }
    )
    expect(problem).toContain("user a\\u000a\\u001b[31m is reached")
  })

  it("leave a team of fifty with one account alone, with two sessions each", () => {
    const known = new Map(Array.from({ length: 99 }, (_, index) => [`mc-${index}`, "team"]))
    expect(
      boundProblem(defaultBounds, { session: "new", user: "team" }, { users: known, connections: 0 })
    ).toBeUndefined()
  })
})
