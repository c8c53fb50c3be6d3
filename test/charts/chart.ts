import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parse, parseAllDocuments } from "yaml"
import { asList, asMap, asText, at } from "./json.ts"

export const chartFolder = fileURLToPath(new URL("../../charts/mirrord-operator", import.meta.url))
const samplesFolder = new URL("values/", import.meta.url)
export const samplePath = (name: string): string => fileURLToPath(new URL(`${name}.yaml`, samplesFolder))
/** Names of the values files that have to install. */
export const samples: ReadonlyArray<string> = readdirSync(samplesFolder)
  .map((file) => file.replace(/\.yaml$/u, ""))
  .toSorted()

export interface KubernetesObject {
  readonly [field: string]: unknown
}

/** The output of `helm template` for a chart. */
export class Rendered {
  readonly objects: ReadonlyArray<KubernetesObject>
  readonly text: string

  constructor(text: string) {
    this.text = text
    this.objects = parseAllDocuments(text).flatMap((document) => {
      const [error] = document.errors
      if (error !== undefined) throw error
      const value = document.toJS() as unknown
      return value === null ? [] : [asMap(value)]
    })
  }

  /** `Kind/name`, or `Kind/namespace/name` of a namespaced object. */
  static nameOf(object: KubernetesObject): string {
    return [
      asText(object["kind"]),
      ...[at(object, "metadata", "namespace")].filter((part) => part !== undefined),
      at(object, "metadata", "name")
    ].join("/")
  }

  /** Names of all objects, sorted. */
  get names(): ReadonlyArray<string> {
    return this.objects.map((object) => Rendered.nameOf(object)).toSorted()
  }

  ofKind(kind: string): ReadonlyArray<KubernetesObject> {
    return this.objects.filter((object) => object["kind"] === kind)
  }

  find(kind: string, name: string): KubernetesObject | undefined {
    return this.ofKind(kind).find((object) => at(object, "metadata", "name") === name)
  }

  get(kind: string, name: string): KubernetesObject {
    const found = this.find(kind, name)
    if (found === undefined) throw new Error(`no ${kind} ${name}; there are: ${this.names.join(", ")}`)
    return found
  }

  get pod(): KubernetesObject {
    return asMap(at(this.get("Deployment", "mirrord-operator"), "spec", "template", "spec"))
  }

  get container(): KubernetesObject {
    return asMap(asList(this.pod["containers"])[0])
  }

  /** Variables of the operator: text, or the source of one. A name that is there twice is an error. */
  get env(): Readonly<Record<string, unknown>> {
    const entries = asList(this.container["env"]).map(asMap)
    const twice = entries.filter(({ name }, index) => entries.findIndex((other) => other["name"] === name) !== index)
    if (twice.length > 0)
      throw new Error(`twice in the environment: ${twice.map(({ name }) => asText(name)).join(", ")}`)
    return Object.fromEntries(entries.map(({ name, value, valueFrom }) => [asText(name), value ?? valueFrom]))
  }

  /** A file of the ConfigMap. */
  file(name: string): string | undefined {
    const text = at(this.get("ConfigMap", "mirrord-configmap"), "data", name)
    return text === undefined ? undefined : asText(text)
  }

  fileValue(name: string): unknown {
    return parse(this.file(name) ?? "") as unknown
  }

  /** Rules of a role as lines `groups/resources[names]: verbs`. */
  rules(kind: string, name: string): ReadonlyArray<string> {
    return asList(this.get(kind, name)["rules"]).map((rule) => {
      const list = (field: string): string => asList(asMap(rule)[field] ?? []).join(",")
      const names = list("resourceNames")
      return `${list("apiGroups") || "core"}/${list("resources")}${names === "" ? "" : `[${names}]`}: ${list("verbs")}`
    })
  }
}

/** JSON as YAML takes it: without line breaks and controls that JSON leaves unescaped. */
const flowYaml = (value: object): string =>
  JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

export interface RenderOptions {
  /** Values files of `test/charts/values`, without `.yaml`. */
  readonly sample?: string
  readonly values?: object
  readonly namespace?: string
  readonly args?: ReadonlyArray<string>
}

/** The words of helm when it refused, without those about itself. */
export interface Refused {
  readonly sentences: ReadonlyArray<string>
  readonly text: string
}

interface HelmOutput {
  readonly failed: boolean
  readonly stdout: string
  readonly stderr: string
}

const sentencesIn = (stderr: string): ReadonlyArray<string> => {
  const start = stderr.indexOf("the values cannot be used:\n")
  const lines = start < 0 ? [] : (stderr.slice(start).split("\n\n")[0] ?? "").split("\n").slice(1)
  return lines.filter((line) => line !== "")
}

export class Chart {
  readonly #helm: string

  constructor(helm: string) {
    this.#helm = helm
  }

  #run(args: ReadonlyArray<string>, values: object | undefined): Promise<HelmOutput> {
    return new Promise((resolve) => {
      const child = execFile(this.#helm, args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
        resolve({ failed: error !== null, stdout, stderr })
      )
      // It may end before it has read the values.
      child.stdin?.on("error", () => undefined)
      child.stdin?.end(values === undefined ? "" : flowYaml(values))
    })
  }

  /** `helm template`; values come after the sample. */
  async try({ sample, values, namespace = "default", args = [] }: RenderOptions): Promise<Rendered | Refused> {
    const files = [
      ...(sample === undefined ? [] : ["-f", samplePath(sample)]),
      ...(values === undefined ? [] : ["-f", "-"])
    ]
    const given = ["template", "braid", chartFolder, "--namespace", namespace, ...files, ...args]
    const { failed, stdout, stderr } = await this.#run(given, values)
    return failed ? { sentences: sentencesIn(stderr), text: stderr } : new Rendered(stdout)
  }

  /** `helm lint`: whether it fails, and the sentences that it prints. */
  async lint(values: object): Promise<{ readonly failed: boolean; readonly sentences: ReadonlyArray<string> }> {
    const { failed, stderr } = await this.#run(["lint", chartFolder, "-f", "-"], values)
    return { failed, sentences: sentencesIn(stderr).filter((line) => !line.startsWith("Error: ")) }
  }

  async render(options: RenderOptions): Promise<Rendered> {
    const result = await this.try(options)
    if (!(result instanceof Rendered)) throw new Error(result.text)
    return result
  }

  /** The text of NOTES, by way of an extra object. */
  async notes({ values, ...options }: RenderOptions): Promise<string> {
    const carrier = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "notes" },
      data: { text: '{{ include "braid.notes" . | b64enc }}' }
    }
    const rendered = await this.render({ ...options, values: { ...values, extraObjects: [carrier] } })
    return Buffer.from(asText(at(rendered.get("ConfigMap", "notes"), "data", "text")), "base64").toString("utf8")
  }
}
