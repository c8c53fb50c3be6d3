/**
 * The behaviour of mirrord's own client while parts of its session go and come back, always with requests under way.
 * docs/operating/client-behaviour.md is the table of what these tests prove.
 */

import { afterEach, beforeAll, expect, it } from "vitest"
import { subnetOf } from "../address-plan.ts"
import { eventually } from "../support/eventually.ts"
import { podEntries, restartOperator, rollOut, scaleWorkload, whileNoticedCut } from "./disturbances.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, request, runClient, usePlayground } from "./harness.ts"
import { comesBack, endsWith, serve, type ServedSession, serves, type Traffic, traffic } from "./served-session.ts"
import { nothingLeft } from "./sessions.ts"

describeReal("the real client in the middle of a session", ["mirrord", "layerApp"], (binaries) => {
  const real = usePlayground({
    topology: "management",
    sessionTtlSecs: 20,
    agentIdleTtlSecs: 20,
    subnet: subnetOf("real client, behaviour")
  })
  let users = 0
  let session: ServedSession
  let requests: Traffic

  beforeAll(() => fleetIs(real.playground()))
  /** A new session with requests under way; both end with the test. */
  const begin = async (stays = false): Promise<void> => {
    users++
    session = await serve(real, binaries, { user: `user-${users}`, stays })
    await bothServe()
    requests = traffic(real, session)
  }
  afterEach(async () => {
    await requests.stop()
    session.app.stop()
  })
  const bothServe = async (): Promise<void> => {
    for (const cluster of ["cluster-a", "cluster-b"]) await serves(real, session, cluster)
  }
  /** The client has come back so often, and every request is served again. */
  const isServedAfterReturn = async (): Promise<void> => {
    await comesBack(session, 0)
    await bothServe()
  }

  it("the primary's operator restarts: the client comes back to the same session", async () => {
    await begin()
    await restartOperator(real, "primary")
    await isServedAfterReturn()
  })

  it("the default cluster's operator restarts: the client comes back to the same session", async () => {
    await begin()
    await restartOperator(real, "cluster-a")
    await isServedAfterReturn()
  })

  it("another cluster's operator restarts: the client stays, and the default is served all the time", async () => {
    await begin(true)
    await restartOperator(real, "cluster-b")
    await eventually("requests in cluster-b that the workload answers", () =>
      expect(requests.answers("cluster-b")).toContain("workload")
    )
    await serves(real, session, "cluster-b")
    expect(session.returns()).toBe(0)
    expect(new Set(requests.answers("cluster-a"))).toEqual(new Set(["application"]))
  })

  it("another cluster is cut off and healed: the client stays, and the cluster joins again", async () => {
    await begin(true)
    await whileNoticedCut(real, "cluster-b", async () => {
      await serves(real, session, "cluster-a")
      await eventually("requests in cluster-b that the workload answers", () =>
        expect(requests.answers("cluster-b")).toContain("workload")
      )
    })
    await eventually("a warning in the internal proxy's log", () =>
      expect(session.log()).toMatch(/"level":"WARN"[^\n]*cluster-b/)
    )
    await serves(real, session, "cluster-b")
    expect(session.returns()).toBe(0)
    expect(new Set(requests.answers("cluster-a"))).toEqual(new Set(["application"]))
  })

  it("the default cluster is cut off and healed: the client waits, and comes back", async () => {
    await begin()
    await whileNoticedCut(real, "cluster-a", async () => {
      const cut = new Promise<void>((resolve) => setTimeout(resolve, 20_000))
      await eventually("both workloads answer by themselves", () => {
        for (const cluster of ["cluster-a", "cluster-b"])
          expect(requests.answers(cluster).at(-1), cluster).toBe("workload")
      })
      await cut
    })
    await isServedAfterReturn()
  })

  it("the default cluster is cut off for a minute, longer than an agent waits: the client comes back", async () => {
    await begin()
    await whileNoticedCut(real, "cluster-a", () => new Promise<void>((resolve) => setTimeout(resolve, 60_000)))
    await isServedAfterReturn()
    for (const cluster of ["cluster-a", "cluster-b"]) expect(requests.answers(cluster)).toContain("workload")
  })

  it("the target is scaled up: the new pod's requests are stolen too, and the client stays", async () => {
    await begin(true)
    await scaleWorkload(real, "cluster-a", 2)
    await eventually("the application answers in both pods", async () => {
      for (const entry of podEntries(real, "cluster-a"))
        expect(await request(entry, "/pod", { "x-user": session.user })).toBe(`${session.user} /pod\n`)
    })
    expect(session.returns()).toBe(0)
  })

  it("the target is rolled out: the client comes back to its new pods", async () => {
    await scaleWorkload(real, "cluster-a", 1)
    await begin()
    await rollOut(real, "cluster-a")
    await isServedAfterReturn()
  })

  it("the target has no pod for a while: the client waits, and comes back", async () => {
    await begin()
    await scaleWorkload(real, "cluster-a", 0)
    await eventually("nobody answers in cluster-a", () => expect(requests.answers("cluster-a").at(-1)).toBe("none"))
    await scaleWorkload(real, "cluster-a", 1)
    await isServedAfterReturn()
  })

  it("somebody stops the session: the client ends at once, with the reason", async () => {
    await begin()
    const stop = runClient({
      file: binaries.mirrord,
      args: ["operator", "session", "stop", "--id", session.parent.replace("mc-", "")],
      home: real.home("stop"),
      kubeconfig: real.kubeconfig()
    })
    expect(await stop.ended(), stop.stderr()).toBe(0)
    await endsWith(session, /This mirrord session has ended; start a new one\./)
    stop.stop()
  })

  it("leaves nothing", async () => {
    await nothingLeft(real)
  })
})
