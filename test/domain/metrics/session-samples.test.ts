import { describe, expect, it } from "vitest"
import { phaseOf, sessionSamples } from "../../../src/domain/metrics/session-samples.ts"
import type { ChildObservation } from "../../../src/domain/sessions/child-observation.ts"

const present = (more: Partial<Extract<ChildObservation, { readonly _tag: "Present" }>>): ChildObservation => ({
  _tag: "Present",
  parentName: undefined,
  parentUid: undefined,
  uid: "1",
  deleting: false,
  ready: false,
  failure: undefined,
  ...more
})

describe("the phase of a session that says only whether it is usable", () => {
  it.each([
    ["Initializing", present({})],
    ["Initializing", { _tag: "Unknown", since: 0 }],
    ["Ready", present({ ready: true })],
    ["Failed", present({ failure: { reason: "NoPods", message: "no pods" } })],
    ["Terminating", present({ deleting: true, failure: { reason: "NoPods", message: "no pods" } })]
  ] as const)("is %s", (phase, session) => expect(phaseOf(session)).toBe(phase))
})

describe("the samples of sessions", () => {
  it("name every phase, those without sessions too", () => {
    const samples = sessionSamples("child", ["Ready", "Ready", "Failed"])
    expect(samples.map(({ labels, value }) => [labels, value])).toEqual([
      [{ kind: "child", phase: "Initializing" }, 0],
      [{ kind: "child", phase: "Pending" }, 0],
      [{ kind: "child", phase: "Ready" }, 2],
      [{ kind: "child", phase: "Failed" }, 1],
      [{ kind: "child", phase: "Terminating" }, 0]
    ])
  })
})
