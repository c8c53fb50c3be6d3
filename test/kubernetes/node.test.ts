import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import * as http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Logger, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { stringify } from "yaml"
import { type ContainerContext, type ContainerProgram, signalsReady } from "../../lab/cluster/node/container-program.ts"
import type { Kubelet } from "../../lab/cluster/node/kubelet.ts"
import type { KubeObject } from "../../lab/cluster/schema/kube-object.ts"
import { endpointSlices, jobs, pods, services } from "../../lab/cluster/store/resource-refs.ts"
import { isPodReady, podIpOf, podPhase } from "../../lab/cluster/store/store-access.ts"
import { programsIn } from "../../lab/playground/kubernetes/programs.ts"
import { type RealCluster, startRealCluster } from "../../lab/playground/kubernetes/real-cluster.ts"
import { asNumber, asObjects, asString, at } from "../../src/domain/json.ts"
import { subnetOf } from "../address-plan.ts"
import { ApiClient } from "../lab/cluster/api-client.ts"
import { eventually } from "../support/eventually.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

/** The state that a test shares with the containers of an image. */
interface Seen {
  readonly contexts: Map<string, ContainerContext>
  /** Name of the pod → whether its server's probes succeed. */
  readonly healthy: Map<string, boolean>
  readonly ended: Array<string>
}

const nameOf = (context: ContainerContext): string => context.pod.metadata.name ?? ""

/** Serves the name of its pod on port 8080, and its health on `/health`. */
const server = (seen: Seen): ContainerProgram =>
  signalsReady((context) =>
    Effect.gen(function* () {
      seen.contexts.set(nameOf(context), context)
      const listener = http.createServer((request, answer) => {
        const ok = request.url !== "/health" || seen.healthy.get(nameOf(context)) !== false
        answer.writeHead(ok ? 200 : 500, { connection: "close" }).end(nameOf(context))
      })
      yield* context.listen(8080, (socket) => listener.emit("connection", socket))
      yield* Effect.addFinalizer(() => Effect.sync(() => void seen.ended.push(nameOf(context))))
      context.ready()
      return yield* Effect.never
    }).pipe(Effect.catchTag("ListenError", () => Effect.succeed(1)))
  )

const task =
  (seen: Seen): ContainerProgram =>
  (context) =>
    Effect.sync(() => {
      seen.contexts.set(nameOf(context), context)
      return context.args[0] === "fail" ? 3 : 0
    })

describeKubernetes("a node and a service proxy of ours on a real control plane", (assets) => {
  describe("run pods", () => {
    const scope = Scope.makeUnsafe()
    const seen: Seen = { contexts: new Map(), healthy: new Map(), ended: [] }
    let directory = ""
    let cluster: RealCluster
    let kubelet: Kubelet
    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), "braid-node-"))
      const subnet = subnetOf("node on kubernetes")
      const started = await Effect.runPromise(
        startRealCluster({
          name: "node",
          programs: programsIn(assets),
          directory,
          subnet,
          serviceSubnet: subnet + 1,
          images: new Map([
            ["server", server(seen)],
            ["task", task(seen)]
          ])
        }).pipe(Scope.provide(scope), Effect.provide(Logger.layer([])))
      )
      cluster = started.cluster
      kubelet = started.kubelet
    })
    afterAll(async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      rmSync(directory, { recursive: true, force: true })
    })

    const apply = (...objects: ReadonlyArray<object>): Promise<void> =>
      cluster.plane.apply(objects.map((object) => stringify(object)).join("---\n"))
    const pod = (name: string, spec: object, labels: object = {}): object => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels },
      spec
    })
    const found = (name: string): KubeObject | undefined => cluster.store.get(pods, "default", name)
    const until = <A>(what: string, find: () => A | undefined): Promise<A> =>
      eventually(what, () => {
        const value = find()
        return value === undefined ? Promise.reject(new Error(`not yet: ${what}`)) : Promise.resolve(value)
      })
    const ready = (name: string): Promise<KubeObject> =>
      until(`${name} is ready`, () => {
        const object = found(name)
        return object !== undefined && isPodReady(object) ? object : undefined
      })
    const get = (url: string): Promise<string> =>
      fetch(url, { headers: { connection: "close" } }).then(
        (answer) => answer.text(),
        (error: unknown) => String((error as Error).cause)
      )

    it("with their environment, their files and an identity that the server takes", async () => {
      await apply(
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "settings" },
          data: { color: "blue", "a.txt": "text\n" }
        },
        { apiVersion: "v1", kind: "Secret", metadata: { name: "key" }, stringData: { key: "s3cret" } },
        { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "app" } }
      )
      const env = [
        { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
        { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        { name: "COLOR", valueFrom: { configMapKeyRef: { name: "settings", key: "color" } } },
        { name: "KEY", valueFrom: { secretKeyRef: { name: "key", key: "key" } } }
      ]
      const volumes = [
        { name: "all", projected: { sources: [{ configMap: { name: "settings" } }, { secret: { name: "key" } }] } }
      ]
      const container = {
        name: "c",
        image: "server",
        args: ["--of", "$(POD_NAME)"],
        env,
        volumeMounts: [{ name: "all", mountPath: "/all" }]
      }
      await apply(pod("whole", { serviceAccountName: "app", containers: [container], volumes }))
      const object = await ready("whole")
      const context = seen.contexts.get("whole")
      if (context === undefined) throw new Error("the container has not run")
      expect(Object.fromEntries(context.env)).toMatchObject({
        POD_NAME: "whole",
        POD_NAMESPACE: "default",
        POD_IP: podIpOf(object),
        COLOR: "blue",
        KEY: "s3cret"
      })
      expect(context.args).toEqual(["--of", "whole"])
      const file = (path: string): string => readFileSync(join(context.root, path), "utf8")
      expect([file("all/a.txt"), file("all/key")]).toEqual(["text\n", "s3cret"])

      const mounted = "var/run/secrets/kubernetes.io/serviceaccount"
      expect(file(`${mounted}/namespace`)).toBe("default")
      const own = new ApiClient(cluster.server, file(`${mounted}/ca.crt`), { token: file(`${mounted}/token`) })
      const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }
      const { body } = await own.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
      expect(at(body, "status", "userInfo", "username")).toBe("system:serviceaccount:default:app")
    })

    it("behind a Service: its cluster IP leads to ready pods, and refuses when there are none", async () => {
      const probe = {
        httpGet: { path: "/health", port: 8080 },
        periodSeconds: 1,
        timeoutSeconds: 60,
        failureThreshold: 1
      }
      const container = {
        name: "c",
        image: "server",
        ports: [{ name: "web", containerPort: 8080 }],
        readinessProbe: probe
      }
      await apply(
        {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "web" },
          spec: { selector: { app: "web" }, ports: [{ port: 8000, targetPort: "web" }] }
        },
        pod("web-1", { containers: [container] }, { app: "web" })
      )
      const object = await ready("web-1")
      // A real API server refuses addresses below 127 in an EndpointSlice.
      expect(podIpOf(object)).toMatch(/^10\./u)
      const ip = asString(at(cluster.store.get(services, "default", "web"), "spec", "clusterIP")) ?? ""
      const url = `http://${ip}:8000/`
      await eventually("an answer of the Service", async () => expect(await get(url)).toBe("web-1"))
      expect(kubelet.resolve("default", "web")).toEqual([ip])
      expect(await get(`http://${kubelet.reach({ ip: podIpOf(object) ?? "", port: 8080 }).ip}:8080/`)).toBe("web-1")
      seen.healthy.set("web-1", false)
      await eventually("a Service without a ready pod refuses", async () =>
        expect(await get(url)).toContain("ECONNREFUSED")
      )
      expect(
        cluster.store
          .list(endpointSlices, { namespace: "default" })
          .items.some(({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === "web")
      ).toBe(true)
      seen.healthy.set("web-1", true)
      await eventually("an answer of the Service again", async () => expect(await get(url)).toBe("web-1"))
    })

    it("and starts a container again whose livenessProbe fails", async () => {
      const probe = {
        httpGet: { path: "/health", port: 8080 },
        periodSeconds: 1,
        timeoutSeconds: 60,
        failureThreshold: 1
      }
      await apply(
        pod("sick", {
          terminationGracePeriodSeconds: 1,
          containers: [{ name: "c", image: "server", livenessProbe: probe }]
        })
      )
      await ready("sick")
      seen.healthy.set("sick", false)
      await until("the container was started again", () =>
        (asNumber(at(asObjects(at(found("sick"), "status", "containerStatuses"))[0], "restartCount")) ?? 0) > 0
          ? true
          : undefined
      )
      expect(seen.ended).toContain("sick")
      seen.healthy.set("sick", true)
      await ready("sick")
    })

    it("until they are deleted: the programs end first, then the pod goes", async () => {
      await apply(pod("brief", { containers: [{ name: "c", image: "server" }] }))
      await ready("brief")
      await Effect.runPromise(
        cluster.api.delete({ group: "", version: "v1", plural: "pods", scope: "Namespaced" }, "brief", {
          namespace: "default"
        })
      )
      await until("the pod is gone", () => (found("brief") === undefined ? true : undefined))
      expect(seen.ended).toContain("brief")
    })

    it("of Jobs, which learn how they ended", async () => {
      const job = (name: string, args: ReadonlyArray<string>): object => ({
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: { name },
        spec: {
          backoffLimit: 0,
          template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "task", args }] } }
        }
      })
      await apply(job("good", []), job("bad", ["fail"]))
      const condition = (name: string): Promise<string> =>
        until(`the end of job ${name}`, () => {
          const conditions = asObjects(at(cluster.store.get(jobs, "default", name), "status", "conditions"))
          return asString(
            conditions.find(({ status, type }) => status === "True" && (type === "Complete" || type === "Failed"))?.[
              "type"
            ]
          )
        })
      expect(await condition("good")).toBe("Complete")
      expect(await condition("bad")).toBe("Failed")
      const phases = () =>
        cluster.store
          .list(pods, { namespace: "default" })
          .items.filter(({ metadata }) => metadata.labels?.["job-name"] !== undefined)
          .map(podPhase)
      // The view of pods may be a moment behind that of Jobs.
      await eventually("the phases of their pods", () => expect(phases().toSorted()).toEqual(["Failed", "Succeeded"]))
    })

    it("and says of one that it cannot run why", async () => {
      await apply(pod("lost", { containers: [{ name: "c", image: "nobody/knows:1" }] }))
      const message = await until("the reason", () =>
        asString(at(asObjects(at(found("lost"), "status", "containerStatuses"))[0], "state", "waiting", "message"))
      )
      expect(message).toContain('failed to pull image "nobody/knows:1"')
      await apply(pod("elsewhere", { nodeSelector: { zone: "b" }, containers: [{ name: "c", image: "task" }] }))
      const why = await until("why it is not scheduled", () =>
        asString(
          asObjects(at(found("elsewhere"), "status", "conditions")).find(({ type }) => type === "PodScheduled")?.[
            "message"
          ]
        )
      )
      expect(why).toContain("nodeSelector zone=b does not match")
    })

    it("also after the API server was gone: what happened meanwhile is told then", async () => {
      await apply(
        pod("survivor", {
          containers: [
            {
              name: "c",
              image: "server",
              readinessProbe: {
                httpGet: { path: "/health", port: 8080 },
                periodSeconds: 1,
                timeoutSeconds: 60,
                failureThreshold: 1
              }
            }
          ]
        })
      )
      await ready("survivor")
      await Effect.runPromise(cluster.stop())
      seen.healthy.set("survivor", false)
      await Effect.runPromise(cluster.restart())
      await until("the pod is not ready any more", () => {
        const object = found("survivor")
        return object === undefined || isPodReady(object) ? undefined : true
      })
    })
  })
})
