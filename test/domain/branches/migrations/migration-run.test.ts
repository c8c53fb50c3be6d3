import { describe, expect, it } from "vitest"
import { migrationRun } from "../../../../src/domain/branches/migrations/migration-run.ts"

const job = (generation: number, more: { readonly status?: object; readonly metadata?: object } = {}) => ({
  metadata: {
    name: `mirrord-migrations-u-${generation}`,
    uid: `job-${generation}`,
    annotations: { "operator.metalbear.co/branch-migrations-digest": "d" },
    ...more.metadata
  },
  status: more.status ?? {}
})
const pod = (status: object, more: object = {}) => ({
  metadata: { name: "p", ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name: "j", uid: "job-2" }], ...more },
  status: { phase: "Pending", ...status }
})
const container = (state: object) => ({ containerStatuses: [{ name: "migrations", state }] })
const condition = (type: string, reason: string) => ({
  conditions: [{ type, status: "True", reason, lastTransitionTime: "2026-11-21T00:00:00Z" }]
})
const stateOf = (status: object, ...pods: ReadonlyArray<ReturnType<typeof pod>>) => {
  const run = migrationRun([job(2, { status })], pods)
  return run._tag === "Job" ? run.state : run
}
const backoff = condition("Failed", "BackoffLimitExceeded")
const words = "psql: error: could not connect to postgres://app:secret@source/shop"

describe("the run of migrations", () => {
  it("is none, or was given up and may not have ended", () => {
    expect(migrationRun([], [])).toEqual({ _tag: "None" })
    expect(migrationRun([], [pod({ phase: "Running" })])).toEqual({ _tag: "Ending" })
    expect(migrationRun([], [pod({ phase: "Failed" })])).toEqual({ _tag: "None" })
    expect(migrationRun([job(2, { metadata: { deletionTimestamp: "2026-11-21T00:00:00Z" } })], [])).toEqual({
      _tag: "Ending"
    })
  })

  it("is that of the oldest Job", () => {
    expect(migrationRun([job(10), job(9)], [])).toEqual({
      _tag: "Job",
      name: "mirrord-migrations-u-9",
      uid: "job-9",
      generation: 9,
      digest: "d",
      state: { _tag: "Waiting", hasPod: false }
    })
  })

  it.each([
    ["without a pod", {}, [], { _tag: "Waiting", hasPod: false }],
    [
      "with a pod that is another Job's",
      {},
      [pod({ phase: "Running", ...container({ running: {} }) }, { ownerReferences: [] })],
      { _tag: "Waiting", hasPod: false }
    ],
    [
      "with a pod that starts",
      {},
      [pod(container({ waiting: { reason: "ContainerCreating" } }))],
      { _tag: "Waiting", hasPod: true }
    ],
    ["with its program", {}, [pod({ phase: "Running", ...container({ running: {} }) })], { _tag: "Running" }],
    [
      "without its image",
      {},
      [
        pod({
          startTime: "2026-11-21T00:00:01Z",
          ...container({ waiting: { reason: "ErrImagePull", message: "no such image" } })
        })
      ],
      {
        _tag: "Stuck",
        reason: 'container "migrations" cannot start (ErrImagePull): no such image',
        pulledSince: Date.UTC(2026, 10, 21, 0, 0, 1)
      }
    ],
    [
      "with a variable of a Secret that is not there",
      {},
      [pod(container({ waiting: { reason: "CreateContainerConfigError", message: "no such Secret" } }))],
      { _tag: "Stuck", reason: 'container "migrations" cannot start (CreateContainerConfigError): no such Secret' }
    ],
    ["at its end", condition("Complete", "CompletionsReached"), [], { _tag: "Succeeded" }],
    [
      "at the end of its program",
      {},
      [pod({ phase: "Succeeded", ...container({ terminated: { exitCode: 0 } }) })],
      { _tag: "Succeeded" }
    ],
    [
      "with the tool's words, without credentials",
      backoff,
      [
        pod({
          phase: "Failed",
          ...container({ terminated: { exitCode: 3, reason: "Error", message: `a\n${words}\n` } })
        })
      ],
      {
        _tag: "Failed",
        reason: 'container "migrations" ended (exit code 3): a psql: error: could not connect to postgres://…'
      }
    ],
    [
      "killed for its memory",
      backoff,
      [pod({ phase: "Failed", ...container({ terminated: { exitCode: 137, reason: "OOMKilled" } }) })],
      { _tag: "Failed", reason: 'container "migrations" ended (OOMKilled, exit code 137)' }
    ],
    [
      "evicted",
      backoff,
      [pod({ phase: "Failed", reason: "Evicted", message: "The node was low on disk." })],
      { _tag: "Failed", reason: "Evicted: The node was low on disk" }
    ],
    [
      "too long",
      condition("Failed", "DeadlineExceeded"),
      [],
      { _tag: "Failed", reason: "they were not complete after 30 minutes" }
    ],
    [
      "without a pod that says why",
      backoff,
      [],
      { _tag: "Lost", reason: "their pod is gone", since: Date.UTC(2026, 10, 21) }
    ]
  ])("%s", (_, status, pods, state) => expect(stateOf(status, ...pods)).toEqual(state))
})
