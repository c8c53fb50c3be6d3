import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parse, stringify } from "yaml"
import { requestUserCertificate } from "../../lab/client/request-user-certificate.ts"
import { openSessionClient, type SessionClient } from "../../lab/client/session-client.ts"
import { isPodReady } from "../../lab/cluster/store/store-access.ts"
import { releaseName, runHelm } from "../../lab/playground/kubernetes/helm-release.ts"
import { operatorImage } from "../../lab/playground/kubernetes/kubernetes-playground.ts"
import { chartFolder, programsIn } from "../../lab/playground/kubernetes/programs.ts"
import type { RealCluster } from "../../lab/playground/kubernetes/real-cluster.ts"
import { asObjects, at } from "../../src/domain/json.ts"
import { protocolVersion } from "../../src/domain/protocol/version.ts"
import { mirrordClusterSessions } from "../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { parentName } from "../../src/domain/sessions/names.ts"
import { sessionId } from "../../src/domain/sessions/session-id.ts"
import { subnetOf } from "../address-plan.ts"
import { useKubernetesPlayground } from "../real/harness.ts"
import { eventually } from "../support/eventually.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

/** No session of these tests ends by its TTL. */
const sessionTtlSecs = 3_600

const newVersion = "99.0.0"

const pods = { group: "", version: "v1", resource: "pods" }

/** A pod of `helm test` in our image. */
const testPod = (name: string, args: ReadonlyArray<string>): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "mirrord", annotations: { "helm.sh/hook": "test" } },
  spec: { restartPolicy: "Never", containers: [{ name: "test", image: operatorImage, args }] }
})

describeKubernetes("a release of the chart, with operators that run", (assets) => {
  describe("and a live session", () => {
    const real = useKubernetesPlayground(assets, {
      topology: "primary-default",
      subnet: subnetOf("release on kubernetes"),
      sessionTtlSecs,
      runsDoctor: true
    })
    const programs = programsIn(assets)
    const id = sessionId(0x0123_4567_89ab_cdefn)
    const primary = (): RealCluster => real.cluster("cluster-a").cluster
    const helm = (cluster: RealCluster, ...args: ReadonlyArray<string>): Promise<string> =>
      Effect.runPromise(runHelm(programs, cluster, args))
    let folder = ""
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
    const uid = async (): Promise<string | undefined> =>
      (await Effect.runPromise(primary().api.get(mirrordMultiClusterSessions, parentName(id)))).metadata.uid
    /** Waits until all operators have this version and are ready. */
    const runs = (version: string): Promise<void> =>
      eventually(`the operator ${version} alone`, () => {
        const operators = primary().store.list(pods, {
          namespace: "mirrord",
          labelSelector: "app=mirrord-operator"
        }).items
        const images = operators.map((pod) => at(asObjects(at(pod, "spec", "containers"))[0], "image"))
        expect(images).toEqual([`${operatorImage}:${version}`])
        expect(operators.every(isPodReady)).toBe(true)
        return Promise.resolve()
      })
    const version = (parse(readFileSync(join(chartFolder, "Chart.yaml"), "utf8")) as { readonly version: string })
      .version
    let before: string | undefined

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "braid-release-"))
      cpSync(chartFolder, folder, { recursive: true })
      const chart = parse(readFileSync(join(folder, "Chart.yaml"), "utf8")) as object
      writeFileSync(join(folder, "Chart.yaml"), stringify({ ...chart, version: newVersion, appVersion: newVersion }))
      certificate = await Effect.runPromise(requestUserCertificate(primary().api, "release"))
      await connect()
      before = await uid()
    })
    afterAll(async () => {
      await Effect.runPromise(Scope.close(connection, Exit.void))
      rmSync(folder, { recursive: true, force: true })
    })

    it("is upgraded to another version: the new operator takes over, and the session goes on", async () => {
      const extra = [testPod("passes", ["--version"]), testPod("fails", ["no-such-command"])]
      await helm(
        primary(),
        "upgrade",
        releaseName,
        folder,
        "--reuse-values",
        "--set-json",
        `extraObjects=${JSON.stringify(extra)}`
      )
      await runs(newVersion)
      await connect()
      expect(await uid()).toBe(before)
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

    it("is rolled back, and the session goes on", async () => {
      await helm(primary(), "rollback", releaseName, "1")
      await runs(version)
      await connect()
      expect(await uid()).toBe(before)
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
      const { cluster } = real.cluster("cluster-b")
      real.rightsEnd("cluster-b")
      await helm(cluster, "uninstall", releaseName, "--timeout", "10m")
      expect((await Effect.runPromise(cluster.api.list(mirrordClusterSessions))).items).toEqual([])
    })
  })
})
