import { expect, it } from "vitest"
import { parse } from "yaml"
import {
  clusterEntry,
  joinProviders,
  memberValues,
  primaryValues
} from "../../src/domain/commands/join/join-request.ts"
import { request } from "../domain/commands/join/joining.ts"
import { Chart } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { at } from "./json.ts"

const more = {
  token: { namespace: "other" },
  mtls: { user: "primary", certificateAuthority: undefined },
  eks: { region: "eu-central-1", group: "primaries" },
  aks: { tenantId: "contoso.com", clientId: "00000000-0000-0000-0000-000000000000", group: "id" },
  outbound: { server: undefined, certificateAuthority: undefined }
} as const

const dialled = { cell: "cell.example.com:8443", bootstrap: "cell.example.com:8444", pin: "ab", token: "braid1.c.id.s" }

describeHelm("the values that braid join prints", (helm) => {
  const chart = new Chart(helm)

  it.each(joinProviders)("give the primary the entry that braid join writes: %s", async (provider) => {
    const wanted = request({ provider, ...more[provider] })
    const rendered = await chart.render({ values: primaryValues(wanted, true) })
    expect(parse(rendered.file("clusters-config.yaml") ?? "")).toEqual({ clusters: [clusterEntry(wanted)] })
  })

  it.each(joinProviders)("give the primary its rights in the member: %s", async (provider) => {
    const rendered = await chart.render({ values: memberValues(request({ provider, ...more[provider] }), dialled) })
    const subjects = rendered.ofKind("ClusterRoleBinding").flatMap((binding) => {
      const isMembers = at(binding, "roleRef", "name") === "mirrord-operator-envoy-remote"
      return isMembers ? [at(binding, "subjects")].flat() : []
    })
    const account = "mirrord-operator-envoy"
    const name = { token: account, mtls: "primary", eks: "primaries", aks: "id", outbound: account }[provider]
    expect(subjects).toContainEqual(expect.objectContaining({ name }))
  })
})
