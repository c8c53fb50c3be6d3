import { Clock, Effect, Exit, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type MadeBranches, makeBranches } from "../../../src/app/branches/branch-controller.ts"
import type { UsableBranch } from "../../../src/app/branches/branch-directory.ts"
import { makeEventRecorder } from "../../../src/app/kernel/event-recorder.ts"
import { CurrentHoldings, Holdings } from "../../../src/app/kernel/holdings.ts"
import { retryingApi } from "../../../src/app/kernel/retrying-api.ts"
import type { BranchRules } from "../../../src/domain/branches/branch-admission.ts"
import { readEngineSettings } from "../../../src/domain/branches/branch-settings.ts"
import { events } from "../../../src/domain/events/event-object.ts"
import { asObject, asString, at } from "../../../src/domain/json.ts"
import {
  type BranchDatabase,
  branchDatabases,
  type BranchDatabaseSpec
} from "../../../src/domain/resources/branches/branch-database.ts"
import type { BranchStatus } from "../../../src/domain/resources/branches/branch-shapes.ts"
import { deployments, jobs, pods, secrets } from "../../../src/domain/resources/core-kinds.ts"
import { timestamp } from "../../../src/domain/resources/object-meta.ts"
import { defaultBounds } from "../../../src/domain/sessions/session-bounds.ts"
import { protectedNamespaces } from "../../../src/domain/targets/protected-namespaces.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { pass } from "../../support/connect-request.ts"
import { reviewedApi } from "../../support/reviewed-api.ts"

export const namespace = "shop"
export const branchName = "mirrord-pg-branch-0123456789abcdef"
export const user = { userId: "u", username: "ann", hostname: "box", k8sUsername: "ann" }

export const branchSpec: BranchDatabaseSpec = {
  id: "shop",
  ttlSecs: 300,
  target: { apiVersion: "apps/v1", kind: "Deployment", name: "app", container: "" },
  connectionSource: { url: { env: { container: null, variable: "DATABASE_URL" } } },
  databaseName: "shop",
  postgresOptions: { copy: { mode: "all" } }
}

export const defaultRules: BranchRules = {
  settings: { pg: readEngineSettings("pg", { _tag: "Absent" }, {}) },
  protectedNamespaces: protectedNamespaces({ operator: "mirrord", agents: "mirrord", allowed: [] })
}

/** A cluster with `deployment/app`, controllers of branches that come and go, and the kubelet. */
export class Branched {
  readonly api = reviewedApi("a")
  readonly holdings = new Holdings()
  readonly logged: Array<string> = []
  #scope: Scope.Closeable | undefined
  #directory: MadeBranches | undefined

  constructor() {
    const env = [{ name: "DATABASE_URL", value: "postgresql://app:secret@source/shop" }]
    const template = { spec: { containers: [{ name: "app", env }] } }
    this.api.write(deployments, "app", { spec: { template } }, namespace)
  }

  /** A new leader. */
  readonly start = (rules: BranchRules = defaultRules, bounds = defaultBounds) =>
    Effect.gen({ self: this }, function* () {
      const { api, holdings } = this
      const scope = yield* Scope.make()
      this.#scope = scope
      const json = Logger.map(Logger.formatJson, (line) => void this.logged.push(line))
      this.#directory = yield* Effect.gen(function* () {
        const recorder = yield* makeEventRecorder(api)
        return yield* makeBranches({ api, awaited: retryingApi(api), rules, events: recorder, bounds })
      }).pipe(
        Scope.provide(scope),
        Effect.provideService(CurrentHoldings, holdings),
        Effect.provide(Logger.layer([json]))
      )
      yield* pass("1 second")
    })

  readonly kill = Effect.suspend(() => {
    const scope = this.#scope
    this.#scope = undefined
    this.#directory = undefined
    return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
  })

  get directory(): MadeBranches {
    if (this.#directory === undefined) throw new Error("there is no leader")
    return this.#directory
  }

  /** A user's branch, as the client makes it. */
  readonly order = (change: object = {}, name = branchName, metadata: object = {}) =>
    Effect.gen({ self: this }, function* () {
      this.api.write(branchDatabases, name, { spec: { ...branchSpec, ...change }, metadata }, namespace)
      yield* pass("1 second")
    })

  object(name = branchName): KubeObject | undefined {
    return this.api.peek(branchDatabases, name, namespace)
  }

  status(name = branchName): BranchStatus | undefined {
    return (this.object(name) as BranchDatabase | undefined)?.status ?? undefined
  }

  /** The branch as sessions see it. */
  found(): UsableBranch {
    const found = this.directory.find(namespace, branchName)
    if (found === undefined) throw new Error("there is no branch")
    return found
  }

  pods(): ReadonlyArray<KubeObject> {
    return this.api.peekAll(pods).filter(({ metadata }) => metadata.labels?.["db-owner-name"] !== undefined)
  }

  secrets(): ReadonlyArray<KubeObject> {
    return this.api.peekAll(secrets)
  }

  /** The kubelet: the pods of branches have this status. */
  readonly runPods = (status: object) =>
    Effect.gen({ self: this }, function* () {
      for (const { metadata } of this.pods()) this.api.write(pods, metadata.name, { status }, namespace)
      yield* pass("1 second")
    })

  readonly podsReady = () => this.runPods(readyStatus)

  /** The reasons of the Events about branches, in order. */
  events(): ReadonlyArray<string> {
    return this.api.peekAll(events).map((event) => `${asString(event["reason"])} in ${event.metadata.namespace}`)
  }

  /** All that the resource, its Events and the log tell. */
  told(): string {
    return JSON.stringify([this.api.peekAll(branchDatabases), this.api.peekAll(events), this.logged])
  }

  password(): string {
    const [secret] = this.secrets()
    return Buffer.from(asString(at(secret, "data", "password")) ?? "", "base64").toString()
  }
}

const isOver = (job: KubeObject): boolean => at(job, "status", "conditions") !== undefined

/** The pods of the Jobs that are not over, as their controller and the kubelet make them. */
const writeJobPods = ({ api }: Pick<Branched, "api">, phase: string, state: object) =>
  Effect.map(Clock.currentTimeMillis, (now): ReadonlyArray<KubeObject> => {
    const open = api.peekAll(jobs).filter((job) => !isOver(job))
    for (const { metadata, spec } of open) {
      const { labels, annotations } = asObject(at(spec, "template", "metadata"))
      const { name, uid = "" } = metadata
      const pod = `${name}-pod`
      const ownerReferences = [{ apiVersion: "batch/v1", kind: "Job", name, uid }]
      const startTime = at(api.peek(pods, pod, metadata.namespace), "status", "startTime") ?? timestamp(now)
      const status = { phase, startTime, containerStatuses: [{ name: "migrations", state }] }
      api.write(pods, pod, { metadata: { labels, annotations, ownerReferences }, status }, metadata.namespace)
    }
    return open
  })

/** The migrations' containers are in this state, and have not ended. */
export const jobRuns = Effect.fnUntraced(function* (branched: Pick<Branched, "api">, state: object = { running: {} }) {
  yield* writeJobPods(branched, "running" in state ? "Running" : "Pending", state)
  yield* pass("1 second")
})

/** The migrations end with this exit code and these last words. */
export const jobEnds = Effect.fnUntraced(function* (branched: Pick<Branched, "api">, exitCode: number, message = "") {
  const type = exitCode === 0 ? "Complete" : "Failed"
  const terminated = { exitCode, reason: exitCode === 0 ? "Completed" : "Error", message }
  const ended = yield* writeJobPods(branched, exitCode === 0 ? "Succeeded" : "Failed", { terminated })
  for (const { metadata } of ended) {
    const conditions = [{ type, status: "True", reason: "BackoffLimitExceeded" }]
    branched.api.write(jobs, metadata.name, { status: { conditions } }, metadata.namespace)
  }
  yield* pass("1 second")
  yield* pass("1 second")
})

const readyStatus = { phase: "Running", podIP: "10.0.0.7", conditions: [{ type: "Ready", status: "True" }] }

/** The moment at which tests begin, epoch ms. */
export const today = Date.UTC(2026, 10, 21)

export const begin = Effect.fnUntraced(function* (rules: BranchRules = defaultRules) {
  yield* TestClock.setTime(today)
  const branched = new Branched()
  yield* Effect.addFinalizer(() => branched.kill)
  yield* branched.start(rules)
  return branched
})

/** A branch that is ready. */
export const ready = Effect.fnUntraced(function* (rules: BranchRules = defaultRules) {
  const branched = yield* begin(rules)
  yield* branched.order()
  yield* branched.podsReady()
  return branched
})
