import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Exit, Fiber, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { boundMinutes } from "../../lab/client/bound.ts"
import { requestUserCertificate } from "../../lab/client/request-user-certificate.ts"
import { openSessionClient, type SessionClient } from "../../lab/client/session-client.ts"
import { releaseName, runHelm } from "../../lab/playground/kubernetes/helm-release.ts"
import { chartFolder, programsIn } from "../../lab/playground/kubernetes/programs.ts"
import type { RealCluster } from "../../lab/playground/kubernetes/real-cluster.ts"
import { operatorNamespace as namespace } from "../../lab/playground/manifests.ts"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { clusterName, credentialsSecretName, refreshedSecretName } from "../../src/domain/fleet/cluster-name.ts"
import { encodeBase64Text } from "../../src/domain/fleet/credentials/base64.ts"
import { credentialsLabel } from "../../src/domain/fleet/credentials/cluster-auth.ts"
import { readTokenClaims } from "../../src/domain/fleet/credentials/token-claims.ts"
import { asObjects, at } from "../../src/domain/json.ts"
import { protocolVersion } from "../../src/domain/protocol/version.ts"
import { secrets } from "../../src/domain/resources/core-kinds.ts"
import { mirrordClusters } from "../../src/domain/resources/mirrord-cluster.ts"
import { mirrordMultiClusterSessions } from "../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { parentName } from "../../src/domain/sessions/names.ts"
import { sessionId } from "../../src/domain/sessions/session-id.ts"
import { subnetOf } from "../address-plan.ts"
import { fleetIs } from "../real/fleet-health.ts"
import { useKubernetesPlayground } from "../real/harness.ts"
import { logOf, readyReplicas } from "../real/replicas.ts"
import { eventually } from "../support/eventually.ts"
import { untilTrue } from "../support/until-true.ts"
import { tokensOf } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

const account = "mirrord-operator-envoy"
const member = clusterName("cluster-b")
const first = credentialsSecretName(member, sha256Hex)
const refreshed = refreshedSecretName(member, sha256Hex)
const events = { group: "", version: "v1", plural: "events", scope: "Namespaced" } as const
const pods = { group: "", version: "v1", resource: "pods" }

/** The end of a token, as a cluster's status tells it. */
const endOf = (token: string): string => new Date(readTokenClaims(token)?.validity.until ?? 0).toISOString()

describeKubernetes("a member whose API server is away", (assets) => {
  describe("for three minutes, on real control planes", () => {
    const real = useKubernetesPlayground(assets, {
      topology: "management",
      subnet: subnetOf("a member that is away, kubernetes"),
      // No session of this test ends by its TTL.
      sessionTtlSecs: 3_600
    })
    const programs = programsIn(assets)
    const id = sessionId(0x0123_4567_89ab_cdefn)
    const connection = Scope.makeUnsafe()
    const primary = (): RealCluster => real.cluster("primary").cluster
    const away = (): RealCluster => real.cluster(member).cluster
    const run = Effect.runPromise
    /** A token of the member, issued so many minutes ago; its life is an hour. */
    const tokenOf = (minutes: number): Promise<string> =>
      tokensOf(away().plane, programs.kubectl).agedTokenOf(namespace, account, {
        seconds: minutes * 60,
        left: 3_600 - minutes * 60
      })
    const inlineToken = (token: string): Promise<string> => {
      const values = `operator.multiCluster.clusters.${member}`
      const flags = [`${values}.authType=bearerToken`, `${values}.bearerToken=${token}`].flatMap((set) => [
        "--set",
        set
      ])
      return run(runHelm(programs, primary(), ["upgrade", releaseName, chartFolder, "--reuse-values", ...flags]))
    }
    const tokenIn = async (name: string): Promise<string> => {
      const found = await run(Effect.option(primary().api.get(secrets, name, namespace)))
      return Buffer.from(String(at(found, "value", "data", "bearerToken") ?? ""), "base64").toString()
    }
    const usedUntil = async (): Promise<unknown> =>
      at(await run(primary().api.get(mirrordClusters, member)), "status", "credentialsExpireAt")
    const isReady = async (): Promise<boolean> => {
      const parent = await run(primary().api.get(mirrordMultiClusterSessions, parentName(id)))
      return at(parent, "status", "clusterSessions", member, "ready") === true
    }
    /** The lines of the primary's log. */
    const log = async (): Promise<string> => {
      const [replica] = readyReplicas(real.playground())
      return replica === undefined ? "" : (await logOf(real.playground(), replica)).join("\n")
    }
    /** The Events of tokens that are ignored: cluster, and how often it was told. */
    const ignored = async (): Promise<ReadonlyArray<unknown>> => {
      const { items } = await run(primary().api.list(events, { namespace: "default" }))
      return items
        .filter((event) => event["reason"] === "TokenIgnored")
        .map((event) => [at(event, "involvedObject", "name"), event["count"]])
    }
    /** The operators' pods, and how often their containers were started again. */
    const operators = (): ReadonlyArray<unknown> =>
      [primary(), away()].flatMap(({ store }) =>
        store
          .list(pods, { namespace, labelSelector: "app=mirrord-operator" })
          .items.map((pod) => [
            pod.metadata.uid,
            asObjects(at(pod, "status", "containerStatuses")).map((one) => one["restartCount"])
          ])
      )
    let client: SessionClient
    let pongs = 0

    beforeAll(async () => {
      await inlineToken(await tokenOf(1))
      await fleetIs(real.playground())
      const certificate = await run(requestUserCertificate(primary().api, "away"))
      client = await eventually("the session is served", () =>
        run(
          openSessionClient({
            kubeconfigPath: primary().kubeconfigPath,
            namespace: "default",
            target: "deployment.myapp",
            sessionId: id,
            certificate,
            client: {
              kind: "intproxy",
              version: protocolVersion,
              pingInterval: 10_000,
              // A loaded machine is no lost connection.
              maxSilence: boundMinutes * 60_000,
              reconnect: true
            }
          }).pipe(Scope.provide(connection), Effect.provide(NodeServices.layer))
        )
      )
      await run(
        client
          .listen(({ _tag }) => {
            if (_tag === "Pong") pongs++
          })
          .pipe(Scope.provide(connection))
      )
      await untilTrue("both members serve the session", isReady)
    })
    afterAll(() => run(Scope.close(connection, Exit.void)))

    it("is lost while a session goes on, keeps its newest token, and is back without a restart", async () => {
      const before = operators()
      const [older, given, newer] = [await tokenOf(50), await tokenOf(45), await tokenOf(40)]
      await run(away().stop())
      const minutes = Effect.runFork(Effect.sleep("3 minutes"))
      await fleetIs(real.playground(), [member])

      // A token whose renewal is due, which cannot succeed now.
      const data = { bearerToken: encodeBase64Text(given) }
      await run(primary().api.mergePatch(secrets, first, { data }, { namespace }))
      await untilTrue("the given token is used", async () => (await usedUntil()) === endOf(given))
      const metadata = { name: refreshed, namespace, labels: { [credentialsLabel]: "true" } }
      const kept = { apiVersion: "v1", kind: "Secret", metadata, data: { bearerToken: encodeBase64Text(newer) } }
      await run(primary().api.create(secrets, kept, namespace))
      await untilTrue("the newer token is used", async () => (await usedUntil()) === endOf(newer))
      await untilTrue("its renewal is under way", async () => (await log()).includes("token is not renewed"))
      expect(await ignored()).toEqual([])
      await inlineToken(older)
      expect(await tokenIn(first)).toBe(older)
      await untilTrue("the older token is told of", async () => (await ignored()).length > 0)
      expect([await usedUntil(), await tokenIn(refreshed)]).toEqual([endOf(newer), newer])

      await run(Fiber.await(minutes))
      const heard = pongs
      await untilTrue("the session goes on", () => pongs > heard + 1)
      expect([await isReady(), client.failure()]).toEqual([false, undefined])
      await real.restart(member)
      await fleetIs(real.playground())
      await untilTrue("the member serves the session again", isReady)
      await untilTrue("its token is renewed", async () => ![newer, ""].includes(await tokenIn(refreshed)))
      const renewed = await tokenIn(refreshed)
      expect(readTokenClaims(renewed)?.issuedAt).toBeGreaterThan(readTokenClaims(newer)?.issuedAt ?? Infinity)
      await untilTrue("the renewed token is used", async () => (await usedUntil()) === endOf(renewed))
      expect(client.failure()).toBeUndefined()
      expect(operators()).toEqual(before)
      expect(await ignored()).toEqual([[member, 1]])
    })
  })
})
