import { describe, expect, it } from "vitest"
import { agentCertificate, agentJob, agentPort, isFinished } from "../../../src/adapters/agents/agent-job.ts"
import { agentFields } from "../../../src/domain/agents/agent-fields.ts"
import { asObjects, at } from "../../../src/domain/json.ts"
import type { OwnerReference } from "../../../src/domain/resources/object-meta.ts"
import { placement, settings, settingsWith, tlsPort } from "./agent-examples.ts"
import { eachSetting, everySetting } from "./each-setting.ts"

const owner: OwnerReference = {
  apiVersion: "mirrord.metalbear.co/v1alpha",
  kind: "MirrordClusterSession",
  name: "session-1",
  uid: "1"
}

const options = { name: "mirrord-agent-x", port: 4_000, group: 3_001, target: placement, owner }

const podSpec = "spec.template.spec"

/** The value at a path, whose first word is `job`, `pod`, `container` or `env`. */
const found = (job: object, path: string): unknown => {
  const [where = "", ...names] = path.split(" ")
  const [container] = asObjects(at(job, "spec", "template", "spec", "containers"))
  const env = Object.fromEntries(asObjects(container?.["env"]).map(({ name, value }) => [String(name), value]))
  const roots: Readonly<Record<string, unknown>> = { job, env, container, pod: at(job, "spec", "template") }
  return at(roots[where], ...names)
}

describe("the Job of an agent", () => {
  // Whole objects: a variable that is missing and a right that was added must both be seen.
  it.each([
    ["beside-a-target", settings, options],
    ["without-a-target", settings, { ...options, target: undefined }],
    ["beside-a-target-with-tls", settings, { ...options, tls: [tlsPort] }],
    [
      "with-account-and-pull-secrets",
      { ...settings, serviceAccount: "agent", imagePullSecrets: ["registry", "mirror"] },
      options
    ]
  ] as const)("%s is its golden file", async (name, given, of) => {
    await expect(`${JSON.stringify(agentJob(given, of), undefined, 2)}\n`).toMatchFileSnapshot(`jobs/${name}.json`)
  })

  it("with every setting is its golden file", async () => {
    const job = agentJob({ ...settingsWith(everySetting), extraEnv: { MORE: "yes", RUST_LOG: "trace" } }, options)
    await expect(`${JSON.stringify(job, undefined, 2)}\n`).toMatchFileSnapshot("jobs/with-every-setting.json")
  })

  it("names the operator's certificate last, whatever the settings say, and is read again", () => {
    const extraEnv = { AGENT_OPERATOR_CERT_ENV: "somebody's" }
    const job = agentJob({ ...settings, extraEnv }, { ...options, certificatePem: "the operator's" })
    expect(found(job, "env AGENT_OPERATOR_CERT_ENV")).toBe("the operator's")
    expect(agentCertificate({ metadata: { name: "a" }, ...job })).toBe("the operator's")
    expect(agentCertificate({ metadata: { name: "a" }, ...agentJob(settings, options) })).toBeUndefined()
    expect(agentCertificate({ metadata: { name: "a" } })).toBeUndefined()
  })

  it.each(eachSetting)("has the setting %j as %j", (field, value, [path, expected]) => {
    const job = agentJob(settingsWith({ [field]: value }), options)
    expect(found(job, path)).toEqual(expected)
    // The usual Job has something else there, so it is the setting that is seen.
    expect(found(agentJob(settings, options), path)).not.toEqual(expected)
  })

  it("has no setting beside its own place", () => {
    const usual = agentJob(settings, options)
    for (const unset of [
      {},
      { labels: null, dns: { attempts: null }, metrics: "", tolerations: null, resources: null }
    ])
      expect(agentJob(settingsWith(unset), options)).toEqual(usual)
  })

  it.each([
    ["labels", { app: "mine", "operator.metalbear.co/owner": "mine", "kuma.io/sidecar-injection": "enabled" }],
    ["annotations", { "sidecar.istio.io/inject": "true", "linkerd.io/inject": "enabled" }]
  ])("keeps its own %s, by which it is known and left alone", (field, value) =>
    expect(agentJob(settingsWith({ [field]: value }), options)).toEqual(agentJob(settings, options))
  )

  it("without a target tolerates only what is set", () => {
    const tolerations = [{ key: "a", operator: "Exists" }]
    const targetless = { ...options, target: undefined }
    expect(agentJob(settingsWith({ tolerations }), targetless)).toHaveProperty(`${podSpec}.tolerations`, tolerations)
    expect(agentJob(settingsWith({ tolerations: [] }), options)).not.toHaveProperty(`${podSpec}.tolerations`)
  })

  it.each([
    [undefined, {}],
    ["istio", { MIRRORD_AGENT_IN_SERVICE_MESH: "true" }],
    ["istio-ambient", { MIRRORD_AGENT_IN_SERVICE_MESH: "true" }],
    ["istio-cni", { MIRRORD_AGENT_IN_SERVICE_MESH: "true", MIRRORD_AGENT_ISTIO_CNI: "true" }],
    ["linkerd", { MIRRORD_AGENT_IN_SERVICE_MESH: "true" }],
    ["kuma", { MIRRORD_AGENT_IN_SERVICE_MESH: "true" }]
  ] as const)("beside a target in the mesh %s tells the agent %j", (mesh, variables) => {
    const env = found(agentJob(settings, { ...options, target: { ...placement, mesh } }), "env")
    const told = Object.entries(env as object).filter(([name]) => /MESH|ISTIO/u.test(name))
    expect(Object.fromEntries(told)).toEqual(variables)
  })

  it.each([
    ["beside", placement],
    ["without", undefined]
  ])("gets no token of a service account %s a target, whatever account it runs as", (_, target) => {
    for (const serviceAccount of [undefined, "agent"])
      expect(agentJob({ ...settings, serviceAccount }, { ...options, target })).toHaveProperty(
        "spec.template.spec.automountServiceAccountToken",
        false
      )
  })

  it("after an agent that was given up removes first what that agent left, if it has ended", () => {
    const made = { name: "x", port: 4_000, group: 3_001, target: placement, owner, cleansUp: true }
    expect(JSON.stringify(agentJob(settings, made))).toContain('"-t","30","--clean-iptables-on-start","targeted"')
    expect(JSON.stringify(agentJob(settings, { ...made, cleansUp: false }))).not.toContain("clean")
  })

  it("without a target asks for nothing of the host", () => {
    const text = JSON.stringify(agentJob(settings, { ...options, target: undefined }))
    for (const word of [
      "host",
      "nodeName",
      "affinity",
      "volume",
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

describe("the settings of agents", () => {
  it("are all seen in Jobs, but for those that act before there is a Job, or on ephemeral containers", () => {
    const seen = new Set(eachSetting.map(([field]) => field))
    expect(Object.keys(agentFields).filter((field) => !seen.has(field))).toEqual([
      "check_out_of_pods",
      "ephemeral",
      "exclude_from_mesh",
      "startup_timeout"
    ])
  })
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
