import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { chooseConfiguration } from "../../../src/domain/queues/chosen-configuration.ts"
import { failureOf, registry, splitConfig } from "./split-objects.ts"

const workload = { namespace: "dev", kind: "deployment", name: "shop", container: "app" } as const
const choose = (
  splitConfigs: Parameters<typeof chooseConfiguration>[1]["splitConfigs"],
  ...registries: ReadonlyArray<ReturnType<typeof registry>>
) => chooseConfiguration(workload, { splitConfigs, registries })
const target = (targetRef: object, name?: string) =>
  splitConfig({ targetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "shop", ...targetRef } }, name)
const others = [
  target({ name: "other" }, "name"),
  target({ kind: "StatefulSet" }, "kind"),
  target({ apiVersion: "example.com/v1" }, "group")
]
const foreign = [
  registry({}, { container: "sidecar" }, "old"),
  registry({}, { consumer: { name: "shop", workloadType: "Rollout" } }, "rollout"),
  registry({}, { consumer: { name: "other", workloadType: "Deployment" } }, "other")
]

describe("the configuration of a workload", () => {
  it.each([
    [
      "a split config before a registry",
      [...others, target({})],
      [registry({})],
      { _tag: "SplitConfig", object: { metadata: { name: "splits" } } }
    ],
    [
      "one of another version of the API",
      [target({ apiVersion: "apps/v1beta1" }, "beta")],
      [],
      { object: { metadata: { name: "beta" } } }
    ],
    [
      "a registry alone",
      others,
      [...foreign, registry({})],
      { _tag: "Registry", object: { metadata: { name: "registry" } } }
    ],
    [
      "a registry of the container",
      [],
      [...foreign, registry({}, { container: "app" }, "own")],
      { object: { metadata: { name: "own" } } }
    ]
  ])("is %s", (_, splitConfigs, registries, chosen) => {
    expect(Result.getOrThrow(choose(splitConfigs, ...registries))).toMatchObject(chosen)
  })

  it("is none where two objects are for it, which are named", () => {
    expect(failureOf(choose([target({}, "b"), target({}, "a")], registry({})))).toEqual({
      _tag: "Several",
      why: 'The MirrordSplitConfigs "a" and "b" in the namespace dev are all for the workload "shop": keep one of them.'
    })
    expect(failureOf(choose([], registry({}, {}, "b"), registry({}, { container: "app" }, "a"))).why).toContain(
      'The MirrordWorkloadQueueRegistries "a" and "b"'
    )
  })

  it("is none where no object is for it, and the refusal lists those that there are", () => {
    expect(failureOf(choose([...others], ...foreign))).toEqual({
      _tag: "None",
      why:
        "No MirrordSplitConfig or MirrordWorkloadQueueRegistry in the namespace dev is for the Deployment " +
        '"shop", container "app"; there is "group (Deployment shop)", "kind (StatefulSet shop)", ' +
        '"name (Deployment other)", "old (Deployment shop, container sidecar)", "other (Deployment other)", ' +
        '"rollout (Rollout shop)". Create one, or take feature.split_queues out.'
    })
    expect(failureOf(choose([])).why).toContain("there is none at all.")
    const many = Array.from({ length: 25 }, (_, i) => target({ name: "x" }, `c${i}`))
    expect(failureOf(choose(many)).why).toContain(" and 5 more.")
  })
})
