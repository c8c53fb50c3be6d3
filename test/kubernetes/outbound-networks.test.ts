/** A member that dials out from behind a NAT, with a primary whose network has no way to it, on real control planes. */

import { readlinkSync } from "node:fs"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { SessionClient } from "../../lab/client/session-client.ts"
import type { NetworksApart } from "../../lab/playground/local-cluster.ts"
import { takesPart } from "../../lab/playground/story-requests.ts"
import { openStorySession } from "../../lab/playground/story-session.ts"
import { answerRequests } from "../../lab/playground/strict-story-client.ts"
import { subnetOf } from "../address-plan.ts"
import { fleetIs } from "../real/fleet-health.ts"
import { request, useKubernetesPlayground } from "../real/harness.ts"
import { leaseHolder, logOf, processOf } from "../real/replicas.ts"
import { describeWith } from "../support/describe-with.ts"
import { assetsVariable } from "../support/outside-programs.ts"
import { untilTrue } from "../support/until-true.ts"

const run = Effect.runPromise
const isLong = process.env["BRAID_TEST_LONG"] === "true"

describeWith(["control plane", "network namespaces"], "a member behind a NAT", () => {
  const real = useKubernetesPlayground(process.env[assetsVariable] ?? "", {
    topology: "outbound",
    subnet: subnetOf("a member behind a NAT, kubernetes"),
    isApart: true,
    // No session of this test ends by its TTL.
    sessionTtlSecs: 3_600
  })
  const connection = Scope.makeUnsafe()
  let client: SessionClient

  const networks = (): Required<NetworksApart> => {
    const { atTranslation, dialled: dialledFrom } = real.playground().networks ?? {}
    if (atTranslation === undefined || dialledFrom === undefined) throw new Error("the playground has one network")
    return { atTranslation, dialled: dialledFrom }
  }
  const leader = () => {
    const found = leaseHolder(real.playground())
    if (found === undefined) throw new Error("nobody leads")
    return found
  }
  const dialled = async (name: string): Promise<ReadonlyArray<string>> =>
    Object.values(await run(networks().dialled(real.cluster(name).cluster.server)))
  const entersAtOther = (): Promise<string> => request(real.cluster("cluster-a").entry ?? "", "/from-cluster-a")
  /** Waits until a request that enters at the member is answered by the session. */
  const served = () => run(takesPart(real.cluster("cluster-b")))
  /** The lines of the primary's log about tunnels. */
  const tunnelLines = async (): Promise<ReadonlyArray<string>> =>
    (await logOf(real.playground(), leader())).filter((line) => line.includes("tunnel of a member is"))
  const count = async (what: "live" | "over"): Promise<number> =>
    (await tunnelLines()).filter((line) => line.includes(`tunnel of a member is ${what}`)).length

  beforeAll(async () => {
    await fleetIs(real.playground())
    const session = await run(
      openStorySession(real.playground(), { target: "deployment.myapp" }).pipe(Scope.provide(connection))
    )
    client = session.client
    await run(answerRequests(client).pipe(Scope.provide(connection)))
    const subscribed = await run(
      client.ask({ _tag: "Steal", type: { _tag: "All", value: 80 } }, (event) =>
        event._tag === "Subscribed" ? event.result._tag : undefined
      )
    )
    expect(subscribed).toBe("Ok")
  })
  afterAll(() => run(Scope.close(connection, Exit.void)))

  /** Requests that enter at the other member until the returned function is called, which gives the answers. */
  const disturbed = (): (() => Promise<ReadonlyArray<string>>) => {
    const answers: Array<string> = []
    let goesOn = true
    const all = (async () => {
      while (goesOn) answers.push(await entersAtOther())
    })()
    return async () => {
      goesOn = false
      await all
      return answers
    }
  }

  it("takes part, although the primary's network has no way to its API server", async () => {
    const [own, primarys] = ["self", String(processOf(leader()))].map((pid) => readlinkSync(`/proc/${pid}/ns/net`))
    expect(primarys).not.toBe(own)
    expect(await dialled("cluster-b")).toEqual(["ECONNREFUSED", "ENETUNREACH"])
    // Else nothing would be said by the refusals.
    expect((await dialled("cluster-a"))[0]).toBe("connected")
    await served()
    const known = (await run(networks().atTranslation("conntrack -L -p tcp --state ESTABLISHED"))).trim().split("\n")
    expect(known).toHaveLength(1)
  })

  it("has another tunnel before the one is over that a NAT has forgotten, and its session goes on", async () => {
    const others = disturbed()
    const [live, over] = [await count("live"), await count("over")]
    const from = performance.now()
    await run(networks().atTranslation("conntrack -D -p tcp"))
    await untilTrue("another tunnel", async () => (await count("live")) > live)
    const back = performance.now() - from
    expect(await count("over")).toBe(over)
    await served()
    const servedAgain = performance.now() - from
    const answers = await others()
    expect(answers.length).toBeGreaterThan(0)
    expect(answers.filter((answer) => !answer.startsWith("local process: GET"))).toEqual([])
    expect(client.failure()).toBeUndefined()
    expect(await dialled("cluster-b")).toEqual(["ECONNREFUSED", "ENETUNREACH"])
    console.log(
      `a NAT forgot the tunnel: another after ${back / 1_000} s, requests answered after ${servedAgain / 1_000} s`
    )
  })

  it.each(isLong ? ["cluster-b"] : [])("is refused while nothing passes (%s), and is back then", async (name) => {
    const others = disturbed()
    const live = await count("live")
    const from = performance.now()
    await run(networks().atTranslation("iptables -I FORWARD -j DROP"))
    await fleetIs(real.playground(), [name])
    const refused = performance.now() - from
    await run(networks().atTranslation("conntrack -D -p tcp; iptables -D FORWARD -j DROP"))
    const opened = performance.now()
    await untilTrue("another tunnel", async () => (await count("live")) > live)
    const back = performance.now() - opened
    await served()
    expect((await others()).filter((answer) => !answer.startsWith("local process: GET"))).toEqual([])
    expect(client.failure()).toBeUndefined()
    console.log(`nothing passed: refused after ${refused / 1_000} s, another tunnel ${back / 1_000} s after the path`)
  })
})
