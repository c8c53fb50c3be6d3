/**
 * The ends of sessions under mirrord's own client: what was needed stays away too long.
 * docs/operating/client-behaviour.md is the table of what these tests prove.
 */

import { afterEach, beforeAll, expect, it } from "vitest"
import { workloadManifests } from "../../lab/playground/manifests.ts"
import { subnetOf } from "../address-plan.ts"
import { eventually } from "../support/eventually.ts"
import { applyObjects } from "./cluster-writes.ts"
import { deleteWorkload, whileCut } from "./disturbances.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, request, usePlayground } from "./harness.ts"
import { endsWith, serve, type ServedSession, serves, type Traffic, traffic } from "./served-session.ts"
import { nothingLeft } from "./sessions.ts"

describeReal("the real client whose session cannot go on", ["mirrord", "layerApp"], (binaries) => {
  const real = usePlayground({
    topology: "management",
    remoteSessionTimeoutSecs: 60,
    agentIdleTtlSecs: 5,
    subnet: subnetOf("real client, ends of sessions")
  })
  let session: ServedSession
  let requests: Traffic
  beforeAll(() => fleetIs(real.playground()))
  const begin = async (user: string): Promise<void> => {
    session = await serve(real, binaries, { user })
    for (const cluster of ["cluster-a", "cluster-b"]) await serves(real, session, cluster)
    requests = traffic(real, session)
  }
  afterEach(async () => {
    await requests.stop()
    session.app.stop()
  })
  const workloadAnswers = (cluster: string): Promise<void> =>
    eventually(`the workload of ${cluster} answers by itself`, async () =>
      expect(await request(real.cluster(cluster).entry ?? "", "/own", { "x-user": session.user })).toContain(
        `hello from ${cluster}`
      )
    )

  it("the default cluster stays away beyond the bound: the client ends with cluster and cause", async () => {
    await begin("away")
    await whileCut(real, "cluster-a", () =>
      endsWith(
        session,
        /The session failed in cluster cluster-a: it was away for 60 s: [^"]+; check that cluster, then start a new/
      )
    )
    for (const cluster of ["cluster-a", "cluster-b"]) await workloadAnswers(cluster)
    await fleetIs(real.playground())
  })

  it("the target is deleted: the client waits for the first of two bounds, and ends with the reason", async () => {
    await begin("deleted")
    const { cluster, description } = real.cluster("cluster-a")
    await deleteWorkload(real, "cluster-a")
    await endsWith(
      session,
      /The session failed in cluster cluster-a: (it was away for 60 s|The target has had no usable pod for 60 s)/
    )
    await applyObjects(cluster, workloadManifests(description))
    for (const name of ["cluster-a", "cluster-b"]) await workloadAnswers(name)
  })

  it("leaves nothing", async () => {
    await nothingLeft(real)
  })
})
