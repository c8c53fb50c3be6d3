import { PassThrough } from "node:stream"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { notFound } from "../../../src/app/api/status.ts"
import { admitPerson } from "../../../src/app/operator/admit-person.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { at } from "../../../src/domain/json.ts"
import type { ProxiedRequest } from "../../../src/domain/outbound/proxied-request.ts"
import type { KubeApi } from "../../../src/ports/kube-api.ts"
import type { PersonalLane } from "../../../src/ports/outbound-connector.ts"
import { servedCluster } from "../../support/fleet.ts"
import { reviewedApi } from "../../support/reviewed-api.ts"

const caller = (user: string) => ({ user, groups: [], extra: {} })
const request: ProxiedRequest = {
  cluster: clusterName("b"),
  target: "/api",
  path: "/api",
  isUpgrade: false,
  verb: "get",
  isUnasked: false
}
const upgrade: ProxiedRequest = { ...request, isUpgrade: true, verb: "create", isUnasked: true }

/** Admits requests; each lane that was asked for is remembered. */
const reception = (problem?: string) => {
  const reviewed = reviewedApi("primary")
  const reviews = new Array<unknown>()
  const create: KubeApi["create"] = (ref, object, namespace) => {
    reviews.push(at(object, "spec"))
    return reviewed.create(ref, object, namespace)
  }
  const api = Object.assign(Object.create(reviewed) as typeof reviewed, { create })
  const lanes = new Array<PersonalLane>()
  const clusterNamed = (name: string) => {
    const { spec, ...cluster } = servedCluster(name)
    const served = { ...cluster, spec: { ...spec, authType: name === "b" ? "outbound" : "eks" } }
    return name === "none" ? Effect.fail(notFound("There is no cluster none.")) : Effect.succeed(served)
  }
  const openLane = (wanted: PersonalLane) => {
    lanes.push(wanted)
    return problem === undefined ? Effect.succeed(new PassThrough()) : Effect.fail(problem)
  }
  const admit = (asked: ProxiedRequest, user = "ann") =>
    Effect.runPromise(
      Effect.flip(admitPerson({ api, clusterNamed, openLane }, asked, caller(user))).pipe(Effect.option)
    )
  return { admit, lanes, reviews }
}
const refusal = (code: number, message: string) => ({ value: { code, message: expect.stringContaining(message) } })

describe("a person's request at the primary", () => {
  it("gets a lane, without a further question where the API server has asked", async () => {
    const { admit, lanes, reviews } = reception()
    expect(await admit(request)).toMatchObject({ _tag: "None" })
    expect([lanes, reviews]).toEqual([[{ cluster: "b", user: "ann", isUpgrade: false }], []])
  })

  it("that leaves HTTP needs the right to create, by the member's name", async () => {
    const { admit, lanes, reviews } = reception()
    expect(await admit(upgrade)).toMatchObject({ _tag: "None" })
    expect(reviews).toMatchObject([
      {
        user: "ann",
        resourceAttributes: {
          group: "operator.metalbear.co",
          resource: "mirrordclusters",
          subresource: "proxy",
          verb: "create",
          name: "b"
        }
      }
    ])
    expect(await admit(upgrade, "stranger")).toMatchObject(
      refusal(403, 'User "stranger" may not create mirrordclusters/proxy.operator.metalbear.co "b"')
    )
    expect(lanes).toHaveLength(1)
  })

  it.each([
    ["none", 404, "There is no cluster none"],
    ["c", 400, 'Cluster "c" does not dial out']
  ])("for cluster %s is refused", async (cluster, code, message) => {
    const { admit, lanes } = reception()
    expect(await admit({ ...request, cluster: clusterName(cluster) })).toMatchObject(refusal(code, message))
    expect(lanes).toEqual([])
  })

  it("without a tunnel is refused at once", async () => {
    expect(await reception('Cluster "b" has not dialled.').admit(request)).toMatchObject(
      refusal(503, "has not dialled")
    )
  })
})
