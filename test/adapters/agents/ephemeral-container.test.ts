import { describe, expect, it } from "vitest"
import { tlsValue } from "../../../src/adapters/agents/agent-tls-variable.ts"
import {
  declaredPorts,
  ephemeralAgentsOf,
  ephemeralContainer,
  withEphemeralContainer
} from "../../../src/adapters/agents/ephemeral-container.ts"
import { placement, settings, settingsWith, tlsPort } from "./agent-examples.ts"
import { everySetting } from "./each-setting.ts"

const container = {
  name: "app",
  image: "app:1",
  ports: [{ containerPort: 8080 }],
  env: [
    { name: "GREETING", value: "hello" },
    { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "app", key: "password" } } }
  ],
  envFrom: [{ configMapRef: { name: "app" } }]
}
const options = {
  name: "mirrord-agent-x-1",
  port: 4_000,
  group: 3_001,
  target: placement,
  container,
  cleansUp: false,
  certificatePem: undefined,
  tls: []
}
const valueOf = (made: object, name: string) => {
  const { env } = made as { readonly env: ReadonlyArray<{ readonly name: string; readonly value?: string }> }
  // The last of a name is the one that holds.
  return env.findLast((variable) => variable.name === name)?.value
}

describe("the ephemeral container of an agent", () => {
  it.each([
    ["beside-a-target", settings, options],
    [
      "in-a-mesh-with-shared-processes",
      settingsWith({ ephemeral: true, exclude_from_mesh: true }),
      { ...options, target: { ...placement, shareProcessNamespace: true, mesh: "istio" } }
    ],
    [
      "privileged-and-cleaning-up",
      settingsWith({ ephemeral: true, privileged: true, disabled_capabilities: ["SYS_ADMIN"] }),
      { ...options, cleansUp: true, container: { name: "app" }, certificatePem: "the operator's" }
    ],
    [
      "with-every-setting",
      { ...settingsWith({ ...everySetting, ephemeral: true }), extraEnv: { MORE: "yes", RUST_LOG: "trace" } },
      options
    ]
  ] as const)("%s is its golden file", async (name, given, of) => {
    const text = `${JSON.stringify(ephemeralContainer(given, of), undefined, 2)}\n`
    await expect(text).toMatchFileSnapshot(`ephemeral-containers/${name}.json`)
  })

  it("has nothing that Kubernetes refuses in one", () => {
    const every = settingsWith({ resources: { limits: { memory: "1Gi" } }, node_selector: { pool: "a" } })
    expect(Object.keys(ephemeralContainer(every, options)).toSorted()).toEqual([
      "args",
      "command",
      "env",
      "envFrom",
      "image",
      "imagePullPolicy",
      "name",
      "securityContext",
      "targetContainerName"
    ])
  })

  it("is told the ports of its target that serve TLS, and is known by them again", () => {
    const made = ephemeralContainer(settings, { ...options, tls: [tlsPort] })
    expect(valueOf(made, "MIRRORD_AGENT_STEAL_TLS_CONFIG")).toBe(tlsValue([tlsPort], {}))
    const pod = { metadata: { name: "p" }, spec: { ephemeralContainers: [made] } }
    expect(ephemeralAgentsOf(pod).map(({ tls }) => tls)).toEqual([tlsValue([tlsPort], {})])
  })

  it("starts also where the target has deleted the file of a variable", () => {
    const fileKeyRef = { volumeName: "made", path: "app.env", key: "LEVEL" }
    const env = [{ name: "LEVEL", valueFrom: { fileKeyRef } }]
    expect(ephemeralContainer(settings, { ...options, container: { ...container, env } })["env"]).toContainEqual({
      name: "LEVEL",
      valueFrom: { fileKeyRef: { ...fileKeyRef, optional: true } }
    })
  })

  it("is not steered by variables of its target", () => {
    const env = ["AGENT_OPERATOR_CERT_ENV", "MIRRORD_AGENT_IDLE_TTL", "MIRRORD_AGENT_NFTABLES", "RUST_LOG"].map(
      (name) => ({ name, value: "theirs" })
    )
    const steered = { ...options, container: { ...container, env } }
    expect(JSON.stringify(ephemeralContainer(settings, steered))).not.toContain("theirs")
    const encrypted = ephemeralContainer(settings, { ...steered, certificatePem: "the operator's" })
    expect(valueOf(encrypted, "AGENT_OPERATOR_CERT_ENV")).toBe("the operator's")
  })
})

describe("the agents of a pod", () => {
  const made = ephemeralContainer(settings, { ...options, certificatePem: "ours" })
  const pod = withEphemeralContainer(
    {
      metadata: { name: "myapp-1", resourceVersion: "7" },
      spec: {
        containers: [container, { name: "sidecar" }],
        initContainers: [{ name: "proxy", ports: [{ containerPort: 15_001 }] }],
        ephemeralContainers: [{ name: "debugger-1", image: "busybox" }, { name: "mirrord-agent-without-port" }]
      }
    },
    made
  )
  const withState = (state: object) => ({
    ...pod,
    status: { ephemeralContainerStatuses: [{ name: "mirrord-agent-x-1", state }] }
  })

  it.each([
    [{}, { _tag: "Starting" }],
    [{ waiting: { reason: "ContainerCreating" } }, { _tag: "Starting" }],
    [
      { waiting: { reason: "ErrImagePull", message: "no agent:1" } },
      { _tag: "Starting", problem: { kind: "Pull", words: "no agent:1" } }
    ],
    [
      { waiting: { reason: "RunContainerError", message: "no cgroup" } },
      { _tag: "Starting", problem: { kind: "Start", waits: "RunContainerError", words: "no cgroup" } }
    ],
    [{ running: { startedAt: "2026-01-01T00:00:00Z" } }, { _tag: "Running" }],
    [{ terminated: { exitCode: 137, reason: "OOMKilled" } }, { _tag: "Ended", exitCode: 137, reason: "OOMKilled" }]
  ])("are read with the state %j as %j", (state, read) => {
    expect(ephemeralAgentsOf(withState(state))).toMatchObject([
      { name: "mirrord-agent-x-1", target: "app", port: 4_000, certificatePem: "ours", state: read }
    ])
  })

  it("start as long as the kubelet says nothing of them", () =>
    expect(ephemeralAgentsOf(pod)).toMatchObject([{ state: { _tag: "Starting" } }]))

  it("are added behind all others, and nothing else of the pod changes", () => {
    expect(withEphemeralContainer(pod, { name: "next" })).toEqual({
      ...pod,
      spec: {
        ...(pod["spec"] as object),
        ephemeralContainers: [
          { name: "debugger-1", image: "busybox" },
          { name: "mirrord-agent-without-port" },
          made,
          { name: "next" }
        ]
      }
    })
  })

  it("share the ports that the pod's containers declare", () => expect([...declaredPorts(pod)]).toEqual([8080, 15_001]))
})
