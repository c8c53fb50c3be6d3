/** N15 in a real simulated world that stands still: faults are made by hand, and time passes for the checker alone. */

import { describe, expect, it } from "vitest"
import { hear } from "../../../../lab/simulation/invariants/invariant.ts"
import { readyCarries } from "../../../../lab/simulation/invariants/n15-ready-carries.ts"
import { nodesOf, type World } from "../../../../lab/simulation/world/world.ts"
import { parentName } from "../../../../src/domain/sessions/names.ts"
import type { SessionId } from "../../../../src/domain/sessions/session-id.ts"
import {
  at,
  makeWorld,
  mirrordClusterSessions,
  mirrordMultiClusterSessions,
  parent,
  ready,
  sessionId
} from "./fixture.ts"

const served = (): World => {
  const world = makeWorld()
  const client = world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp", sessionId })
  world.pass(20_000)
  expect(client.isServing).toBe(true)
  return world
}
const child = (cluster: string): string => `${parentName(sessionId as SessionId)}-${cluster}`

/** The sentence of the checker `secs` after a fault; it looks at the world now and then. */
const foundAfter = (world: World, secs: number, half: () => void = () => {}): string | undefined => {
  const checker = readyCarries.begin(() => world)
  const since = world.now
  let found = hear(checker, at(since, { _tag: "Fault", kind: "test", text: "" }))
  for (let ms = 1_000; ms <= secs * 1_000; ms += 1_000) {
    if (ms === secs * 500) half()
    found ??= hear(checker, at(since + ms, { _tag: "Step", text: "" }))
  }
  return found
}
const agentOf = (world: World, cluster: string) => {
  const [agent] = world.cluster(cluster).kubelet.agents
  if (agent === undefined) throw new Error(`no agent runs in ${cluster}`)
  return agent
}

describe("N15", () => {
  it("holds while agents serve", () => expect(foundAfter(served(), 300)).toBeUndefined())

  it.each<[string, (world: World) => void, string]>([
    ["an agent that hangs", (world) => agentOf(world, "a").process.pause(), "hangs"],
    ["a silent network", (world) => world.network.cut("a", nodesOf("a")), "nothing passes"],
    [
      "an agent beside a pod that is gone",
      (world) => world.cluster("a").kubelet.forgetPod("myapp"),
      "a pod that is gone"
    ],
    [
      "no agent at all",
      (world) => {
        const { kubelet } = world.cluster("a")
        for (const pod of kubelet.podsOf("myapp")) kubelet.loseNode(pod)
      },
      "no agent that runs"
    ]
  ])("finds a session that says Ready for more than 60 s with %s", (_what, strike, expected) => {
    const world = served()
    strike(world)
    expect(foundAfter(world, 60)).toBeUndefined()
    expect(foundAfter(world, 70)).toContain(expected)
  })

  it("lets an agent be that the session let go of, until it ends by itself", () => {
    const world = makeWorld()
    const { kubelet } = world.cluster("a")
    kubelet.scale("myapp", 2)
    world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp", sessionId })
    world.pass(20_000)
    const [representative] = kubelet.podsOf("myapp")
    const isOther = ({ containerId }: { containerId: string | undefined }) =>
      containerId !== representative?.containerId
    const isForgotten = () => kubelet.agents.some((agent) => isOther(agent) && agent.isForgotten)
    while (!isForgotten()) kubelet.forgetPod("myapp")
    for (const agent of kubelet.agents) if (!isOther(agent)) kubelet.crashAgent(agent.name)
    world.pass(20_000)
    expect(isForgotten()).toBe(true)
    expect(foundAfter(world, 300)).toBeUndefined()
  })

  it("takes a session that says that it is not ready, until it says Ready again", () => {
    const world = served()
    agentOf(world, "b").process.pause()
    const say = (status: string) =>
      world
        .cluster("b")
        .server.objects.write(mirrordClusterSessions, child("b"), { status: { conditions: [ready(1, status)] } })
    say("False")
    expect(foundAfter(world, 300)).toBeUndefined()
    expect(foundAfter(world, 300, () => void say("True"))).toContain("hangs")
  })

  it("excuses an operator that cannot know or say it", () => {
    const world = served()
    agentOf(world, "a").process.pause()
    world.cluster("a").server.stop()
    expect(foundAfter(world, 300)).toBeUndefined()
    world.cluster("a").server.start()
    world.cluster("a").host.pause()
    expect(foundAfter(world, 300)).toBeUndefined()
  })

  it("finds a parent that says Ready although its part in the default cluster does not", () => {
    const world = served()
    const { objects } = world.cluster("a").server
    objects.write(mirrordClusterSessions, child("a"), { status: { conditions: [ready(1, "False")] } })
    expect(foundAfter(world, 60)).toBeUndefined()
    expect(foundAfter(world, 70)).toContain("its part in its default cluster does not")
    world.primary.server.objects.write(mirrordMultiClusterSessions, parent, {
      status: { conditions: [ready(1, "False")] }
    })
    expect(foundAfter(world, 300)).toBeUndefined()
  })
})
