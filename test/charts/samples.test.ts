import { readFileSync } from "node:fs"
import { Result } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { parse } from "yaml"
import { asArray } from "../../src/domain/json.ts"
import { Chart, type KubernetesObject, Rendered, type RenderOptions, samples } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { asList, asMap, at } from "./json.ts"
import { settingsOf } from "./operator-settings.ts"
import { restrictedProblems } from "./restricted.ts"

const named = (objects: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  objects.map((object) => String(at(object, "metadata", "name")))
const configMap = "mirrord-configmap"
const isMemberOnly = (name: string): boolean => name.startsWith("mirrord-operator-envoy")

/** The Secrets of clusters' credentials, by namespace and name. */
const credentialsOf = (rendered: Rendered): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    rendered
      .ofKind("Secret")
      .filter(
        (secret) => at(secret, "metadata", "labels", "operator.metalbear.co/remote-cluster-credentials") === "true"
      )
      .map((secret) => [`${String(at(secret, "metadata", "namespace"))}/${named([secret])[0]}`, secret["stringData"]])
  )
const subjectsOf = (binding: KubernetesObject): ReadonlyArray<string> =>
  asArray(binding["subjects"]).map((subject) =>
    [at(subject, "kind"), at(subject, "namespace"), at(subject, "name")].filter((part) => part !== undefined).join("/")
  )

/** The values into which the paths of samples.yaml lead. */
const viewOf = (rendered: Rendered, plain: Rendered): Readonly<Record<string, unknown>> => {
  const { container, env, names, objects, pod, text } = rendered
  const files = Object.keys(asMap(at(rendered.get("ConfigMap", configMap), "data")))
  const clusters = asArray(at(rendered.fileValue("clusters-config.yaml"), "clusters"))
  const bindings = rendered.ofKind("ClusterRoleBinding")
  const credentials = credentialsOf(rendered)
  const roles = objects.filter(({ kind }) => kind === "Role" || kind === "ClusterRole")
  const rules = (kind: string) =>
    named(rendered.ofKind(kind)).map((name) => [`${kind}/${name}`, rendered.rules(kind, name)] as const)
  return {
    ...Object.fromEntries(
      objects.toReversed().map((object) => [`${String(object["kind"])}/${named([object])[0]}`, object])
    ),
    names: names.filter((name) => !name.startsWith("CustomResourceDefinition/")),
    allNames: names,
    addedNames: names.filter((name) => !plain.names.includes(name)),
    crds: rendered.ofKind("CustomResourceDefinition").map((crd) => at(crd, "spec", "names", "plural")),
    env,
    mirrordVariables: Object.keys(env).filter((name) => name.startsWith("MIRRORD_")),
    addedVariables: Object.fromEntries(
      Object.entries(env).filter(([name, value]) => JSON.stringify(plain.env[name]) !== JSON.stringify(value))
    ),
    files: Object.fromEntries(files.map((name) => [name, rendered.fileValue(name) ?? undefined])),
    fileNames: files,
    configText: JSON.stringify(rendered.get("ConfigMap", configMap)),
    pod,
    volumeNames: asArray(pod["volumes"]).map((volume) => at(volume, "name")),
    container,
    mountPaths: asArray(container["volumeMounts"]).map((mount) => at(mount, "mountPath")),
    clusters,
    clusterNames: clusters.map((cluster) => at(cluster, "name")),
    defaults: clusters
      .filter((cluster) => at(cluster, "isDefault") !== undefined)
      .map((cluster) => at(cluster, "name")),
    credentials,
    credentialNames: Object.keys(credentials).toSorted(),
    subjects: Object.fromEntries(bindings.map((binding) => [named([binding])[0], subjectsOf(binding)])),
    memberBindings: named(bindings).filter(isMemberOnly).toSorted(),
    accounts: named(rendered.ofKind("ServiceAccount")),
    rules: Object.fromEntries(["Role", "ClusterRole"].flatMap(rules)),
    rulesText: Object.fromEntries(
      named(rendered.ofKind("ClusterRole")).map((name) => [name, rendered.rules("ClusterRole", name).join("\n")])
    ),
    userRoles: roles
      .filter((role) => role["kind"] === "Role" && named([role])[0] === "mirrord-operator-user")
      .map((role) => at(role, "metadata", "namespace")),
    allowedImages: text.match(/allowedImages:/gu)?.length,
    text
  }
}

/** The row of a sample in samples.yaml, which says what its parts mean. */
interface Expectation {
  readonly is?: Readonly<Record<string, unknown>>
  readonly has?: Readonly<Record<string, unknown>>
  readonly lacks?: Readonly<Record<string, string>>
  readonly none?: ReadonlyArray<string>
  readonly plain?: ReadonlyArray<string>
}
const expectations = parse(readFileSync(new URL("samples.yaml", import.meta.url), "utf8")) as Readonly<
  Record<string, Expectation>
>

const partIn = (found: unknown, part: unknown): void => {
  if (!Array.isArray(part)) expect(found).toMatchObject(asMap(part))
  else
    for (const item of part)
      expect(found).toEqual(
        typeof found === "string" ? expect.stringContaining(String(item)) : expect.arrayContaining([item])
      )
}

const judge = (
  { has = {}, is = {}, lacks = {}, none = [], plain = [] }: Expectation,
  view: Readonly<Record<string, unknown>>,
  plainView: Readonly<Record<string, unknown>>
): void => {
  const found = (path: string, from = view): unknown =>
    path
      .split(" > ")
      .reduce<unknown>((value, step) => (step === "length" ? asArray(value).length : at(value, step)), from)
  for (const [path, value] of Object.entries(is)) expect([path, found(path) ?? null]).toEqual([path, value])
  for (const [path, part] of Object.entries(has)) partIn(found(path), part)
  for (const [path, part] of Object.entries(lacks))
    for (const text of [found(path)].flat())
      expect([path, String(text)]).not.toEqual([path, expect.stringContaining(part)])
  for (const path of none) expect([path, found(path)]).toEqual([path, undefined])
  for (const path of plain) expect([path, found(path)]).toEqual([path, found(path, plainView)])
}

/** A sample in another release, which many installs have in common. */
const elsewhere = (sample: string): RenderOptions => ({ sample, namespace: "somewhere-else" })
/** All objects in one order; of custom resources, which are the same for all values, the names. */
const comparable = ({ objects }: Rendered): ReadonlyArray<KubernetesObject> =>
  objects
    .map((object) =>
      object["kind"] === "CustomResourceDefinition"
        ? { kind: object["kind"], metadata: { name: at(object, "metadata", "name") } }
        : object
    )
    .toSorted((one, other) => (Rendered.nameOf(one) < Rendered.nameOf(other) ? -1 : 1))

describeHelm("samples of values", (helm) => {
  const chart = new Chart(helm)
  const renders = new Map<string, Rendered>()
  const rendered = (sample: string): Rendered => {
    const found = renders.get(sample)
    if (found === undefined) throw new Error(`there is no sample ${sample}`)
    return found
  }
  beforeAll(async () => {
    for (const sample of samples) renders.set(sample, await chart.render({ sample }))
    await chart.prepare(samples.map(elsewhere))
  })

  it("each have an expectation", () => {
    expect(Object.keys(expectations).toSorted()).toEqual(samples)
  })

  describe.each(samples)("%s", (sample) => {
    it("renders what it is for", () => {
      const view = (name: string) => viewOf(rendered(name), rendered("plain"))
      judge(expectations[sample] ?? {}, view(sample), view("plain"))
    })

    it("names every object, and its namespace, by a text", () => {
      for (const { kind, metadata } of rendered(sample).objects)
        expect([kind, typeof at(metadata, "name"), typeof (at(metadata, "namespace") ?? "")]).toEqual([
          kind,
          "string",
          "string"
        ])
    })

    it("holds every object once", () => {
      const { names } = rendered(sample)
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    })

    it("depends neither on the release's namespace nor on what is rendered beside it", async () => {
      expect(comparable(await chart.render(elsewhere(sample)))).toEqual(comparable(rendered(sample)))
    })

    it("runs pods under the restricted Pod Security Standard, with a file system that cannot be written", () => {
      const pods = rendered(sample).objects.flatMap((object) =>
        object["kind"] === "Pod" ? [object["spec"]] : [at(object, "spec", "template", "spec") ?? []].flat()
      )
      expect(pods).toHaveLength(3)
      for (const pod of pods) {
        expect(restrictedProblems(pod)).toEqual([])
        for (const container of asList(at(pod, "containers")))
          expect(at(container, "securityContext", "readOnlyRootFilesystem")).toBe(true)
      }
    })

    it("tests itself as the operator: its account, image, variables and files, under none of its labels", () => {
      const test = rendered(sample).get("Pod", "mirrord-doctor")
      expect(at(test, "metadata", "annotations")).toEqual({
        "helm.sh/hook": "test",
        "helm.sh/hook-delete-policy": "before-hook-creation"
      })
      const { container, pod } = rendered(sample)
      const spec = asMap(test["spec"])
      const [doctor] = asList(spec["containers"]).map(asMap)
      const watches = rendered(sample).env["OPERATOR_CELL"] === "true"
      const args = ["doctor", ...(watches ? ["--tunnels-for", "150"] : [])]
      expect(doctor).toMatchObject({ args, image: container["image"], env: container["env"] })
      for (const field of ["serviceAccountName", "nodeSelector", "tolerations", "imagePullSecrets"])
        expect([field, spec[field]]).toEqual([field, pod[field]])
      // Nor with the volume of records, which one pod mounts.
      const withoutTls = (list: unknown): ReadonlyArray<unknown> =>
        asList(list).filter((one) => !["tls", "usage"].includes(String(at(one, "name"))))
      expect([spec["volumes"], doctor?.["volumeMounts"]]).toEqual([
        withoutTls(pod["volumes"]),
        withoutTls(container["volumeMounts"])
      ])
      const selector = asMap(
        at(
          rendered(sample).get("Service", String(at(rendered(sample).ofKind("Service")[0], "metadata", "name"))),
          "spec",
          "selector"
        )
      )
      const labels = asMap(at(test, "metadata", "labels"))
      expect(Object.entries(selector).every(([name, value]) => labels[name] === value)).toBe(false)
      expect(labels["app"]).not.toBe("mirrord-operator")
    })

    it("grants nothing by a wildcard, and tokens of one account only", () => {
      for (const kind of ["Role", "ClusterRole"]) {
        for (const role of rendered(sample).ofKind(kind)) {
          for (const rule of asList(role["rules"])) {
            for (const field of ["apiGroups", "resources", "verbs"]) expect(at(rule, field)).not.toContain("*")
            if (asList(at(rule, "resources")).includes("serviceaccounts/token")) {
              expect([kind, at(rule, "resourceNames")]).toEqual(["Role", ["mirrord-operator-envoy"]])
            }
          }
        }
      }
    })

    it("binds only roles and accounts that are there, or that are given", () => {
      const { objects } = rendered(sample)
      const names = new Set(
        objects.map((object) => `${String(object["kind"])}/${String(at(object, "metadata", "name"))}`)
      )
      for (const binding of objects.filter(({ kind }) => kind === "RoleBinding" || kind === "ClusterRoleBinding")) {
        expect(names).toContain(`${String(at(binding, "roleRef", "kind"))}/${String(at(binding, "roleRef", "name"))}`)
        for (const subject of asList(binding["subjects"])) {
          if (at(subject, "kind") === "ServiceAccount" && at(subject, "name") !== "own-account")
            expect(names).toContain(`ServiceAccount/${String(at(subject, "name"))}`)
        }
      }
    })

    it("keeps custom resources and their objects when the release or a feature goes", () => {
      for (const definition of rendered(sample).ofKind("CustomResourceDefinition"))
        expect(at(definition, "metadata", "annotations", "helm.sh/resource-policy")).toBe("keep")
    })

    it("starts the operator", async () => {
      const settings = await settingsOf(rendered(sample))
      expect(Result.isFailure(settings) ? settings.failure : "").toBe("")
    })

    it("has no two variables of one name", () => {
      expect(Object.keys(rendered(sample).env).length).toBeGreaterThan(50)
    })
  })
})
