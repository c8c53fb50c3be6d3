import { Result } from "effect"
import { expect, it } from "vitest"
import { agentOf } from "./agent-of.ts"
import { Chart, type Rendered } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { asMap, at } from "./json.ts"
import { settingsOf } from "./operator-settings.ts"

const podOf = async (rendered: Rendered): Promise<unknown> => at(await agentOf(rendered), "spec", "template", "spec")

/** Whether pods with these labels are selected. */
const selects = (selector: unknown, labels: unknown): boolean =>
  Object.entries(asMap(at(selector, "matchLabels"))).every(([name, value]) => at(labels, name) === value)

describeHelm("agents of an install", (helm) => {
  const chart = new Chart(helm)

  it("are pulled with the operator's Secrets, or with those of their own settings", async () => {
    const own = { agent: { extraConfig: { image_pull_secrets: [{ name: "own" }, { name: "mirror" }] } } }
    expect(await podOf(await chart.render({ sample: "image_tag" }))).toMatchObject({
      imagePullSecrets: [{ name: "pull" }]
    })
    expect(await podOf(await chart.render({ values: own }))).toMatchObject({
      imagePullSecrets: [{ name: "own" }, { name: "mirror" }]
    })
    expect(await podOf(await chart.render({ sample: "image_tag", values: own }))).toMatchObject({
      imagePullSecrets: [{ name: "pull" }]
    })
    expect(await podOf(await chart.render({}))).not.toHaveProperty("imagePullSecrets")
  })

  it("run as the account that OpenShift's constraints name", async () => {
    const rendered = await chart.render({ sample: "operator_openshift" })
    const account = String(at(await podOf(rendered), "serviceAccountName"))
    const namespace = String(at(await agentOf(rendered), "metadata", "namespace"))
    expect([namespace, account]).toEqual(["agents", "own-agent"])
    expect(rendered.get("SecurityContextConstraints", "scc-mirrord")["users"]).toContain(
      `system:serviceaccount:${namespace}:${account}`
    )
    expect(await podOf(await chart.render({}))).not.toHaveProperty("serviceAccountName")
  })

  it.each([
    ["usually", {}, true],
    ["on OpenShift", { openshift: true }, false],
    ["on OpenShift where they are wanted", { openshift: true, operator: { podUsers: true } }, true],
    ["where they are not wanted", { operator: { podUsers: false } }, false],
    ["by the variable", { openshift: true, operator: { extraEnv: { OPERATOR_POD_USERS: "yes" } } }, true]
  ])("and all other pods name their users as the cluster takes them: %s", async (_, values, named) => {
    const rendered = await chart.render({ values })
    const pods = [
      rendered.pod,
      at(rendered.get("Job", "mirrord-cleanup"), "spec", "template", "spec"),
      at(rendered.get("Pod", "mirrord-doctor"), "spec")
    ]
    for (const pod of pods) {
      const security = asMap(at(pod, "securityContext"))
      expect(security).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } })
      expect(["runAsUser", "runAsGroup", "fsGroup"].some((field) => field in security)).toBe(named)
    }
    const { copyImage } = Result.getOrThrow(await settingsOf(rendered))
    expect(copyImage?.leavesUsersOut).toBe(!named)
  })

  it.each([
    ["beside the operator", {}],
    ["in a namespace of their own", { namespace: "tools", agent: { extraConfig: { namespace: "agents" } } }],
    ["of an operator with other labels", { operator: { podLabels: { app: "else", team: "a" } } }]
  ])("%s are selected by their policy, which lets the operator's pods in and nobody else", async (_, values) => {
    const rendered = await chart.render({ values })
    const job = await agentOf(rendered)
    const policy = rendered.get("NetworkPolicy", "mirrord-operator-agents")
    expect(at(policy, "metadata", "namespace")).toBe(at(job, "metadata", "namespace"))
    expect(selects(at(policy, "spec", "podSelector"), at(job, "spec", "template", "metadata", "labels"))).toBe(true)
    const deployment = rendered.get("Deployment", "mirrord-operator")
    const operator = at(deployment, "spec", "template", "metadata", "labels")
    expect(selects(at(policy, "spec", "podSelector"), operator)).toBe(false)
    expect(at(policy, "spec", "policyTypes")).toEqual(["Ingress"])
    expect(at(policy, "spec", "ingress")).toHaveLength(1)
    expect(at(policy, "spec", "ingress", 0, "from")).toHaveLength(1)
    const from = at(policy, "spec", "ingress", 0, "from", 0)
    expect(selects(at(from, "podSelector"), operator)).toBe(true)
    expect(selects(at(from, "podSelector"), at(job, "spec", "template", "metadata", "labels"))).toBe(false)
    expect(at(from, "namespaceSelector", "matchLabels")).toEqual({
      "kubernetes.io/metadata.name": at(deployment, "metadata", "namespace")
    })
  })

  it("have no policy where it is turned off, and where there are no agents", async () => {
    for (const values of [{ networkPolicy: { agents: false } }, { operator: { multiCluster: { enabled: true } } }])
      expect((await chart.render({ values })).ofKind("NetworkPolicy")).toEqual([])
  })
})
