import { describe, expect, it } from "vitest"
import { grantAgents } from "../../../../src/app/sessions/member/grant-agents.ts"
import { newSession, type SessionState } from "../../../../src/app/sessions/member/session-state.ts"
import { SessionSightings } from "../../../../src/app/sessions/session-sightings.ts"
import type { MirrordClusterSession } from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import { defaultBounds } from "../../../../src/domain/sessions/session-bounds.ts"
import type { AgentPlacement } from "../../../../src/domain/targets/pod-choice.ts"

const operatorSince = 1_000

/** A member with a bound of two agents for each user, and its sessions in the order in which they start. */
const member = () => {
  const state = {
    operatorSince,
    options: { bounds: { ...defaultBounds, agentsPerUser: 2 } },
    sessions: new Map<string, SessionState>(),
    sightings: new SessionSightings(operatorSince)
  }
  const start = (name: string, containers: ReadonlyArray<string>, wasThere = false) => {
    const view: MirrordClusterSession = {
      metadata: { name, uid: name },
      spec: { namespace: "default", owner: { userId: "u", username: "n", hostname: "h", k8sUsername: "ann" } }
    }
    const known = newSession(view)
    state.sightings.saw(view, wasThere, operatorSince + 1)
    state.sessions.set(name, known)
    const places = containers.map((containerId): AgentPlacement => ({ ...placement, containerId }))
    const granted = grantAgents(state, { key: name, known, view }, places.length === 0 ? [undefined] : places)
    return { failed: granted.failure !== undefined, places: granted.places.map((place) => place?.containerId) }
  }
  return { state, start }
}

const placement: Omit<AgentPlacement, "containerId"> = {
  podName: "web-1",
  podNamespace: "default",
  podUid: "p",
  podLabels: {},
  podOwners: [],
  podIps: [],
  nodeName: "node",
  containerName: "web",
  runtime: "containerd",
  guessed: false,
  shareProcessNamespace: false,
  mesh: undefined
}

describe("the agents that a session may start", () => {
  it("count from the moment when they are granted, before any of them runs", () => {
    const { start } = member()
    expect(start("1", ["a"])).toEqual({ failed: false, places: ["a"] })
    expect(start("2", ["b", "c"])).toEqual({ failed: true, places: ["b"] })
    expect(start("3", ["a", "b"])).toEqual({ failed: false, places: ["a", "b"] })
    expect(start("4", [])).toEqual({ failed: true, places: [] })
  })

  it("count no more once the session is gone or its start has ended without them", () => {
    const { start, state } = member()
    start("1", ["a", "b"])
    expect(start("2", [])).toEqual({ failed: true, places: [] })
    state.sessions.delete("1")
    expect(start("3", [])).toEqual({ failed: false, places: [undefined] })
  })

  it("are all of those that a session had before this process, whatever the bounds are by now", () => {
    const { start } = member()
    expect(start("1", ["a", "b", "c"], true)).toEqual({ failed: false, places: ["a", "b", "c"] })
    expect(start("2", ["d"])).toEqual({ failed: true, places: [] })
  })
})
