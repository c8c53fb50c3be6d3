import { Effect, Result } from "effect"
import { MemoryQueues } from "../../../lab/queues/memory-queues.ts"
import { RandomStream } from "../../../lab/simulation/kernel/random-stream.ts"
import { jqPrograms } from "../../../src/adapters/jq/jq-programs.ts"
import { checkSplit } from "../../../src/app/queues/check-split.ts"
import {
  type ResolvedSplit,
  type ResolveServices,
  resolveSplit,
  updatesOf
} from "../../../src/app/queues/resolve-split.ts"
import type { NamedWorkload, WantedSplit } from "../../../src/domain/queues/wanted-split.ts"
import { configMaps, secrets } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordPropertyLists } from "../../../src/domain/resources/queues/mirrord-property-list.ts"
import { JqPrograms } from "../../../src/ports/jq-programs.ts"
import { type registry, type splitConfig, template } from "../../domain/queues/split-objects.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

/** The deployment `shop` in the namespace `dev`, at an API server and an SQS in memory, with the real jq. */
export class ResolveWorld {
  readonly api = new MemoryKubeApi("local")
  readonly sqs = new MemoryQueues(new RandomStream("resolve"))
  allows: (operation: string, name: string) => boolean = () => true
  settings: Partial<ResolveServices> = {}
  workload: NamedWorkload = { namespace: "dev", kind: "deployment", name: "shop", container: "app" }
  /** The deployment itself. */
  spec: object = {}
  configs: ReadonlyArray<ReturnType<typeof splitConfig>> = []
  registries: ReadonlyArray<ReturnType<typeof registry>> = []

  constructor() {
    this.sqs.faults.latency = 0
    for (const name of ["orders", "refunds"]) this.sqs.add(name, { VisibilityTimeout: "30" })
  }

  /** The containers of the workload, as {@link template} has them. */
  containers(...all: Parameters<typeof template>): void {
    this.spec = { template: template(...all) }
  }

  map(name: string, data: object, namespace = "dev"): void {
    this.api.write(configMaps, name, { data }, namespace)
  }

  secret(name: string, data: Readonly<Record<string, string>>, namespace: string): void {
    const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")])
    this.api.write(secrets, name, { data: Object.fromEntries(encoded) }, namespace)
  }

  list(name: string, spec: object, namespace = "dev"): void {
    this.api.write(mirrordPropertyLists, name, { spec }, namespace)
  }

  /** The objects of a kind that were read, in the order of their names. */
  reads(plural: string): ReadonlyArray<string> {
    return this.api.calls
      .filter((call) => call.plural === plural)
      .map(({ name }) => name)
      .toSorted()
  }

  #ask<A, E>(
    ask: (
      services: ResolveServices,
      object: { readonly metadata: { readonly name: string }; readonly spec: object },
      objects: Parameters<typeof resolveSplit>[3]
    ) => Effect.Effect<A, E>
  ): Effect.Effect<A, E> {
    const objects = { splitConfigs: this.configs, registries: this.registries }
    return Effect.flatMap(JqPrograms, (jq) =>
      ask(
        {
          api: this.api,
          queues: this.sqs.port((operation, name) => this.allows(operation, name)),
          jq,
          operatorNamespace: "mirrord",
          lingerSeconds: 60,
          isolatesPods: true,
          waitsForPods: true,
          endpoint: undefined,
          ...this.settings
        },
        { metadata: { name: "shop" }, spec: this.spec },
        objects
      )
    ).pipe(Effect.provide(jqPrograms))
  }

  resolve() {
    return this.#ask((services, object, objects) => resolveSplit(services, this.workload, object, objects))
  }

  resolved() {
    return Effect.flatMap(this.resolve(), Effect.fromResult)
  }

  refused() {
    return Effect.flatMap(this.resolve(), (found) => Effect.fromResult(Result.flip(found)))
  }

  check(wanted: Pick<WantedSplit, "filters" | "isAutomatic">) {
    const whole = {
      workload: this.workload,
      modes: new Map(),
      sessionKey: undefined,
      startedAt: undefined,
      isShared: false,
      given: undefined,
      ...wanted
    }
    return this.#ask((services, object, objects) => checkSplit(services, whole, object, objects))
  }
}

/** The new values of variables with `tmp-NAME` for each queue, by `container/variable`. */
export const updatesIn = (split: ResolvedSplit): Readonly<Record<string, string>> => {
  const names = new Map(split.sources.map(({ identity, name }) => [identity, `tmp-${name}`]))
  const updates = Result.getOrThrow(updatesOf(split, (identity) => names.get(identity)))
  return Object.fromEntries(
    [...updates].flatMap(([container, values]) => [...values].map(([name, value]) => [`${container}/${name}`, value]))
  )
}
