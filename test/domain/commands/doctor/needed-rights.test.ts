import { describe, expect, it } from "vitest"
import type { Right, RightHolder } from "../../../../src/domain/catalogue/right.ts"
import {
  memberRights,
  noParts,
  ownRights,
  rightHolders,
  rightsOf
} from "../../../../src/domain/commands/doctor/needed-rights.ts"

/** Rights with which any other right can be had. */
const powers = /^(?:bind|escalate|impersonate|approve|sign)$/u

const lineOf = ({ group, name, resource, scope, verbs, when = [], whileOn }: Right): string =>
  [
    `${scope}: ${verbs.join(", ")} ${resource}${group === "" ? "" : `.${group}`}`,
    ...(name === undefined ? [] : [` named ${name}`]),
    ...(when.length === 0 ? [] : [` if ${when.join(" and ")}`]),
    ...(whileOn === undefined ? [] : [` and ${whileOn.value}`])
  ].join("")
const lines = (holder: RightHolder, isMeant: (right: Right) => boolean): ReadonlyArray<string> =>
  rightsOf(holder).filter(isMeant).map(lineOf)

describe.each(rightHolders)("the rights of holder %s", (holder) => {
  it("have no wildcard, and none gives further rights", () => {
    const wide = lines(
      holder,
      ({ group, resource, verbs }) =>
        [group, resource, ...verbs].some((part) => part.includes("*")) ||
        verbs.some((verb) => powers.test(verb)) ||
        (group === "rbac.authorization.k8s.io" && verbs.some((verb) => verb !== "get")) ||
        ["pods/exec", "pods/attach", "pods/portforward", "nodes/proxy"].includes(resource)
    )
    // For the requests of a primary that cannot reach this cluster, as the account that it has in others.
    const envoy = "operator-namespace: impersonate serviceaccounts named mirrord-operator-envoy"
    // For people whom a member's administrator lets in; of groups those that are listed.
    const people = [
      "cluster: impersonate users if people",
      "cluster: impersonate groups named <people-group> if people",
      "cluster: impersonate uids.authentication.k8s.io if people",
      "cluster: impersonate userextras/<extra-key>.authentication.k8s.io if people"
    ]
    expect(wide).toEqual(holder === "operator" ? [`${envoy} and operator.outbound.enabled`, ...people] : [])
  })

  it("are each declared once", () => {
    const all = rightsOf(holder).flatMap((right) => right.verbs.map((verb) => lineOf({ ...right, verbs: [verb] })))
    expect(all.filter((line, index) => all.indexOf(line) !== index)).toEqual([])
  })

  it("say what is lost without them", () =>
    expect(lines(holder, ({ without }) => without === "" || without.endsWith("."))).toEqual([]))
})

describe("rights on Secrets", () => {
  const onSecrets = (holder: RightHolder) => lines(holder, ({ resource }) => resource === "secrets")

  it("of the operator are by name, but to find credentials and to make what it keeps", () => {
    expect(onSecrets("operator").toSorted()).toEqual([
      "cluster-api-namespace: list, watch secrets if clusterApi",
      "cluster: get, create secrets if branches and servedEngine",
      "operator-namespace: create secrets",
      "operator-namespace: get secrets if workloads and operator.sqsSplitting",
      "operator-namespace: get secrets named mirrord-operator-agent-tls if workloads and agent.tls",
      "operator-namespace: get secrets named mirrord-operator-user-authority",
      "operator-namespace: get, patch secrets if primary and operator.cell.enabled",
      "operator-namespace: get, patch secrets named mirrord-operator-serving if ownCertificate",
      "operator-namespace: get, patch secrets named mirrord-outbound-identity and operator.outbound.enabled",
      "operator-namespace: list, watch secrets if primary",
      "operator-namespace: patch secrets named mirrord-cluster-<cluster>-refreshed if renewsTokens"
    ])
  })

  it("of others are none, but in the width of the published chart", () => {
    expect(rightHolders.slice(1).flatMap(onSecrets)).toEqual([
      "cluster: create secrets if publishedWidth and branching"
    ])
  })
})

it("tokens are made for one account alone", () => {
  expect(
    rightHolders.flatMap((holder) => lines(holder, ({ resource }) => resource === "serviceaccounts/token"))
  ).toEqual(["operator-namespace: create serviceaccounts/token named mirrord-operator-envoy if memberAccount"])
})

it("developers only list what is not of mirrord", () => {
  const others = rightsOf("developer").filter(({ group }) => !group.endsWith("metalbear.co"))
  expect(others.filter(({ verbs }) => verbs.join() !== "list").map(lineOf)).toEqual([])
})

it("a primary that only manages has no right on pods, workloads or Jobs of the cluster", () => {
  const rights = ownRights({ _tag: "Primary", managementOnly: true, isDefault: false }, noParts)
  const kinds = ["", "apps", "batch", "argoproj.io"]
  expect(
    rights
      .filter(({ group, scope }) => kinds.includes(group) && (scope === "cluster" || scope === "agent-namespace"))
      .map(lineOf)
  ).toEqual(["cluster: get namespaces named kube-system"])
})

it("a member that lets people in acts as each listed group, and tells each listed key of their extras", () => {
  const people = { groups: ["dev", "system:authenticated"], extraKeys: ["example.com/team"], prefix: "-" }
  const asWhom = (parts: typeof noParts) =>
    ownRights({ _tag: "Single" }, parts)
      .filter(({ when }) => when?.includes("people"))
      .map(({ name, resource }) => [resource, name])
  expect(asWhom({ ...noParts, people })).toEqual([])
  expect(asWhom({ ...noParts, people, switches: { OPERATOR_OUTBOUND: true } })).toEqual([
    ["users", undefined],
    ["groups", "dev"],
    ["uids", undefined],
    ["userextras/example.com/team", undefined]
  ])
})

it("a primary on a member touches sessions, and branches where it orders them, through the operator there", () => {
  const groups = (rights: ReadonlyArray<Right>) => [...new Set(rights.map(({ group }) => group))].toSorted()
  expect(groups(memberRights([]))).toEqual(["", "mirrord.metalbear.co", "operator.metalbear.co"])
  expect(
    memberRights([])
      .filter(({ group }) => group === "")
      .map(lineOf)
  ).toEqual(["cluster: get namespaces named kube-system"])
  expect(groups(memberRights(["pg"]))).toContain("dbs.mirrord.metalbear.co")
})
