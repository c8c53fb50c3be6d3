import { describe, expect, it } from "vitest"
import { agentJob, agentPort, isFinished } from "../../../src/adapters/pod/agent-job.ts"
import type { OwnerReference } from "../../../src/domain/resources/object-meta.ts"
import { placement, settings } from "./agent-examples.ts"

const owner: OwnerReference = {
  apiVersion: "mirrord.metalbear.co/v1alpha",
  kind: "MirrordClusterSession",
  name: "session-1",
  uid: "1"
}

describe("the Job of an agent", () => {
  it("has the published shape beside a target", () => {
    const job = agentJob(settings, { name: "mirrord-agent-x", port: 4_000, group: 3_001, target: placement, owner })
    expect(job).toMatchObject({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: {
        name: "mirrord-agent-x",
        namespace: "mirrord",
        labels: {
          app: "mirrord",
          "operator.metalbear.co/owner": "mirrord-operator",
          "kuma.io/sidecar-injection": "disabled"
        },
        annotations: { "sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled" },
        ownerReferences: [owner]
      },
      spec: {
        backoffLimit: 0,
        template: {
          metadata: {
            labels: { app: "mirrord", "kuma.io/sidecar-injection": "disabled" },
            annotations: { "linkerd.io/inject": "disabled" }
          },
          spec: {
            restartPolicy: "Never",
            hostPID: true,
            nodeName: "node-1",
            tolerations: [{ operator: "Exists" }],
            volumes: [
              { name: "hostrun", hostPath: { path: "/run" } },
              { name: "hostvar", hostPath: { path: "/var" } }
            ],
            containers: [
              {
                name: "mirrord-agent",
                image: "agent:1",
                imagePullPolicy: "IfNotPresent",
                command: ["./mirrord-agent"],
                args: ["-l", "4000", "-t", "30", "targeted", "--container-id", "abc", "--container-runtime", "cri-o"],
                env: expect.arrayContaining([
                  { name: "MIRRORD_AGENT_POD_IPS", value: "10.0.0.1,fd00::1" },
                  { name: "MIRRORD_AGENT_IDLE_TTL", value: "60" },
                  { name: "MIRRORD_AGENT_EXTERNAL_IP_FIX", value: "true" },
                  { name: "MIRRORD_JAQ_TIME_LIMIT", value: "1" }
                ]),
                resources: { requests: { cpu: "1m", memory: "1Mi" }, limits: { cpu: "1", memory: "100Mi" } },
                securityContext: {
                  runAsGroup: 3_001,
                  privileged: false,
                  capabilities: { add: ["SYS_ADMIN", "SYS_PTRACE", "NET_ADMIN"] }
                },
                volumeMounts: [
                  { name: "hostrun", mountPath: "/host/run" },
                  { name: "hostvar", mountPath: "/host/var" }
                ]
              }
            ]
          }
        }
      }
    })
  })

  it("without a target asks for nothing of the host", () => {
    const text = JSON.stringify(agentJob(settings, { name: "x", port: 4_000, group: 3_001, target: undefined, owner }))
    expect(text).toContain('"args":["-l","4000","-t","30","targetless"]')
    for (const word of [
      "hostPID",
      "nodeName",
      "volumes",
      "volumeMounts",
      "securityContext",
      "capabilities",
      "tolerations",
      "POD_IPS"
    ])
      expect(text).not.toContain(word)
  })
})

const withArgs = (args: unknown) => ({
  metadata: { name: "mirrord-agent-x" },
  spec: { template: { spec: { containers: [{ args }] } } }
})

describe("the port of an agent's Job", () => {
  it("is the one that it was made with", () => {
    const job = agentJob(settings, { name: "x", port: 31_234, group: 3_001, target: undefined, owner })
    expect(agentPort({ ...job, metadata: { name: "x" } })).toBe(31_234)
  })
  it.each([[undefined], [[]], [["-l"]], [["-l", "0"]], [["-l", "65536"]], [["-l", "80.5"]], [["--help"]], ["-l 80"]])(
    "is none of a Job with the arguments %j",
    (args) => expect(agentPort(withArgs(args))).toBeUndefined()
  )
})

describe("the Job of an agent is finished", () => {
  it.each([
    [{ status: { failed: 1 } }, true],
    [{ status: { succeeded: 1 } }, true],
    [{ metadata: { name: "x", deletionTimestamp: "2026-01-01T00:00:00Z" } }, true],
    [{ status: { failed: 0 } }, false],
    [{}, false]
  ])("with %j: %s", (job, finished) => expect(isFinished({ metadata: { name: "x" }, ...job })).toBe(finished))
})
