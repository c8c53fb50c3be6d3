import { Clock, Effect, Logger } from "effect"
import { beforeAll, expect, it } from "vitest"
import {
  makeServingCertificate,
  type SignedServingCertificate
} from "../../../src/adapters/x509/serving-certificate.ts"
import { serveApi } from "../../../src/app/api/aggregated-api.ts"
import { OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import { watchFrontProxy } from "../../../src/app/certificates/front-proxy.ts"
import { ownServingCertificate } from "../../../src/app/certificates/own-certificate.ts"
import { encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { apiServices } from "../../../src/domain/resources/core-kinds.ts"
import { operatorApiService } from "../../../src/domain/resources/operator-api.ts"
import type { KubeApi } from "../../../src/ports/kube-api.ts"
import { ApiClient } from "../../lab/cluster/api-client.ts"
import { idleFacade } from "../../support/idle-facade.ts"
import { untilTrue } from "../../support/until-true.ts"
import {
  operatorRights,
  operatorService,
  registration,
  type StartCluster,
  suiteCluster
} from "./aggregating-cluster.ts"

const root = "/apis/operator.metalbear.co/v1"
const day = 86_400_000

/** The rights that the chart gives the operator for its certificate and for the front proxy. */
const rights = `${operatorRights}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: mirrord-operator, namespace: mirrord }
rules:
- { apiGroups: [""], resources: [secrets], verbs: [create] }
- { apiGroups: [""], resources: [secrets], resourceNames: [mirrord-operator-serving], verbs: [get, patch] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: mirrord-operator, namespace: mirrord }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: mirrord-operator }
subjects: [{ kind: ServiceAccount, name: mirrord-operator, namespace: mirrord }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: mirrord-operator }
rules:
- apiGroups: [apiregistration.k8s.io]
  resources: [apiservices]
  resourceNames: [${operatorApiService}]
  verbs: [get, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: mirrord-operator }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: mirrord-operator }
subjects: [{ kind: ServiceAccount, name: mirrord-operator, namespace: mirrord }]
`

/** The operator's own certificate behind a server that checks it. On any API server. */
export const ownCertificateSuite = (startCluster: StartCluster): void => {
  const { apiWith, run, start } = suiteCluster(startCluster)
  let operator: KubeApi
  let admin: KubeApi
  let user: ApiClient
  let served: SignedServingCertificate
  const changed = new Set<() => void>()

  /** The operator looks at its certificate, by a clock that is so far from the API server's, and serves with it. */
  const look = async (ahead: number): Promise<SignedServingCertificate> => {
    const clock = await Effect.runPromise(Clock.Clock)
    const now = clock.currentTimeMillisUnsafe() + ahead
    const moved: Clock.Clock = {
      currentTimeMillisUnsafe: () => now,
      currentTimeMillis: Effect.succeed(now),
      currentTimeNanosUnsafe: () => BigInt(now) * 1_000_000n,
      currentTimeNanos: Effect.succeed(BigInt(now) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration)
    }
    served = await Effect.runPromise(
      ownServingCertificate(operator, "mirrord").pipe(
        Effect.provideService(Clock.Clock, moved),
        Effect.provide(Logger.layer([]))
      )
    )
    for (const listener of changed) listener()
    return served
  }

  beforeAll(async () => {
    const cluster = await start()
    await cluster.apply(rights)
    admin = await apiWith(cluster, cluster.admin)
    user = new ApiClient(cluster.server, cluster.caPem, cluster.admin)
    operator = await apiWith(cluster, { token: await cluster.tokenOf("mirrord", "mirrord-operator") })
    // A first registration, from which the operator learns the name that it serves.
    await cluster.apply(registration(443, true))
    expect(await spec()).toMatchObject({ insecureSkipTLSVerify: true })
    // As if 61 days ago: still valid, and to be renewed.
    await look(-61 * day)
    const { port } = await run(
      Effect.gen(function* () {
        const frontProxy = yield* watchFrontProxy(operator)
        const certificate = { known: () => served, listen: (listener: () => void) => void changed.add(listener) }
        return yield* serveApi({ host: "127.0.0.1", port: 0, certificate, frontProxy, requireFrontProxy: true })
      }).pipe(Effect.provideService(OperatorFacade, idleFacade))
    )
    await cluster.apply(`${operatorService(port)}${registration(port, false)}`)
  })

  const answered = async (): Promise<string> => {
    const { body, code } = await user.call("DELETE", `${root}/sessions/5`)
    return `${code} ${String(body["message"])}`
  }
  const theAnswer = "404 There is no session."
  const spec = async (): Promise<Readonly<Record<string, unknown>>> =>
    (await Effect.runPromise(admin.get(apiServices, operatorApiService)))["spec"] as Readonly<Record<string, unknown>>

  it("is what the API server checks, where it took anybody before", async () => {
    await look(-61 * day)
    expect(await spec()).not.toHaveProperty("insecureSkipTLSVerify")
    expect((await spec())["caBundle"]).toBe(encodeBase64Text(served.authorityPem))
    await untilTrue("the operator's answer", async () => (await answered()) === theAnswer)
  })

  it("is renewed without a request that fails", async () => {
    const all: Array<string> = []
    const ask = async (times: number): Promise<void> => {
      for (let time = 0; time < times; time++) all.push(await answered())
    }
    const { certificatePem } = served
    await ask(5)
    expect((await look(0)).certificatePem).toBe(certificatePem)
    // While these are answered, the API server learns of the second authority; in earnest it has an hour.
    await ask(100)
    expect((await look(3_600_000)).certificatePem).not.toBe(certificatePem)
    await ask(20)
    expect([...new Set(all)]).toEqual([theAnswer])
  })

  it("of somebody else is not taken", async () => {
    const ours = served
    const { authorityPem } = ours
    const now = Date.now()
    const life = { from: now - day, until: now + day }
    served = await makeServingCertificate(["mirrord-operator.mirrord.svc"], life)
    expect(served.authorityPem).not.toBe(authorityPem)
    for (const listener of changed) listener()
    // Connections from before may still be used once.
    await untilTrue("the API server refuses", async () => (await answered()).startsWith("503"))
    served = ours
    for (const listener of changed) listener()
    await untilTrue("the operator's answer", async () => (await answered()) === theAnswer)
  })
}
