import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { requestUserCertificate } from "../../lab/client/request-user-certificate.ts"
import { openSessionClient, type SessionClient } from "../../lab/client/session-client.ts"
import { isPodReady } from "../../lab/cluster/store/store-access.ts"
import { releaseName, runHelm } from "../../lab/playground/kubernetes/helm-release.ts"
import { operatorImage } from "../../lab/playground/kubernetes/kubernetes-playground.ts"
import { chartFolder, programsIn } from "../../lab/playground/kubernetes/programs.ts"
import type { RealCluster } from "../../lab/playground/kubernetes/real-cluster.ts"
import { version } from "../../src/app/kernel/version.ts"
import { operatorVersion } from "../../src/app/operator/describe.ts"
import { asObjects, at } from "../../src/domain/json.ts"
import { protocolVersion } from "../../src/domain/protocol/version.ts"
import { mirrordClusterSessions } from "../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { mirrordOperators } from "../../src/domain/resources/mirrord-operator.ts"
import { parentName } from "../../src/domain/sessions/names.ts"
import { sessionId } from "../../src/domain/sessions/session-id.ts"
import { subnetOf } from "../address-plan.ts"
import { useKubernetesPlayground } from "../real/harness.ts"
import { previousRelease, programInCli } from "../releases/previous-release.ts"
import { eventually } from "../support/eventually.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

/** No session of these tests ends by its TTL. */
const sessionTtlSecs = 3_600

const pods = { group: "", version: "v1", resource: "pods" }

/** A pod of `helm test` in our image. */
const testPod = (name: string, args: ReadonlyArray<string>): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "mirrord", annotations: { "helm.sh/hook": "test" } },
  spec: { restartPolicy: "Never", containers: [{ name: "test", image: operatorImage, args }] }
})

describeKubernetes(`release ${previousRelease.version}, with operators that run`, (assets) => {
  describe("and a live session", () => {
    const folder = mkdtempSync(join(tmpdir(), "braid-release-"))
    // Before the playground, which starts the program.
    beforeAll(() => void execFileSync("tar", ["--extract", "--file", previousRelease.cli, "--directory", folder]))
    const real = useKubernetesPlayground(assets, {
      topology: "primary-default",
      subnet: subnetOf("release on kubernetes"),
      sessionTtlSecs,
      release: { ...previousRelease, braid: join(folder, programInCli) },
      runsDoctor: true
    })
    const programs = programsIn(assets)
    const id = sessionId(0x0123_4567_89ab_cdefn)
    const primary = (): RealCluster => real.cluster("cluster-a").cluster
    const member = (): RealCluster => real.cluster("cluster-b").cluster
    const helm = (cluster: RealCluster, ...args: ReadonlyArray<string>): Promise<string> =>
      Effect.runPromise(runHelm(programs, cluster, args))
    let connection = Scope.makeUnsafe()
    /** The client's certificate: a session belongs to a certificate. */
    let certificate = ""

    /** Connects to the session as its client, or reconnects, and waits for an answer. */
    const connect = async (): Promise<SessionClient> => {
      return eventually("the session answers its client", async () => {
        // Closes the connection of an earlier attempt.
        await Effect.runPromise(Scope.close(connection, Exit.void))
        connection = Scope.makeUnsafe()
        return Effect.runPromise(
          Effect.gen(function* () {
            const client = yield* openSessionClient({
              kubeconfigPath: primary().kubeconfigPath,
              namespace: "default",
              target: "deployment.myapp",
              sessionId: id,
              certificate,
              client: { kind: "intproxy", version: protocolVersion, pingInterval: 5_000, reconnect: true }
            })
            yield* client.expect("a pong", (event) => (event._tag === "Pong" ? event : undefined))
            return client
          }).pipe(Scope.provide(connection), Effect.provide(NodeServices.layer))
        )
      })
    }
    /** Identities of the session and of its part in the member, which no release may make again. */
    const uids = async (): Promise<ReadonlyArray<string | undefined>> => {
      const parent = await Effect.runPromise(primary().api.get(mirrordMultiClusterSessions, parentName(id)))
      const { items } = await Effect.runPromise(member().api.list(mirrordClusterSessions))
      return [parent, ...items].map(({ metadata }) => metadata.uid)
    }
    /** Waits until all operators of a cluster have this version and are ready. */
    const runs = ({ api, store }: RealCluster, wanted: string): Promise<void> =>
      eventually(`the operator ${wanted} alone`, async () => {
        const operators = store.list(pods, { namespace: "mirrord", labelSelector: "app=mirrord-operator" }).items
        const images = operators.map((pod) => at(asObjects(at(pod, "spec", "containers"))[0], "image"))
        expect(images).toEqual([`${operatorImage}:${wanted}`])
        expect(operators.every(isPodReady)).toBe(true)
        const served: unknown = await Effect.runPromise(api.get(mirrordOperators, "operator"))
        expect(at(served, "spec", "operator_version")).toBe(operatorVersion(wanted))
      })
    /** Waits until both operators have this version, and the client has the same session with the same parts. */
    const goesOn = async (wanted: string): Promise<void> => {
      await Promise.all([primary(), member()].map((cluster) => runs(cluster, wanted)))
      await connect()
      expect(await uids()).toEqual(before)
    }
    const upgrade = (cluster: RealCluster, ...args: ReadonlyArray<string>): Promise<string> =>
      helm(cluster, "upgrade", releaseName, chartFolder, "--reuse-values", ...args)
    let before: ReadonlyArray<string | undefined> = []

    beforeAll(async () => {
      certificate = await Effect.runPromise(requestUserCertificate(primary().api, "release"))
      await connect()
      before = await uids()
      expect(before).toHaveLength(2)
    })
    afterAll(async () => {
      await Effect.runPromise(Scope.close(connection, Exit.void))
      rmSync(folder, { recursive: true, force: true })
    })

    it("is upgraded to this one, members first, and the session goes on", async () => {
      await runs(primary(), previousRelease.version)
      await upgrade(member())
      await runs(member(), version)
      await connect()
      await upgrade(primary())
      await goesOn(version)
    })

    it("is rolled back, the primary first, and the session goes on", async () => {
      await helm(primary(), "rollback", releaseName, "1")
      await runs(primary(), previousRelease.version)
      await connect()
      await helm(member(), "rollback", releaseName, "1")
      await goesOn(previousRelease.version)
    })

    it("is upgraded again, and the session goes on", async () => {
      const extra = [testPod("passes", ["--version"]), testPod("fails", ["no-such-command"])]
      await upgrade(member())
      await upgrade(primary(), "--set-json", `extraObjects=${JSON.stringify(extra)}`)
      await Promise.all([primary(), member()].map((cluster) => runs(cluster, version)))
      real.rightsBegin()
      await goesOn(version)
    })

    it("is tested by helm: a pod of our image says whether all is well", async () => {
      expect(await helm(primary(), "test", releaseName, "--filter", "name=passes", "--timeout", "10m")).toMatch(
        /Phase:\s+Succeeded/u
      )
      await expect(helm(primary(), "test", releaseName, "--filter", "name=fails", "--timeout", "10m")).rejects.toThrow(
        /fails failed/u
      )
      // The chart's own test runs braid doctor as the operator.
      expect(
        await helm(primary(), "test", releaseName, "--filter", "!name=fails,!name=passes", "--timeout", "10m")
      ).toMatch(/Phase:\s+Succeeded/u)
    })

    it("is uninstalled: the hook has ended the session, and no finalizer is left", async () => {
      real.rightsEnd("cluster-a")
      await helm(primary(), "uninstall", releaseName, "--timeout", "10m")
      for (const kind of [mirrordMultiClusterSessions, mirrordClusterSessions]) {
        expect((await Effect.runPromise(primary().api.list(kind))).items, kind.plural).toEqual([])
      }
      const hook = primary()
        .callers()
        .filter(({ user }) => user === "system:serviceaccount:mirrord:mirrord-hooks")
      const deletions = hook.filter(({ method }) => method === "DELETE")
      expect(deletions.map(({ path, status }) => [path, status])).toContainEqual([
        expect.stringContaining(`/mirrordmulticlustersessions/${parentName(id)}`),
        200
      ])
      expect(hook.filter(({ status }) => status === 403)).toEqual([])
      // Everything that the chart does not keep goes, with the pods of the operator and of its agents.
      await eventually("the end of the operator's namespace", async () => {
        expect(
          (
            await Effect.runPromise(
              primary().api.list({ group: "", version: "v1", plural: "namespaces", scope: "Cluster" })
            )
          ).items.map(({ metadata }) => metadata.name)
        ).not.toContain("mirrord")
      })
    })

    it("is uninstalled from a member too, which then has no session either", async () => {
      real.rightsEnd("cluster-b")
      await helm(member(), "uninstall", releaseName, "--timeout", "10m")
      expect((await Effect.runPromise(member().api.list(mirrordClusterSessions))).items).toEqual([])
    })
  })
})
