import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { copiedPod, copyName, type NewCopy } from "../../../src/domain/copies/copied-pod.ts"
import { copyRecord, isCopy } from "../../../src/domain/copies/copy-record.ts"
import { readCopyRequest } from "../../../src/domain/copies/copy-request.ts"
import { asObject, asObjects, at, type JsonObject } from "../../../src/domain/json.ts"
import { chooseContainer } from "../../../src/domain/targets/container-choice.ts"

const owner = { userId: "u", username: "Ann", hostname: "laptop", k8sUsername: "ann" }
const agent = { image: "agent:1", imagePullPolicy: "Always", imagePullSecrets: ["registry", "own"] }
const probe = { httpGet: { port: 80 } }
const template: JsonObject = {
  metadata: { labels: { app: "x", "pod-template-hash": "abc" }, annotations: { mesh: "yes" } },
  spec: {
    nodeName: "node-1",
    restartPolicy: "Never",
    activeDeadlineSeconds: 10,
    imagePullSecrets: [{ name: "own" }],
    initContainers: [
      { name: "wait", image: "wait" },
      { name: "migrate", image: "migrate" }
    ],
    containers: [
      {
        name: "app",
        image: "app:1",
        command: ["run"],
        args: ["fast"],
        workingDir: "/app",
        env: [{ name: "DB_HOST", value: "db" }],
        ports: [{ containerPort: 80, hostPort: 80 }],
        livenessProbe: probe,
        readinessProbe: probe,
        startupProbe: probe,
        lifecycle: { postStart: { exec: { command: ["warm-up"] } } },
        volumeMounts: [
          { name: "config", mountPath: "/etc/app" },
          { name: "kube-api-access-1", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }
        ]
      },
      { name: "istio-proxy", image: "mesh", readinessProbe: probe }
    ],
    volumes: [
      { name: "config", configMap: { name: "app" } },
      { name: "kube-api-access-1", projected: {} }
    ]
  }
}

const copy = (spec: object = {}, change: Partial<NewCopy> = {}): Result.Result<JsonObject, string> => {
  const request = Result.getOrThrow(
    readCopyRequest({ spec: { target: { deployment: "x", container: null }, ...spec } })
  )
  const record = { owner, session: "FF" }
  return copiedPod({ name: "c", namespace: "n", request, template, selector: [], record, image: agent, ...change })
}
const podOf = (...args: Parameters<typeof copy>): JsonObject => Result.getOrThrow(copy(...args))
const containers = (pod: JsonObject) => asObjects(at(pod, "spec", "containers"))

describe("the pod of a copy", () => {
  it("names its container, so that no container of a webhook is taken for the target", () => {
    const annotations = asObject(at(podOf(), "metadata", "annotations")) as Readonly<Record<string, string>>
    const containersInPod = [{ name: "aa-injected" }, { name: "app" }]
    expect(chooseContainer(containersInPod, annotations, undefined)).toEqual({
      status: { name: "app" },
      guessed: false
    })
  })

  it("sleeps in the place of the target's program, with its environment and volumes, and answers no probe", () => {
    expect(containers(podOf())).toEqual([
      {
        name: "app",
        image: "agent:1",
        imagePullPolicy: "Always",
        command: ["sleep", "infinity"],
        env: [{ name: "DB_HOST", value: "db" }],
        ports: [{ containerPort: 80 }],
        volumeMounts: [{ name: "config", mountPath: "/etc/app" }]
      },
      { name: "istio-proxy", image: "mesh" }
    ])
  })

  it("has the rest of the template, and nothing of where and how long its pods run", () => {
    const { containers: _, initContainers, ...spec } = asObject(podOf()["spec"])
    expect(initContainers).toEqual([
      { name: "wait", image: "wait" },
      { name: "migrate", image: "migrate" }
    ])
    expect(spec).toEqual({
      restartPolicy: "Never",
      imagePullSecrets: [{ name: "own" }, { name: "registry" }],
      volumes: [{ name: "config", configMap: { name: "app" } }],
      terminationGracePeriodSeconds: 5
    })
  })

  it("has variables from files of a volume, with the volume and the container that writes them", () => {
    const LEVEL = { name: "LEVEL", valueFrom: { fileKeyRef: { volumeName: "made", path: "app.env", key: "LEVEL" } } }
    const writer = { name: "writer", image: "w", volumeMounts: [{ name: "made", mountPath: "/made" }] }
    const spec = {
      initContainers: [writer],
      containers: [{ name: "app", image: "app:1", env: [LEVEL] }],
      volumes: [{ name: "made", emptyDir: {} }]
    }
    expect(podOf({}, { template: { spec } })["spec"]).toMatchObject({
      ...spec,
      containers: [{ image: "agent:1", env: [LEVEL] }]
    })
  })

  it("is found by Services like the target's pods, and by no controller", () => {
    const labels = (pod: JsonObject) => at(pod, "metadata", "labels")
    const own = { "operator.metalbear.co/owner": "mirrord-operator", "operator.metalbear.co/copy-target": "true" }
    expect(labels(podOf())).toEqual({ app: "x", ...own })
    expect(labels(podOf({}, { selector: ["app"] })), "a job with a selector of its user").toEqual(own)
  })

  it("keeps its own image where the agent's is not wanted", () => {
    const [app] = containers(podOf({}, { image: undefined }))
    expect(app).toMatchObject({ image: "app:1", workingDir: "/app", command: ["sleep", "infinity"] })
    expect(app).not.toHaveProperty("args")
  })

  it("sleeps as a user where root is forbidden and the target's image named the user", () => {
    const restricted = { ...template, spec: { ...asObject(template["spec"]), securityContext: { runAsNonRoot: true } } }
    const [app, other] = containers(podOf({}, { template: restricted }))
    expect(app).toMatchObject({ securityContext: { runAsUser: 65_532 } })
    expect(other).not.toHaveProperty("securityContext")
    const [chosen] = containers(podOf({}, { template: restricted, image: { ...agent, leavesUsersOut: true } }))
    expect(chosen, "the cluster chooses the user").not.toHaveProperty("securityContext")
    const [own] = containers(podOf({}, { template: restricted, image: undefined }))
    expect(own).not.toHaveProperty("securityContext")
  })

  it("is without the containers that the user excludes", () => {
    const pod = podOf({ exclude_containers: ["istio-proxy"], exclude_init_containers: ["wait"] })
    expect(containers(pod).map(({ name }) => name)).toEqual(["app"])
    expect(asObjects(at(pod, "spec", "initContainers")).map(({ name }) => name)).toEqual(["migrate"])
  })

  it.each([
    [
      { target: { deployment: "x", container: "none" } },
      "deployment/x/container/none has no container none; name one of app, istio-proxy."
    ],
    [
      { exclude_containers: ["app", "istio-proxy"] },
      "deployment/x has no container left to copy; take one out of feature.copy_target.exclude_containers."
    ]
  ])("is not made for %j", (spec, sentence) => expect(Result.getOrThrow(Result.flip(copy(spec)))).toBe(sentence))

  it("remembers what it is for", () => {
    const { metadata } = podOf({}, { record: { owner, session: "FF", replaces: { kind: "deployment", name: "x" } } })
    const meta = { name: "c", ...asObject(metadata) }
    expect(isCopy(meta)).toBe(true)
    expect(copyRecord(meta)).toEqual({
      spec: { target: { deployment: "x", container: null } },
      owner,
      session: "FF",
      target: "deployment/x",
      container: "app",
      replaces: { kind: "deployment", name: "x" }
    })
    expect(copyRecord({ name: "c", annotations: {} })).toBeUndefined()
  })

  it("has a name that is a host's and a label's value", () => {
    for (const name of ["x", "a.b", "x".repeat(253), `${"x".repeat(41)}.y`])
      expect(copyName(name, "0123456789abcdef")).toMatch(
        /^mirrord-copy-(?=.{1,50}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?-89abcdef$/
      )
  })
})
