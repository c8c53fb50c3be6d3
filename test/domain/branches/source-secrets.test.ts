import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { programsOf } from "../../../src/adapters/engines/programs.ts"
import { branchPod } from "../../../src/domain/branches/branch-pod.ts"
import { readBranchRequest } from "../../../src/domain/branches/branch-request.ts"
import { asObjects, at, type JsonObject } from "../../../src/domain/json.ts"
import { bareBranchSpec } from "../../support/branch-spec.ts"

const settings = { imagePullSecrets: [], labels: {}, annotations: {}, dataLimit: "1Gi", stagingLimit: "1Mi" }
const owner = { apiVersion: "v1", kind: "BranchDatabase", name: "b", uid: "u" }

/** The pod of a branch whose password comes from a Secret. */
const podOf = (template: JsonObject, name: string, key: string) => {
  const host = { env: { container: null, variable: "HOST" } }
  const request = Result.getOrThrow(
    readBranchRequest({
      ...bareBranchSpec,
      connectionSource: { params: { host, password: { secret: { name, key } } } },
      postgresOptions: { copy: { mode: "all" } }
    })
  )
  return branchPod(settings, {
    name: "branch-1",
    namespace: "shop",
    owner,
    request,
    programs: programsOf(request.dialect),
    digest: "d",
    template
  })
}

/** A way in which a pod template names a Secret, and the container that has it. */
interface Naming {
  readonly how: "env" | "envFrom" | "volume" | "item" | "projected" | "pull" | "unmounted" | "literal"
  readonly at: "container" | "sidecar" | "init"
  readonly name: string
  readonly key: string
}

const namings = fc.array(
  fc.record<Naming>({
    how: fc.constantFrom("env", "envFrom", "volume", "item", "projected", "pull", "unmounted", "literal"),
    at: fc.constantFrom("container", "sidecar", "init"),
    name: fc.constantFrom("a", "b", "c"),
    key: fc.constantFrom("x", "y", "z")
  }),
  { maxLength: 6 }
)

const volumeOf = ({ how, key, name }: Naming): object => {
  const items = [{ key, path: "p" }]
  if (how === "projected") return { projected: { sources: [{ serviceAccountToken: {} }, { secret: { name, items } }] } }
  return { secret: { secretName: name, ...(how === "item" ? { items } : {}) } }
}

const templateOf = (all: ReadonlyArray<Naming>): JsonObject => {
  const isVolume = ({ how }: Naming): boolean => ["volume", "item", "projected", "unmounted"].includes(how)
  const container = (where: Naming["at"]) => {
    const own = all.map((naming, index) => ({ ...naming, index })).filter((naming) => naming.at === where)
    const variables = own.filter(({ how }) => how === "env" || how === "literal")
    return {
      name: where,
      env: variables.map(({ how, index, key, name }) => ({
        name: `V${index}`,
        ...(how === "env" ? { valueFrom: { secretKeyRef: { name, key } } } : { value: name })
      })),
      envFrom: own.flatMap(({ how, name }) => (how === "envFrom" ? [{ secretRef: { name } }] : [])),
      volumeMounts: own.flatMap((naming) =>
        isVolume(naming) && naming.how !== "unmounted" ? [{ name: `v${naming.index}`, mountPath: "/m" }] : []
      )
    }
  }
  return {
    spec: {
      containers: [container("container"), { name: "other", env: [{ name: "HOST", value: "db" }] }],
      initContainers: [{ ...container("sidecar"), restartPolicy: "Always" }, container("init")],
      imagePullSecrets: all.flatMap(({ how, name }) => (how === "pull" ? [{ name }] : [])),
      volumes: all.flatMap((naming, index) => (isVolume(naming) ? [{ name: `v${index}`, ...volumeOf(naming) }] : []))
    }
  }
}

/** Whether the target's lasting containers have the key. */
const gives = ({ at: where, how, key, name }: Naming, wanted: Pick<Naming, "name" | "key">): boolean =>
  where !== "init" &&
  name === wanted.name &&
  (["envFrom", "volume"].includes(how) || (["env", "item", "projected"].includes(how) && key === wanted.key))

describe("a Secret as a source", () => {
  it("is one that the target's own containers read, and no other is named in the branch's pod", () => {
    fc.assert(
      fc.property(namings, fc.constantFrom("a", "b", "c"), fc.constantFrom("x", "y", "z"), (all, name, key) => {
        const pod = podOf(templateOf(all), name, key)
        const isRead = all.some((naming) => gives(naming, { name, key }))
        expect(Result.isSuccess(pod)).toBe(isRead)
        if (Result.isFailure(pod)) expect(pod.failure).toContain(`the key "${key}" of the Secret "${name}"`)
      })
    )
  })

  it("is refused by its field, its name and its key, with what to do, also for a branch that begins empty", () => {
    const request = Result.getOrThrow(
      readBranchRequest({
        ...bareBranchSpec,
        connectionSource: { url: [{ env: { variable: "URL" } }, { secret: { name: "stripe", key: "key" } }] },
        postgresOptions: {}
      })
    )
    const template = { spec: { containers: [{ name: "app", env: [{ name: "URL", value: "postgresql://h/d" }] }] } }
    const options = {
      name: "branch-1",
      namespace: "shop",
      owner,
      request,
      programs: programsOf(request.dialect),
      digest: "d",
      template
    }
    expect(Result.getOrThrow(Result.flip(branchPod(settings, options)))).toBe(
      'spec.connectionSource.url names the key "key" of the Secret "stripe", which no container of the target reads: ' +
        "name one that its pod template has in env, envFrom or a mounted volume, or bring the value itself."
    )
  })

  it("with values of the user's own needs no target that names it", () => {
    const pod = Result.getOrThrow(podOf(templateOf([]), "mirrord-branch-values-1", "PASSWORD"))
    const [copy] = asObjects(at(pod, "spec", "initContainers"))
    expect(asObjects(copy?.["env"]).map((entry) => at(entry, "valueFrom", "secretKeyRef", "name"))).toContain(
      "mirrord-branch-values-1"
    )
  })
})
