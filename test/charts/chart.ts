import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parse, parseAllDocuments } from "yaml"
import { asList, asMap, asText, at } from "./json.ts"
import { coalesced, merged } from "./merged.ts"

export const chartFolder = fileURLToPath(new URL("../../charts/mirrord-operator", import.meta.url))
const samplesFolder = new URL("values/", import.meta.url)
export const samplePath = (name: string): string => fileURLToPath(new URL(`${name}.yaml`, samplesFolder))
/** Helm reads YAML 1.1. */
const sampleValues = (name: string): object => asMap(parse(readFileSync(samplePath(name), "utf8"), { version: "1.1" }))
/** Names of the values files that have to install. */
export const samples: ReadonlyArray<string> = readdirSync(samplesFolder)
  .map((file) => file.replace(/\.yaml$/u, ""))
  .toSorted()

export interface KubernetesObject {
  readonly [field: string]: unknown
}

const read = (text: string): ReadonlyArray<KubernetesObject> =>
  parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors
    if (error !== undefined) throw error
    const value = document.toJS() as unknown
    return value === null ? [] : [asMap(value)]
  })

/** Definitions of custom resources by their text, which are nearly all of a render's and alike in most. */
const definitions = new Map<string, ReadonlyArray<KubernetesObject>>()

const parsed = (text: string): ReadonlyArray<KubernetesObject> =>
  text.split(/^---$/mu).flatMap((document) => {
    if (!/^kind: CustomResourceDefinition$/mu.test(document)) return read(document)
    const known = definitions.get(document) ?? read(document)
    definitions.set(document, known)
    return known
  })

/** The output of `helm template` for a chart. */
export class Rendered {
  readonly objects: ReadonlyArray<KubernetesObject>
  /** As helm printed it; JSON of the objects if many installs were rendered at once. */
  readonly text: string

  constructor(text: string, objects = parsed(text)) {
    this.text = text
    this.objects = objects
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

/** The outcome of one of `many-installs.tpl`'s cases. */
type OneOfMany =
  | { readonly refused: ReadonlyArray<string> }
  | { readonly objects: ReadonlyArray<KubernetesObject>; readonly notes: string }

/** Cases of one run of helm, which holds all that they render in its memory. */
const maxCases = 60

const manyInstalls = readFileSync(new URL("many-installs.tpl", import.meta.url), "utf8")
const templates = readdirSync(join(chartFolder, "templates")).filter((file) => file.endsWith(".yaml"))
const defaults = asMap(parse(readFileSync(join(chartFolder, "values.yaml"), "utf8")))

/** All that decides an outcome, as a text. Values without a namespace are as in `default`. */
const keyOf = ({ args = [], namespace = "default", sample, values }: RenderOptions): string =>
  JSON.stringify([sample, namespace, args, values])

/** The text of a file in the ConfigMap that an extra object made, which it wrote as base64. */
const carried = (stdout: string): string => {
  const [, text = ""] = /^ {2}carried: ['"]?([\d+/=A-Za-z]*)['"]?$/mu.exec(stdout) ?? []
  return Buffer.from(text, "base64").toString("utf8")
}

const carrier = (template: string): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "carrier" },
  data: { carried: `{{ ${template} | b64enc }}` }
})

/** The chart, by the real helm. The same values are rendered once. */
export class Chart {
  readonly #helm: string
  readonly #outcomes = new Map<string, Promise<Rendered | Refused>>()
  readonly #notes = new Map<string, Promise<string>>()

  constructor(helm: string) {
    this.#helm = helm
  }

  #run(args: ReadonlyArray<string>, values: object | undefined): Promise<HelmOutput> {
    return new Promise((resolve) => {
      const child = execFile(this.#helm, args, { maxBuffer: 256 * 1024 * 1024 }, (error, stdout, stderr) =>
        resolve({ failed: error !== null, stdout, stderr })
      )
      // It may end before it has read the values.
      child.stdin?.on("error", () => undefined)
      child.stdin?.end(values === undefined ? "" : flowYaml(values))
    })
  }

  #template(
    { args = [], namespace = "default", sample, values }: RenderOptions,
    extra: ReadonlyArray<string> = []
  ): Promise<HelmOutput> {
    const files = [
      ...(sample === undefined ? [] : ["-f", samplePath(sample)]),
      ...(values === undefined ? [] : ["-f", "-"])
    ]
    return this.#run(["template", "braid", chartFolder, "--namespace", namespace, ...files, ...args, ...extra], values)
  }

  /** `helm template`; values come after the sample. */
  try(options: RenderOptions): Promise<Rendered | Refused> {
    const key = keyOf(options)
    const known = this.#outcomes.get(key)
    if (known !== undefined) return known
    const made = this.#template(options).then(({ failed, stderr, stdout }) =>
      failed ? { sentences: sentencesIn(stderr), text: stderr } : new Rendered(stdout)
    )
    this.#outcomes.set(key, made)
    return made
  }

  /**
   * Renders all of these with a run of helm for many: `render`, `try` and, with `notes`, `notes` know them then. A case
   * whose objects are no YAML is left to them, and one on which a template stumbles leaves all of its run to them, so
   * that helm says itself what is wrong. Without `args`.
   */
  async prepare(cases: ReadonlyArray<RenderOptions>, { notes = false } = {}): Promise<void> {
    const known = notes ? this.#notes : this.#outcomes
    const unknown = [...new Map(cases.map((one) => [keyOf(one), one]))].filter(([key]) => !known.has(key))
    for (let first = 0; first < unknown.length; first += maxCases) {
      const some = unknown.slice(first, first + maxCases)
      const outcomes = await this.#many(
        some.map(([, one]) => one),
        notes
      )
      for (const [index, outcome] of outcomes.entries()) {
        const key = some[index]?.[0] ?? ""
        if ("refused" in outcome) {
          const text = outcome.refused.join("\n")
          this.#outcomes.set(key, Promise.resolve({ sentences: outcome.refused, text }))
        } else if (outcome.objects.every((object) => "kind" in object)) {
          const rendered = new Rendered(JSON.stringify(outcome.objects), outcome.objects)
          this.#outcomes.set(key, Promise.resolve(rendered))
          if (notes) this.#notes.set(key, Promise.resolve(outcome.notes))
        }
      }
    }
  }

  async #many(cases: ReadonlyArray<RenderOptions>, notes: boolean): Promise<ReadonlyArray<OneOfMany>> {
    const global = {
      template: manyInstalls,
      files: templates,
      cases: cases.map(({ namespace = "default", sample, values = {} }) => {
        const below = sample === undefined ? {} : sampleValues(sample)
        return { namespace, notes, values: coalesced(defaults, merged(below, values)) }
      })
    }
    const values = { global, extraObjects: [carrier("tpl .Values.global.template .")] }
    const { failed, stdout } = await this.#template({ values }, ["--show-only", "templates/extra-objects.yaml"])
    return failed ? [] : (JSON.parse(carried(stdout)) as ReadonlyArray<OneOfMany>)
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
  notes(options: RenderOptions): Promise<string> {
    const key = keyOf(options)
    const known = this.#notes.get(key)
    if (known !== undefined) return known
    const values = { ...options.values, extraObjects: [carrier('include "braid.notes" .')] }
    const made = this.#template({ ...options, values }).then(({ failed, stderr, stdout }) => {
      if (failed) throw new Error(stderr)
      return carried(stdout)
    })
    this.#notes.set(key, made)
    return made
  }
}
