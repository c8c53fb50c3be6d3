/** S-B1 to S-B17: what must never happen to a branch of a database. Each rule hears a wrong story, and a right one. */

import { describe, expect, it } from "vitest"
import {
  borrowedBranchesAreLeft,
  copiesComeFromOrigins,
  deletedStaysDeleted,
  deletesAreCertain,
  localBranchesStay
} from "../../../../lab/simulation/invariants/branch-calls.ts"
import {
  phasesGoForward,
  readyBranchesServe,
  statusIsRepeated
} from "../../../../lab/simulation/invariants/branch-changes.ts"
import {
  branchPartsAreOwned,
  imagesAreAllowed,
  onePodPerBranch,
  sourcesAreOnlyRead,
  targetsSecretsAlone
} from "../../../../lab/simulation/invariants/branch-pods.ts"
import { sourcesAreNotReached } from "../../../../lab/simulation/invariants/sb02-sources-are-not-reached.ts"
import { usedBranchesStay } from "../../../../lab/simulation/invariants/sb03-used-branches-stay.ts"
import { namesReachTheDefault } from "../../../../lab/simulation/invariants/sb13-names-reach-the-default.ts"
import { skipSyncLabel } from "../../../../lab/simulation/world/branch-order.ts"
import type { SimClient } from "../../../../lab/simulation/world/sim-client.ts"
import { forbiddenImage, sourceDomain, sourceSecret } from "../../../../lab/simulation/world/source-databases.ts"
import type { TimedEvent } from "../../../../lab/simulation/world/world-event.ts"
import { migrationsLabel, migrationsName } from "../../../../src/domain/branches/migrations/migration-job.ts"
import { branchDatabases } from "../../../../src/domain/resources/branches/branch-database.ts"
import { jobs, pods } from "../../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../../src/ports/kube-api.ts"
import { branchName, BranchWorld, copyIn, deletionOf, podReady } from "./branch-world.ts"
import { at, called, committed, find, findAtRest, mirrordClusterSessions } from "./fixture.ts"

/** A session that is served, on a branch that was ordered at the primary. */
const served = (more: { readonly at?: string } = {}) => {
  const story = new BranchWorld()
  const { events, world } = story
  const branches = {
    ids: ["shop"],
    engine: "pg",
    ttlSecs: 60,
    patience: 60_000,
    isLocal: false,
    image: undefined,
    isMigrated: false
  } as const
  world.pass(2_000)
  const client = world.startClient({
    name: "s1",
    user: "ann",
    shape: "exec",
    target: "deployment.myapp",
    branches,
    ...more
  })
  world.pass(30_000)
  expect(client.isServing).toBe(true)
  const branch = world.cluster("a").server.objects.peekAll(branchDatabases)[0]
  if (branch === undefined) throw new Error("there is no branch")
  return { story, world, events, client, branch }
}

describe("S-B1", () => {
  it("finds a pod whose branch is gone, and none whose branch is there", () => {
    const story = new BranchWorld()
    story.pod("a", story.branch("a"))
    expect(findAtRest(branchPartsAreOwned, story.world)).toEqual([])
    story.pod("a", { metadata: { name: branchName, uid: "gone" } }, {}, "left-over")
    expect(findAtRest(branchPartsAreOwned, story.world)).toEqual([
      `pods left-over in a is of the branch ${branchName}, which is gone.`
    ])
  })
})

describe("S-B2", () => {
  const { events, world } = served()
  /** The story with another value of the variable in the session's first environment. */
  const led = (url: (was: string) => string): ReadonlyArray<TimedEvent> =>
    events.map((event) => {
      if (event._tag !== "ClientEvent" || event.event._tag !== "Env" || event.event.result._tag !== "Ok") return event
      const { value } = event.event.result
      const changed = new Map([...value, ["DATABASE_URL", url(value.get("DATABASE_URL") ?? "")]])
      return { ...event, event: { _tag: "Env", result: { _tag: "Ok", value: changed } } }
    })

  it("holds where the session is led to its branch", () => {
    expect(
      find(
        sourcesAreNotReached,
        led((was) => was),
        world
      )
    ).toBeUndefined()
  })

  it("finds the way to the source, and to a place that is no branch", () => {
    const source = `postgresql://app:secret@pg.a.${sourceDomain}:5432/shop`
    expect(
      find(
        sourcesAreNotReached,
        led(() => source),
        world
      )
    ).toBe("DATABASE_URL of s1 leads to the source.")
    const elsewhere = led((was) => was.replace(/@[^:]*:/u, "@10.9.9.9:"))
    expect(find(sourcesAreNotReached, elsewhere, world)).toContain("leads to 10.9.9.9, which is no branch")
  })

  it("finds that a session is led to another branch than before", () => {
    const replaced = {
      metadata: { name: branchName, namespace: "default", uid: "another" },
      spec: { postgresOptions: {} }
    }
    const name = [...world.clients.values()][0]?.branches[0] ?? ""
    const other = { ...replaced, metadata: { ...replaced.metadata, name } }
    const address = committed("a", pods, {
      metadata: {
        name: "pod",
        labels: { "db-owner-name": name },
        ownerReferences: [{ apiVersion: "", kind: branchDatabases.kind, name, uid: "another" }]
      },
      status: { podIP: "10.3.0.99" }
    })
    const later = led((was) => was.replace(/@[^:]*:/u, "@10.3.0.99:")).filter(({ _tag }) => _tag === "ClientEvent")
    const story = [...events, committed("a", branchDatabases, other), address, ...later]
    expect(find(sourcesAreNotReached, story, world)).toBe("DATABASE_URL of s1 leads to another branch than before.")
  })
})

describe("S-B3", () => {
  const deletion = ({ events, branch, world }: ReturnType<typeof served>) => [
    ...events,
    called(
      world.now,
      {
        verb: "delete",
        operator: "a",
        to: "a",
        resource: branchDatabases.plural,
        namespace: "default",
        name: branch.metadata.name,
        body: deletionOf(branch)
      },
      "operator-a-1"
    )
  ]
  const used = `operator-a-1 deletes the branch default/`

  it("finds that an operator deletes a branch under a connected session, at the primary and at the member", () => {
    for (const place of [{}, { at: "a" }]) {
      const story = served(place)
      expect(find(usedBranchesStay, deletion(story), story.world)).toContain(used)
    }
  })

  it("finds the same where the session may come back: its client tries, and the session is still there", () => {
    const story = served()
    const { client, world } = story
    world.network.cut("primary", "a")
    world.network.cut("a", "primary")
    world.pass(50_000)
    expect(client.ended).toBeUndefined()
    expect(world.cluster("a").server.objects.peekAll(mirrordClusterSessions)).toHaveLength(1)
    expect(find(usedBranchesStay, deletion(story), world)).toContain(used)
  })

  it("holds once the session is gone, and for a branch that was never the session's", () => {
    const story = served()
    story.client.leave()
    story.world.pass(20_000)
    expect(find(usedBranchesStay, deletion(story), story.world)).toBeUndefined()
    const other = served()
    const another = { ...other.branch, metadata: { ...other.branch.metadata, name: "mirrord-pg-branch-2" } }
    expect(find(usedBranchesStay, deletion({ ...other, branch: another }), other.world)).toBeUndefined()
  })
})

describe("S-B4", () => {
  it("finds a second pod, and another one after the branch was ready", () => {
    const story = new BranchWorld()
    const branch = story.branch("a")
    story.pod("a", branch)
    expect(find(onePodPerBranch, story.events, story.world)).toBeUndefined()
    story.pod("a", branch, {}, "second")
    expect(find(onePodPerBranch, story.events, story.world)).toBe(`The branch ${branchName} in a has 2 pods.`)
    const ready = new BranchWorld()
    ready.pod("a", ready.branch("a", { status: { phase: "Ready" } }))
    expect(find(onePodPerBranch, ready.events, ready.world)).toContain("was ready, and gets another pod")
  })
})

/** The object of a copy as a primary sends it. */
const sent = (story: BranchWorld, origin: KubeObject, spec: unknown = origin["spec"]): object => ({
  metadata: { name: branchName, ...story.marks(origin.metadata.uid ?? "") },
  spec
})

describe("S-B5", () => {
  it("holds for the copy of an origin with its spec", () => {
    const story = new BranchWorld()
    const origin = story.branch("primary")
    expect(find(copiesComeFromOrigins, story.calling("a", "create", sent(story, origin)), story.world)).toBeUndefined()
  })

  it("finds copies of nothing and with another spec, and a change of an origin's spec", () => {
    const story = new BranchWorld()
    const origin = story.branch("primary")
    const found = (events: ReadonlyArray<TimedEvent>) => find(copiesComeFromOrigins, events, story.world)
    const nothing = { metadata: { name: branchName, uid: "nobody" } }
    expect(found(story.calling("a", "create", sent(story, nothing, {})))).toContain("an origin that there never was")
    const other = story.calling("a", "create", sent(story, origin, { id: "other" }))
    expect(found(other)).toContain("with a spec that its origin never had")
    expect(found(story.calling("primary", "patch", { spec: {} }))).toContain("which its user has ordered")
  })
})

describe("S-B6", () => {
  /** An origin whose copy was Pending and then Ready. */
  const mirrored = () => {
    const story = new BranchWorld()
    const origin = story.branch("primary", { status: { phase: "Init" } })
    const copy = story.copy(origin.metadata.uid ?? "", { status: { phase: "Pending" } })
    const reference = copyIn("a", copy)
    const mirror = (status: object): string | undefined => {
      story.branch("primary", { status: { copy: reference, ...status } })
      return find(statusIsRepeated, story.events, story.world)
    }
    return { story, mirror }
  }

  it("holds for each status of the copy, in its order, and for the primary's own words", () => {
    const { mirror, story } = mirrored()
    expect(mirror({ phase: "Pending" })).toBeUndefined()
    story.branch("a", { status: { phase: "Ready", podName: "one" } })
    expect(mirror({ phase: "Ready", podName: "one" })).toBeUndefined()
    expect(mirror({ phase: "Failed", error: "The cluster is gone." })).toBeUndefined()
  })

  it("finds a status that the copy never had, an older one after a newer one, and one of no copy", () => {
    expect(mirrored().mirror({ phase: "Ready" })).toContain("is none that its copy had")
    const { mirror, story } = mirrored()
    story.branch("a", { status: { podName: "one" } })
    expect(mirror({ phase: "Pending", podName: "one" })).toBeUndefined()
    expect(mirror({ phase: "Pending", podName: null })).toContain("is older than the one before")
    expect(mirrored().mirror({ phase: "Ready", copy: { cluster: "a", uid: "nothing" } })).toContain("never was")
  })

  it.each(["stale lists", "call stale"])("knows that a new leader may have read old lists: %s", (kind) => {
    const { mirror, story } = mirrored()
    story.branch("a", { status: { podName: "one" } })
    expect(mirror({ phase: "Pending", podName: "one" })).toBeUndefined()
    story.events.push({ _tag: "Fault", at: 0, kind, text: kind })
    expect(mirror({ phase: "Pending", podName: null })).toBeUndefined()
  })
})

describe("S-B7", () => {
  const found = (story: BranchWorld, to: string, body: object) =>
    find(deletesAreCertain, story.calling(to, "delete", body), story.world)

  it("holds for a copy without origin, an origin without copy, and one that has failed", () => {
    const story = new BranchWorld()
    expect(found(story, "a", deletionOf(story.copy("gone")))).toBeUndefined()
    const reference = { cluster: "a", uid: "gone" }
    const origin = story.branch("primary", { status: { phase: "Ready", copy: reference } })
    expect(found(story, "primary", deletionOf(origin))).toBeUndefined()
    const failed = new BranchWorld()
    const kept = copyIn("a", failed.branch("a"))
    const ended = failed.branch("primary", { status: { phase: "Failed", copy: kept } })
    expect(found(failed, "primary", deletionOf(ended))).toBeUndefined()
  })

  it("finds a delete without a UID, and each whose other side is there", () => {
    const story = new BranchWorld()
    const origin = story.branch("primary", { status: { phase: "Ready" } })
    const copy = story.copy(origin.metadata.uid ?? "")
    expect(found(story, "a", {})).toContain("without a UID")
    expect(found(story, "a", deletionOf(copy))).toContain("whose origin is there")
    expect(found(story, "primary", deletionOf(origin))).toContain("of which no copy is known")
    story.branch("primary", { status: { copy: copyIn("a", copy) } })
    expect(found(story, "primary", deletionOf(origin))).toContain("whose copy in a is there")
  })
})

describe("S-B8", () => {
  it("finds a copy of a branch that is for the primary alone, and of no other", () => {
    const story = new BranchWorld()
    const origin = story.branch("primary")
    const events = () => story.calling("a", "create", sent(story, origin))
    expect(find(localBranchesStay, events(), story.world)).toBeUndefined()
    story.branch("primary", { metadata: { labels: { [skipSyncLabel]: "true" } } })
    expect(find(localBranchesStay, events(), story.world)).toContain(`has the label ${skipSyncLabel}`)
  })
})

describe("S-B9", () => {
  it("holds for a first copy, and for one that was sent while its origin was deleted", () => {
    const story = new BranchWorld()
    const origin = story.branch("primary")
    expect(find(deletedStaysDeleted, story.calling("a", "create", sent(story, origin)), story.world)).toBeUndefined()
    story.erase("primary")
    const soon = story.calling("a", "create", sent(story, origin), "primary", story.world.now + 1_000)
    expect(find(deletedStaysDeleted, soon, story.world)).toBeUndefined()
  })

  it("finds a copy of an origin that was deleted long ago, and a second one", () => {
    const story = new BranchWorld()
    const origin = story.branch("primary")
    story.branch("primary", { status: { copy: { cluster: "a", uid: "first" } } })
    const second = story.calling("a", "create", sent(story, origin))
    expect(find(deletedStaysDeleted, second, story.world)).toContain("once more, whose origin had a copy")
    story.erase("primary")
    const late = story.calling("a", "create", sent(story, origin), "primary", story.world.now + 10_000)
    expect(find(deletedStaysDeleted, late, story.world)).toContain("whose origin was deleted long ago")
  })
})

describe("S-B10", () => {
  const url = { name: "DATABASE_URL", value: `postgresql://app@pg.a.${sourceDomain}:5432/shop` }
  const secret = { name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: sourceSecret, key: "pg" } } }
  const pod = (spec: object): TimedEvent =>
    committed("a", pods, { metadata: { name: "pod", labels: { "db-owner-name": branchName } }, spec })
  const job = (env: ReadonlyArray<object>, envFrom: ReadonlyArray<object> = []): TimedEvent =>
    committed("a", jobs, {
      metadata: { name: "job", labels: { [migrationsLabel]: "uid" } },
      spec: { template: { spec: { containers: [{ env, envFrom }] } } }
    })

  it("holds where only the container that copies knows the source", () => {
    const own = { name: "FLYWAY_URL", value: "jdbc:postgresql://10.3.0.1:5432/shop" }
    expect(
      find(sourcesAreOnlyRead, [pod({ initContainers: [{ env: [url, secret] }], containers: [{}] })])
    ).toBeUndefined()
    expect(find(sourcesAreOnlyRead, [job([own])])).toBeUndefined()
  })

  it("finds a server or migrations that know it, by value and by Secret", () => {
    for (const env of [[url], [secret]]) {
      expect(find(sourcesAreOnlyRead, [pod({ containers: [{ env }] })])).toContain("pods pod in a writes")
      expect(find(sourcesAreOnlyRead, [job(env)])).toContain("jobs job in a writes")
    }
    expect(find(sourcesAreOnlyRead, [job([], [{ secretRef: { name: sourceSecret } }])])).toContain("jobs job in a")
  })
})

describe("S-B12", () => {
  it("finds a container of a branch with an image that the rules forbid", () => {
    const pod = (image: string, kind: string): TimedEvent =>
      committed("a", pods, {
        metadata: { name: "pod", labels: { "db-owner-name": branchName } },
        spec: { [kind]: [{ image }] }
      })
    for (const kind of ["containers", "initContainers"]) {
      expect(find(imagesAreAllowed, [pod("docker.io/library/postgres:17", kind)])).toBeUndefined()
      expect(find(imagesAreAllowed, [pod(forbiddenImage, kind)])).toContain(`has the image ${forbiddenImage}`)
    }
  })
})

describe("S-B17", () => {
  const pod = (name: string, key: string): TimedEvent =>
    committed("a", pods, {
      metadata: { name: "pod", labels: { "db-owner-name": branchName } },
      spec: { initContainers: [{ env: [{ name: "SOURCE_URL", valueFrom: { secretKeyRef: { name, key } } }] }] }
    })

  it("holds for the branch's own password and for what the target reads", () => {
    for (const one of [pod("pod", "password"), pod(sourceSecret, "pg"), pod(sourceSecret, "mysql")])
      expect(find(targetsSecretsAlone, [one])).toBeUndefined()
  })

  it("finds other Secrets, and other keys of the target's", () => {
    for (const [name, key] of [
      ["payroll", "key"],
      [sourceSecret, "admin"]
    ] as const)
      expect(find(targetsSecretsAlone, [pod(name, key)])).toContain(`reads ${name}/${key}`)
  })
})

describe("S-B13", () => {
  const { client, world } = served()
  const link = ({ sessionId }: SimClient, to: string, query: string): ReadonlyArray<TimedEvent> => [
    called(1, { verb: "link", to, name: String(sessionId), body: { query } })
  ]
  const names = `on_concurrent_steal=abort&pg_branch_names=["${branchName}"]`

  it("holds where the default cluster alone is told", () => {
    expect(find(namesReachTheDefault, link(client, "a", names), world)).toBeUndefined()
    expect(find(namesReachTheDefault, link(client, "b", "on_concurrent_steal=abort"), world)).toBeUndefined()
  })

  it("finds names that another member is told, and a default cluster that is not", () => {
    expect(find(namesReachTheDefault, link(client, "b", names), world)).toContain("tells b the names of branches")
    expect(find(namesReachTheDefault, link(client, "a", ""), world)).toContain("does not tell a which branches s1 uses")
  })
})

describe("S-B14", () => {
  const migrations = { flavor: "flyway", archive: "H4sI" }
  const spec = { id: "shop", postgresOptions: {}, migrations }
  const ready = { status: { phase: "Ready" } }
  const complete = { status: { conditions: [{ type: "Complete", status: "True" }] } }
  /** The Job of the migrations of a branch's generation. */
  const run = (story: BranchWorld, { metadata: { uid = "" } }: KubeObject, generation: number, status: object): void =>
    void story.write("a", jobs, migrationsName(uid, generation), {
      metadata: { labels: { [migrationsLabel]: uid } },
      ...status
    })
  const found = ({ events, world }: BranchWorld) => find(readyBranchesServe, events, world)

  it("finds a branch that is Ready before its pod is", () => {
    const story = new BranchWorld()
    const branch = story.branch("a")
    story.pod("a", branch)
    story.branch("a", ready)
    expect(found(story)).toContain("is Ready, and its pod never was")
    const right = new BranchWorld()
    right.pod("a", right.branch("a"), podReady)
    right.branch("a", ready)
    expect(found(right)).toBeUndefined()
  })

  it("finds a branch that is Ready before its migrations have succeeded", () => {
    const story = new BranchWorld()
    const branch = story.branch("a", { spec })
    story.pod("a", branch, podReady)
    run(story, branch, 1, {})
    story.branch("a", ready)
    expect(found(story)).toContain("is Ready, and its migrations have not succeeded")
    const right = new BranchWorld()
    const made = right.branch("a", { spec })
    right.pod("a", made, podReady)
    run(right, made, 1, complete)
    right.branch("a", ready)
    expect(found(right)).toBeUndefined()
  })

  it("finds migrations that count as done by an earlier run, in the cluster itself and at the primary", () => {
    const done = (observedGeneration: number) => ({ migrations: { phase: "Succeeded", observedGeneration } })
    for (const place of ["a", "primary"]) {
      const story = new BranchWorld()
      const origin = story.branch("primary", { spec })
      const copy = story.copy(origin.metadata.uid ?? "", { spec })
      story.branch("primary", { status: { copy: copyIn("a", copy) } })
      run(story, copy, 1, complete)
      story.branch(place, { status: done(1) })
      expect(found(story)).toBeUndefined()
      for (const side of ["a", "primary"]) story.branch(side, { spec: { migrations: { archive: "H4sIAAAA" } } })
      story.branch(place, { status: done(2) })
      expect(found(story)).toContain(`in ${place} has the migrations of its generation 2, and no run of them`)
    }
  })
})

describe("S-B15", () => {
  const found = ({ events, world }: BranchWorld) => find(phasesGoForward, events, world)
  const phases = (story: BranchWorld, ...those: ReadonlyArray<string>): void => {
    for (const phase of those) story.branch("a", { status: { phase } })
  }

  it("finds a phase that goes back, and a failure of a branch that is well", () => {
    const back = new BranchWorld()
    phases(back, "Pending", "Ready", "Pending")
    expect(found(back)).toContain("goes back from Ready to Pending")
    const failed = new BranchWorld()
    phases(failed, "Init", "Pending", "Ready", "Failed")
    expect(found(failed)).toContain("fails although neither its pod nor its password is lost")
  })

  it("holds where the pod was lost, where the copy failed, and where somebody has changed the spec", () => {
    const copying = new BranchWorld()
    phases(copying, "Init", "Pending", "Failed")
    expect(found(copying)).toBeUndefined()
    const lost = new BranchWorld()
    lost.pod("a", lost.branch("a"), { status: { phase: "Failed" } })
    phases(lost, "Ready", "Failed")
    expect(found(lost)).toBeUndefined()
    const changed = new BranchWorld()
    phases(changed, "Ready")
    changed.branch("a", { spec: { databaseName: "other" } })
    phases(changed, "Failed")
    expect(found(changed)).toBeUndefined()
  })
})

describe("S-B16", () => {
  const found = (story: BranchWorld, verb: "patch" | "delete", body: object) =>
    find(borrowedBranchesAreLeft, story.calling("a", verb, body), story.world)

  it("holds for the primary's own copies", () => {
    const story = new BranchWorld()
    const copy = story.copy("origin")
    expect(found(story, "patch", { spec: {} })).toBeUndefined()
    expect(found(story, "delete", deletionOf(copy))).toBeUndefined()
  })

  it("finds changes and deletes of the branches of others, and each write of a status", () => {
    for (const metadata of [{}, new BranchWorld().marks("origin", "another-primary")]) {
      const story = new BranchWorld()
      const branch = story.branch("a", { metadata })
      expect(found(story, "patch", { spec: {} })).toContain(`changes the branch ${branchName} in a of somebody else`)
      expect(found(story, "delete", deletionOf(branch))).toContain("deletes the branch")
    }
    const story = new BranchWorld()
    story.copy("origin")
    const call = {
      verb: "patch",
      subresource: "status",
      to: "a",
      resource: branchDatabases.plural,
      name: branchName
    } as const
    const status = at(1, called(1, call))
    expect(find(borrowedBranchesAreLeft, [...story.events, status], story.world)).toContain("writes the status")
  })
})
