import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  type EphemeralAgent,
  ephemeralPort,
  ephemeralStep,
  type WantedAgent
} from "../../../src/domain/agents/ephemeral-agents.ts"

const base = "mirrord-agent-0123456789"
const running = { _tag: "Running" } as const
const starting = { _tag: "Starting" } as const
const ended = (exitCode: number) => ({ _tag: "Ended", exitCode }) as const

const agent = (name: string, state: EphemeralAgent["state"], target = "app"): EphemeralAgent => ({
  name,
  target,
  port: 40_000,
  state
})
const own = (number: number, state: EphemeralAgent["state"]): EphemeralAgent => agent(`${base}-${number}`, state)
const stranger = (state: EphemeralAgent["state"], target = "sidecar"): EphemeralAgent =>
  agent("mirrord-agent-abcdefghij", state, target)

const wanted = (agents: ReadonlyArray<EphemeralAgent>, more: Partial<WantedAgent> = {}): WantedAgent => ({
  agents,
  base,
  target: "app",
  isShared: false,
  mustEnd: () => undefined,
  ...more
})
const step = (agents: ReadonlyArray<EphemeralAgent>, more: Partial<WantedAgent> = {}) =>
  ephemeralStep(wanted(agents, more))

const noImage = { kind: "Pull", reason: "no agent:1", words: "no agent:1", isOurs: true } as const
const stateArbitrary: fc.Arbitrary<EphemeralAgent["state"]> = fc.oneof(
  fc.constant(running),
  fc.constantFrom<EphemeralAgent["state"]>(starting, { _tag: "Starting", problem: noImage }),
  fc.constantFrom(0, 1, 2, 128, 137, 143).map(ended)
)
const podArbitrary = fc.record({
  agents: fc.uniqueArray(
    fc.record({
      name: fc.oneof(
        fc.integer({ min: 1, max: 12 }).map((number) => `${base}-${number}`),
        fc.constantFrom("mirrord-agent-abcdefghij", "mirrord-agent-9999999999-1", base, `${base}-x`)
      ),
      target: fc.constantFrom("app", "sidecar"),
      port: fc.integer({ min: 1, max: 65_535 }),
      state: stateArbitrary
    }),
    { selector: ({ name }) => name, maxLength: 6 }
  ),
  isShared: fc.boolean(),
  ending: fc.option(fc.constantFrom("it speaks clear text"), { nil: undefined })
})

describe("the next step towards an ephemeral agent", () => {
  it("is to add one to a pod that has none", () =>
    expect(step([])).toEqual({ _tag: "Add", name: `${base}-1`, cleansUp: false }))

  it("is to use the one that runs, whoever started it", () => {
    const [first, second] = [own(1, ended(0)), own(2, running)]
    expect(step([first, second])).toEqual({ _tag: "Use", agent: second })
  })

  it("is to wait for the one that starts", () =>
    expect(step([own(1, starting)])).toMatchObject({ _tag: "Wait", detail: undefined }))

  it("is to refuse where it cannot start, since it can never be replaced", () => {
    expect(step([own(1, { _tag: "Starting", problem: noImage })])).toEqual({
      _tag: "Refuse",
      detail:
        `the image of its container ${base}-1 cannot be pulled: no agent:1; an ephemeral container cannot be changed ` +
        "or removed, so make that image available or replace the pod"
    })
    const problem = {
      ...noImage,
      kind: "Start",
      reason: "container x cannot start (CreateContainerError): why"
    } as const
    expect(step([own(1, { _tag: "Starting", problem })])).toEqual({
      _tag: "Refuse",
      detail:
        `${problem.reason}; an ephemeral container cannot be changed or removed, ` +
        "so put that right or replace the pod"
    })
  })

  it.each([
    [0, false],
    [1, false],
    [2, false],
    [137, true],
    [143, true]
  ])("after one that ended with code %i is the next name; it cleans up: %s", (exitCode, cleansUp) =>
    expect(step([own(3, ended(exitCode))])).toEqual({ _tag: "Add", name: `${base}-4`, cleansUp })
  )

  it("after the agent of an earlier run of the container that was killed with it cleans up too", () =>
    expect(step([agent("mirrord-agent-9999999999-1", ended(137))])).toMatchObject({ _tag: "Add", cleansUp: true }))

  it("cleans up after one that was killed also if the next one failed before it could", () => {
    expect(step([own(1, ended(137)), own(2, ended(128))])).toMatchObject({ _tag: "Add", cleansUp: true })
    expect(step([own(1, ended(137)), own(2, ended(1))])).toMatchObject({ _tag: "Add", cleansUp: true })
    expect(step([own(1, ended(137)), own(2, ended(0)), own(3, ended(1))])).toMatchObject({ cleansUp: false })
  })

  it("is to wait for the end of one that cannot be used, and then to clean up after it", () => {
    const mustEnd = () => "it stopped answering"
    expect(step([own(1, running)], { mustEnd })).toMatchObject({
      _tag: "Wait",
      detail: `${base}-1 has to end first: it stopped answering`
    })
    expect(step([own(1, ended(0))], { mustEnd })).toEqual({ _tag: "Add", name: `${base}-2`, cleansUp: true })
  })

  it("is to refuse beside a living agent of another container, whose redirects have the same names", () => {
    expect(step([stranger(running)])).toEqual({
      _tag: "Refuse",
      detail:
        "the pod has an ephemeral agent already, mirrord-agent-abcdefghij beside container sidecar, and two would " +
        "fight over the pod's packet filter; it ends by itself a minute after its last session"
    })
    expect(step([stranger(running)], { isShared: true })).toMatchObject({ _tag: "Add" })
    expect(step([stranger(running, "app")], { isShared: true })).toMatchObject({
      _tag: "Refuse",
      detail: expect.stringContaining("beside an earlier run of the container")
    })
  })

  it("never adds an agent whose redirects have the names of a living one's, and no name twice", () => {
    fc.assert(
      fc.property(podArbitrary, ({ agents, ending, isShared }) => {
        const next = step(agents, { isShared, mustEnd: () => ending })
        if (next._tag === "Use") {
          expect(next.agent.state).toEqual(running)
          expect(next.agent.name.startsWith(`${base}-`)).toBe(true)
          expect(ending).toBeUndefined()
        }
        if (next._tag !== "Add") return
        expect(agents.some(({ name }) => name === next.name)).toBe(false)
        expect(next.name).toMatch(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/u)
        const rivals = agents.filter(({ target }) => !isShared || target === "app")
        expect(rivals.every(({ state }) => state._tag === "Ended")).toBe(true)
      })
    )
  })

  it("uses or waits for what it has added, however often a new leader looks", () => {
    fc.assert(
      fc.property(podArbitrary, fc.constantFrom(running, starting), ({ agents, isShared }, state) => {
        const next = step(agents, { isShared })
        if (next._tag !== "Add") return
        const after = step([...agents, agent(next.name, state)], { isShared })
        expect(after).toMatchObject({ _tag: state._tag === "Running" ? "Use" : "Wait", agent: { name: next.name } })
      })
    )
  })
})

describe("the port of a new ephemeral agent", () => {
  it("is the first candidate that neither the pod declares nor a living agent has", () => {
    const agents = [agent("a", running), { ...agent("b", ended(0)), port: 40_001 }]
    expect(ephemeralPort([80, 40_000, 40_001], new Set([80]), agents)).toBe(40_001)
    expect(ephemeralPort([80], new Set([80]), [])).toBeUndefined()
    expect(ephemeralPort([40_000], new Set(), agents)).toBeUndefined()
  })
})
